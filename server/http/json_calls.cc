#include "server/http/json_calls.h"

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/type_resolver_util.h"
#include "process/http/http_errors.h"
#include "process/json_check.h"
#include "server/http/unpolled_queue.h"
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

std::string TypeUrl(const google::protobuf::Descriptor* type) {
  return absl::StrCat(kTypeUrl, "/", type->full_name());
}

// Returns the wire form of `json`.
absl::StatusOr<std::string> ParseJson(const google::protobuf::Descriptor* type,
                                      absl::string_view json) {
  if (absl::StripAsciiWhitespace(json).empty()) return std::string();
  RETURN_IF_ERROR(CheckJson(json, type));
  std::string wire;
  const auto status = google::protobuf::util::JsonToBinaryString(
      Resolver(), TypeUrl(type), std::string(json), &wire);
  if (status.ok()) return wire;
  return absl::InvalidArgumentError(
      absl::StrCat("the body is not the JSON form of ", type->full_name(), ": ",
                   std::string(status.message())));
}

// Returns the JSON form of what a server has written. Internal: it has none,
// for example because a file that the answer repeats is not in UTF-8.
absl::StatusOr<std::string> PrintJson(const google::protobuf::Descriptor* type,
                                      const std::string& wire) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  // A front end must not take a missing "order" for an error, nor a missing
  // "selected" for candidate 0.
  options.always_print_primitive_fields = true;
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      Resolver(), TypeUrl(type), wire, &json, options);
  if (status.ok()) return json + "\n";
  return absl::InternalError(
      absl::StrCat("the answer, a ", type->full_name(),
                   ", has no JSON form: ", std::string(status.message())));
}

std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  CHECK(buffer.Dump(&slices).ok());
  std::string text;
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
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

absl::StatusOr<std::chrono::milliseconds> Timeout(const HttpRequest& request,
                                                  const JsonCall& call) {
  const std::string text = request.header("X-Timeout-Ms");
  int milliseconds = static_cast<int>(1000 * call.default_seconds);
  if (!text.empty() &&
      (!absl::SimpleAtoi(text, &milliseconds) || milliseconds < 1 ||
       milliseconds > kMaxTimeoutMilliseconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("header \"X-Timeout-Ms\" is \"", text,
                     "\": must be in [1, ", kMaxTimeoutMilliseconds, "]"));
  }
  return std::chrono::milliseconds(milliseconds);
}

// Hands on who calls, and what for. InvalidArgument: gRPC takes no such bytes.
absl::Status SetMetadata(const HttpRequest& request,
                         grpc::ClientContext* context) {
  for (const char* const name :
       {"authorization", "x-request-id", "traceparent"}) {
    const std::string value = request.header(name);
    if (value.empty()) continue;
    if (!std::all_of(value.begin(), value.end(), absl::ascii_isprint)) {
      return absl::InvalidArgumentError(
          absl::StrCat("header \"", name, "\": must be printable ASCII"));
    }
    context->AddMetadata(name, value);
  }
  context->AddMetadata(kHttpPeerKey, HttpPeerValue(request.peer));
  return absl::OkStatus();
}

// Returns the answer of gRPC to a call that failed.
HttpAnswer FailureAnswer(const grpc::Status& status,
                         const grpc::ClientContext& context) {
  HttpAnswer answer = ErrorAnswer(
      absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                   status.error_message()));
  if (answer.code == 401) {
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  }
  if (answer.code != 429 && answer.code != 503) return answer;
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto hint = trailers.find("grpc-retry-pushback-ms");
  int64_t milliseconds = 0;
  if (hint != trailers.end() &&
      !absl::SimpleAtoi(
          absl::string_view(hint->second.data(), hint->second.size()),
          &milliseconds)) {
    milliseconds = 0;
  }
  // HTTP knows whole seconds only.
  answer.headers.emplace_back(
      "Retry-After",
      absl::StrCat(std::max<int64_t>((milliseconds + 999) / 1000, 1)));
  return answer;
}

class JsonCaller {
 public:
  JsonCaller(const JsonCall& call,
             const std::shared_ptr<grpc::Channel>& channel)
      : call_(call),
        method_(MethodOf(call)),
        path_(absl::StrCat("/", call.service, "/", call.method)),
        stub_(std::make_shared<grpc::GenericStub>(channel)) {}

  HttpAnswer operator()(const HttpRequest& request) const {
    const absl::Status type = CheckContentType(request);
    if (!type.ok()) return ErrorAnswer(415, type);
    grpc::ClientContext context;
    const absl::StatusOr<std::string> wire = Prepare(request, &context);
    if (!wire.ok()) return ErrorAnswer(wire.status());
    const grpc::Slice slice(*wire);
    const grpc::ByteBuffer payload(&slice, 1);
    grpc::ByteBuffer response;
    const grpc::Status status = Call(payload, &context, &response);
    HttpAnswer answer =
        status.ok() ? SuccessAnswer(response) : FailureAnswer(status, context);
    const std::string id = request.header("X-Request-Id");
    if (!id.empty()) answer.headers.emplace_back("X-Request-Id", id);
    return answer;
  }

 private:
  // Returns the request, and sets what goes with it.
  absl::StatusOr<std::string> Prepare(const HttpRequest& request,
                                      grpc::ClientContext* context) const {
    ASSIGN_OR_RETURN(const auto timeout, Timeout(request, call_));
    context->set_deadline(std::chrono::system_clock::now() + timeout);
    RETURN_IF_ERROR(SetMetadata(request, context));
    return ParseJson(method_->input_type(), request.body);
  }

  HttpAnswer SuccessAnswer(const grpc::ByteBuffer& response) const {
    absl::StatusOr<std::string> json =
        PrintJson(method_->output_type(), TextOf(response));
    if (!json.ok()) return ErrorAnswer(json.status());
    return {.content_type = "application/json", .body = *std::move(json)};
  }

  // Waits for the answer.
  grpc::Status Call(const grpc::ByteBuffer& payload,
                    grpc::ClientContext* context,
                    grpc::ByteBuffer* response) const {
    const auto queue = NewUnpolledQueue();
    const auto call =
        stub_->PrepareUnaryCall(context, path_, payload, queue.get());
    call->StartCall();
    grpc::Status status;
    call->Finish(response, &status, nullptr);
    WaitForOne(queue.get());
    return status;
  }

  const JsonCall call_;
  const MethodDescriptor* const method_;
  const std::string path_;
  const std::shared_ptr<grpc::GenericStub> stub_;
};

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

bool WantsBody(const Authorizer* authorizer, const HttpRequest& request) {
  const auto* const call =
      std::find_if(std::begin(kCalls), std::end(kCalls),
                   [&](const JsonCall& c) { return c.path == request.path; });
  if (call == std::end(kCalls)) return true;
  return CheckContentType(request).ok() &&
         (authorizer == nullptr ||
          authorizer->Check(call->role, request.header("Authorization")).ok());
}

std::map<std::string, HttpHandler> MakeJsonCalls(
    const std::shared_ptr<grpc::Channel>& channel,
    const JsonCallOptions& options) {
  std::map<std::string, HttpHandler> handlers;
  for (const JsonCall& call : JsonCalls()) {
    HttpHandler& handler = handlers[absl::StrCat("POST ", call.path)];
    if (options.needs_certificate) {
      handler = Refuser(absl::PermissionDeniedError(
          "calls need a client certificate (tls.client_ca_file), which this "
          "port does not ask for: call over gRPC"));
    } else if (options.has_control_port && call.service == kModels) {
      handler = Refuser(absl::UnimplementedError(
          "models are looked at and changed at control_listen alone"));
    } else {
      handler = JsonCaller(call, channel);
    }
  }
  return handlers;
}

}  // namespace sortition
