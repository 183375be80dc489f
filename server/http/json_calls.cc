#include "server/http/json_calls.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "process/http/http_errors.h"
#include "server/http/batch.h"
#include "server/http/json/json_names.h"
#include "server/http/rerank.h"
#include "sortition/v1/models.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::MethodDescriptor;

constexpr absl::string_view kRanking = "sortition.v1.Ranking";
constexpr absl::string_view kModels = "sortition.v1.Models";
constexpr absl::string_view kTypeUrl = "type.googleapis.com";
// Of a decision or report, and of a call that may wait for a model.
constexpr double kShort = 1;
constexpr double kLong = 10;

constexpr JsonCall kCalls[] = {
    {"/v1/aggregate", kRanking, "Aggregate", kShort, Role::kDecide},
    {"/v1/feedback", kRanking, "ReportFeedback", kShort, Role::kFeedback},
    {"/v1/label", kRanking, "Label", kShort, Role::kDecide},
    {"/v1/models/change", kModels, "ChangeServing", kLong, Role::kAdmin},
    {"/v1/models/describe", kModels, "DescribeModel", kLong, Role::kAdmin},
    {"/v1/models/list", kModels, "ListModels", kLong, Role::kAdmin},
    {"/v1/models/reload", kModels, "ReloadModels", kLong, Role::kAdmin},
    {"/v1/rank", kRanking, "Rank", kShort, Role::kDecide},
    {"/v1/select", kRanking, "Select", kShort, Role::kDecide},
    {"/v1/shown", kRanking, "ReportShown", kShort, Role::kFeedback},
};

// Knows the messages of this program; never destroyed.
google::protobuf::util::TypeResolver* Resolver() {
  static auto* const resolver =
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          std::string(kTypeUrl), DescriptorPool::generated_pool());
  return resolver;
}

// Returns the value of the parameter charset of a Content-Type, without quotes;
// empty if it has none.
std::string CharsetOf(absl::string_view content_type) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(content_type, ';');
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> parameter =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    if (!absl::EqualsIgnoreCase(absl::StripAsciiWhitespace(parameter.first),
                                "charset")) {
      continue;
    }
    absl::string_view value = absl::StripAsciiWhitespace(parameter.second);
    if (absl::ConsumePrefix(&value, "\"")) absl::ConsumeSuffix(&value, "\"");
    return std::string(value);
  }
  return "";
}

absl::Status CheckContentType(const HttpRequest& request) {
  const std::string value = request.header("Content-Type");
  const absl::string_view type = absl::StripAsciiWhitespace(
      absl::string_view(value).substr(0, value.find(';')));
  // What forms can send is not enough: browsers ask first before they send
  // JSON to another site, and get no permission.
  if (!absl::EqualsIgnoreCase(type, "application/json")) {
    return absl::InvalidArgumentError(
        absl::StrCat("header \"Content-Type\" is \"", value,
                     "\": must be application/json"));
  }
  const std::string charset = CharsetOf(value);
  if (charset.empty() || absl::EqualsIgnoreCase(charset, "utf-8") ||
      absl::EqualsIgnoreCase(charset, "us-ascii")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("header \"Content-Type\" is \"", value,
                   "\": charset must be utf-8 or absent; send the JSON in "
                   "UTF-8"));
}

class JsonCaller {
 public:
  JsonCaller(const JsonCall& call, std::shared_ptr<grpc::GenericStub> stub,
             FindColumnTypes find_types)
      : call_(call),
        stub_(std::move(stub)),
        find_types_(std::move(find_types)) {}

  HttpAnswer operator()(const HttpRequest& http) const {
    const std::unique_ptr<google::protobuf::Message> request =
        NewRequest(call_);
    if (call_.role != Role::kAdmin &&
        absl::StripAsciiWhitespace(http.body).empty()) {
      return AnswerWithoutBody(
          http, absl::StrCat("/", call_.service, "/", call_.method),
          SuchAs(*request->GetDescriptor()), stub_.get());
    }
    BodyNames names;
    if (const absl::Status status = ParseBody(http.body, request.get(), &names);
        !status.ok()) {
      return ErrorAnswer(status);
    }
    const auto begun = StartJsonCall(call_, http, *request, stub_.get());
    if (!begun.ok()) return ErrorAnswer(begun.status());
    return FinishJsonCall(call_, names, begun->get());
  }

 private:
  absl::Status ParseBody(const std::string& body,
                         google::protobuf::Message* request,
                         BodyNames* names) const {
    if (absl::StripAsciiWhitespace(body).empty()) return absl::OkStatus();
    rapidjson::Document json;
    RETURN_IF_ERROR(ParseJsonTree(body, &json));
    JsonMessageParser parser(&find_types_);
    RETURN_IF_ERROR(parser.Parse(json, request));
    *names = parser.names();
    return absl::OkStatus();
  }

  const JsonCall call_;
  const std::shared_ptr<grpc::GenericStub> stub_;
  const FindColumnTypes find_types_;
};

// Checks the type of the body, and gives the answer the id of the request.
HttpHandler Guarded(HttpHandler handler) {
  return [handler = std::move(handler)](const HttpRequest& request) {
    const absl::Status type = CheckContentType(request);
    if (!type.ok()) return ErrorAnswer(415, type);
    HttpAnswer answer = handler(request);
    const std::string id = request.header("X-Request-Id");
    if (!id.empty() && std::all_of(id.begin(), id.end(), absl::ascii_isprint)) {
      answer.headers.emplace_back("X-Request-Id", id);
    }
    return answer;
  };
}

// Refuses what must not get round a port that asks for more.
HttpHandler Refuser(absl::Status status) {
  return [status = std::move(status)](const HttpRequest&) {
    return ErrorAnswer(status);
  };
}

}  // namespace

std::span<const JsonCall> JsonCalls() { return kCalls; }

const MethodDescriptor* MethodOf(const JsonCall& call) {
  // Links the messages, which are found by name.
  static_cast<void>(v1::RankRequest::descriptor());
  static_cast<void>(v1::ListModelsRequest::descriptor());
  const MethodDescriptor* const method =
      DescriptorPool::generated_pool()->FindMethodByName(
          absl::StrCat(call.service, ".", call.method));
  CHECK(method != nullptr);
  return method;
}

std::unique_ptr<google::protobuf::Message> NewRequest(const JsonCall& call) {
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(MethodOf(call)->input_type())
          ->New());
}

absl::StatusOr<std::unique_ptr<LocalCall>> StartJsonCall(
    const JsonCall& call, const HttpRequest& http,
    const google::protobuf::Message& request, grpc::GenericStub* stub) {
  return LocalCall::Start(
      http, absl::StrCat("/", call.service, "/", call.method),
      call.default_seconds, request.SerializeAsString(), stub);
}

HttpAnswer FinishJsonCall(const JsonCall& call, const BodyNames& names,
                          LocalCall* begun) {
  const grpc::Status status = begun->Finish();
  if (!status.ok()) {
    return begun->Failure(grpc::Status(
        status.error_code(), InWordsOfBody(names, status.error_message())));
  }
  absl::StatusOr<std::string> json =
      PrintJson(MethodOf(call)->output_type(), begun->Response());
  if (!json.ok()) return ErrorAnswer(json.status());
  return {.content_type = "application/json", .body = *std::move(json)};
}

absl::StatusOr<std::string> PrintJson(const google::protobuf::Descriptor* type,
                                      const std::string& wire) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  // A front end must not take a missing "order" for an error, nor a missing
  // "selected" for candidate 0.
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      Resolver(), absl::StrCat(kTypeUrl, "/", type->full_name()), wire, &json,
      options);
  if (status.ok()) return json + "\n";
  return absl::InternalError(
      absl::StrCat("the answer, a ", type->full_name(),
                   ", has no JSON form: ", std::string(status.message())));
}

bool WantsBody(const Authorizer* authorizer, const HttpRequest& request) {
  std::vector<Role> roles;  // One of them is enough.
  if (FindRerankPath(request.path) != nullptr) {
    roles = {Role::kDecide};
  } else if (request.path == kBatchPath) {
    // Each of its calls is checked by itself.
    roles = {Role::kDecide, Role::kFeedback};
  } else {
    for (const JsonCall& call : kCalls) {
      if (call.path == request.path) roles = {call.role};
    }
    if (roles.empty()) return true;
  }
  const std::string credentials = request.header("Authorization");
  return CheckContentType(request).ok() &&
         (authorizer == nullptr ||
          std::any_of(roles.begin(), roles.end(), [&](Role role) {
            return authorizer->Check(role, credentials).ok();
          }));
}

std::map<std::string, HttpHandler> MakeJsonCalls(
    const std::shared_ptr<grpc::Channel>& channel,
    const JsonCallOptions& options) {
  const auto stub = std::make_shared<grpc::GenericStub>(channel);
  std::map<std::string, HttpHandler> handlers;
  for (const JsonCall& call : JsonCalls()) {
    HttpHandler& handler = handlers[absl::StrCat("POST ", call.path)];
    if (options.has_control_port && call.service == kModels) {
      handler = Refuser(absl::UnimplementedError(
          "models are looked at and changed at control_listen alone"));
    } else {
      handler = Guarded(JsonCaller(call, stub, options.find_types));
    }
  }
  for (const RerankPath& path : RerankPaths()) {
    handlers[absl::StrCat("POST ", path.path)] =
        Guarded(MakeRerank(path, stub, options.find_types));
  }
  handlers[absl::StrCat("POST ", kBatchPath)] =
      Guarded(MakeBatch(stub, options.find_types));
  if (options.needs_certificate) {
    for (auto& [route, handler] : handlers) {
      handler = Refuser(absl::PermissionDeniedError(
          "calls need a client certificate (tls.client_ca_file), which this "
          "port does not ask for: call over gRPC"));
    }
  }
  return handlers;
}

}  // namespace sortition
