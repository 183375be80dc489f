#include "server/http/batch.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "process/http/http_errors.h"
#include "process/json_writer.h"
#include "server/http/json/json_names.h"
#include "server/http/json_calls.h"
#include "server/http/local_call.h"
#include "sortition/v1/http.pb.h"

namespace sortition {
namespace {

// A call of a batch: it has begun, or it is answered already.
struct BatchCall {
  const JsonCall* method = nullptr;
  BodyNames names;
  std::unique_ptr<LocalCall> begun;
  HttpAnswer answer;
};

// Calls of models stay alone: they are rare, and may wait for a load.
bool MayBeInBatch(const JsonCall& call) { return call.role != Role::kAdmin; }

// Returns the call "rank" of "/v1/rank"; null: there is none.
const JsonCall* FindMethod(absl::string_view name) {
  for (const JsonCall& call : JsonCalls()) {
    if (MayBeInBatch(call) && call.path == absl::StrCat("/v1/", name)) {
      return &call;
    }
  }
  return nullptr;
}

absl::Status UnknownMethod(const std::string& name, int index) {
  std::vector<std::string> names;
  for (const JsonCall& call : JsonCalls()) {
    if (!MayBeInBatch(call)) continue;
    names.push_back(std::string(call.path.substr(call.path.rfind('/') + 1)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("calls[", index, "].method = ", JsonString(name),
                   ": must be one of ", absl::StrJoin(names, ", ")));
}

absl::Status BeginCall(const HttpRequest& http, const JsonValue& entry,
                       const v1::BatchRequest::Call& call, int index,
                       const FindColumnTypes& find_types,
                       grpc::GenericStub* stub, BatchCall* made) {
  made->method = FindMethod(call.method());
  if (made->method == nullptr) return UnknownMethod(call.method(), index);
  const auto request = NewRequest(*made->method);
  const auto body = entry.FindMember("request");
  if (body != entry.MemberEnd()) {
    JsonMessageParser parser(&find_types);
    RETURN_IF_ERROR(parser.ParsePart(body->value, "calls",
                                     static_cast<size_t>(index), "request",
                                     request.get()));
    made->names = parser.names();
  }
  ASSIGN_OR_RETURN(made->begun,
                   StartJsonCall(*made->method, http, *request, stub));
  return absl::OkStatus();
}

absl::Status CheckCount(const v1::BatchRequest& batch) {
  if (batch.calls_size() >= 1 && batch.calls_size() <= kMaxBatchCalls) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("calls has ", batch.calls_size(),
                   " entries: must have 1 to ", kMaxBatchCalls));
}

std::string AnswersJson(const std::vector<BatchCall>& calls) {
  JsonWriter json;
  json.BeginObject().Key("answers").BeginArray();
  for (const BatchCall& call : calls) {
    json.BeginObject();
    json.Key("status").Count(static_cast<uint64_t>(call.answer.code));
    json.Key("response")
        .Raw(absl::StripTrailingAsciiWhitespace(call.answer.body))
        .EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

HttpAnswer AnswerBatch(const HttpRequest& http,
                       const FindColumnTypes& find_types,
                       grpc::GenericStub* stub) {
  if (absl::StripAsciiWhitespace(http.body).empty()) {
    return AnswerWithoutBody(http, "/sortition.v1.Ranking/Rank",
                             SuchAs(*v1::BatchRequest::descriptor()), stub);
  }
  rapidjson::Document body;
  absl::Status status = ParseJsonTree(http.body, &body);
  v1::BatchRequest batch;
  if (status.ok()) status = JsonMessageParser(&find_types).Parse(body, &batch);
  if (status.ok()) status = CheckCount(batch);
  if (!status.ok()) return ErrorAnswer(status);
  std::vector<BatchCall> calls(static_cast<size_t>(batch.calls_size()));
  for (int i = 0; i < batch.calls_size(); ++i) {
    BatchCall& call = calls[static_cast<size_t>(i)];
    status = BeginCall(http, body["calls"][static_cast<unsigned>(i)],
                       batch.calls(i), i, find_types, stub, &call);
    if (!status.ok()) call.answer = ErrorAnswer(status);
  }
  for (BatchCall& call : calls) {
    if (call.begun == nullptr) continue;
    call.answer = FinishJsonCall(*call.method, call.names, call.begun.get());
  }
  return {.content_type = "application/json", .body = AnswersJson(calls)};
}

}  // namespace

HttpHandler MakeBatch(std::shared_ptr<grpc::GenericStub> stub,
                      FindColumnTypes find_types) {
  return [stub = std::move(stub),
          find_types = std::move(find_types)](const HttpRequest& http) {
    return AnswerBatch(http, find_types, stub.get());
  };
}

}  // namespace sortition
