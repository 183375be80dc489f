#pragma once
// Calls of the services as JSON over HTTP. Each goes through gRPC: limits,
// validation, roles, metrics and the log are those of every call.
#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "process/http/http_server.h"
#include "server/http/json/json_message.h"
#include "server/http/local_call.h"
#include "server/identity/authorizer.h"
#include "server/identity/tokens.h"

namespace sortition {

struct JsonCall {
  absl::string_view path;     // Of a POST.
  absl::string_view service;  // "sortition.v1.Ranking"
  absl::string_view method;
  double default_seconds;  // Deadline of a call that has no X-Timeout-Ms.
  Role role;               // That the method needs.
};

// All of them, by path.
std::span<const JsonCall> JsonCalls();

// Returns its method; it exists.
const google::protobuf::MethodDescriptor* MethodOf(const JsonCall& call);

// Returns whether the body of the request is to be read: a call has JSON, and
// the token that it needs. Its handler returns the error otherwise.
bool WantsBody(const Authorizer* authorizer, const HttpRequest& request);

// Returns an empty request of the call.
std::unique_ptr<google::protobuf::Message> NewRequest(const JsonCall& call);

// Begins the call for a request over HTTP. InvalidArgument: as
// LocalCall::Start().
absl::StatusOr<std::unique_ptr<LocalCall>> StartJsonCall(
    const JsonCall& call, const HttpRequest& http,
    const google::protobuf::Message& request, grpc::GenericStub* stub);

// Waits for the answer to a call that has begun and returns it as JSON. `names`
// are those of the body of the request.
HttpAnswer FinishJsonCall(const JsonCall& call, const BodyNames& names,
                          LocalCall* begun);

// Returns the JSON form of a serialised message. Internal: it has none, for
// example because a file that the answer repeats is not in UTF-8.
absl::StatusOr<std::string> PrintJson(const google::protobuf::Descriptor* type,
                                      const std::string& wire);

struct JsonCallOptions {
  // Calls need a client certificate, which HTTP has not: all are refused.
  bool needs_certificate = false;
  // The models have a port of their own: their calls are refused.
  bool has_control_port = false;
  // By default no model has a schema.
  FindColumnTypes find_types = [](absl::string_view) {
    return std::optional(ColumnTypes());
  };
};

// Returns the handlers by "POST /v1/rank", those of reranks and batches
// included. `channel` leads to the server of this process.
std::map<std::string, HttpHandler> MakeJsonCalls(
    const std::shared_ptr<grpc::Channel>& channel,
    const JsonCallOptions& options);

}  // namespace sortition
