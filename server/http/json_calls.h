#pragma once
// Calls of the services as JSON over HTTP. Each goes through gRPC: limits,
// validation, roles, metrics and the log are those of every call.
#include <grpcpp/channel.h>

#include <map>
#include <memory>
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "process/http/http_server.h"
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

inline constexpr int kMaxTimeoutMilliseconds = 10'000;

struct JsonCallOptions {
  // Calls need a client certificate, which HTTP has not: all are refused.
  bool needs_certificate = false;
  // The models have a port of their own: their calls are refused.
  bool has_control_port = false;
};

// Returns the handlers by "POST /v1/rank". `channel` leads to the server of
// this process.
std::map<std::string, HttpHandler> MakeJsonCalls(
    const std::shared_ptr<grpc::Channel>& channel,
    const JsonCallOptions& options);

}  // namespace sortition
