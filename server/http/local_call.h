#pragma once
// Calls of the gRPC server of this process, as requests over HTTP ask for them.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "process/http/http_server.h"

namespace sortition {

inline constexpr int kMaxTimeoutMilliseconds = 10'000;

// Header of requests and answers of reranks: the id of the decision. Load
// balancers see it, too.
inline constexpr char kDecisionIdHeader[] = "X-Sortition-Decision-Id";

// One call that has begun. Use it from one thread.
class LocalCall {
 public:
  // Begins to call `path`, as in "/sortition.v1.Ranking/Rank", with the
  // serialised request `wire`. Takes the deadline and who calls from the
  // headers of `request`; `default_seconds` is the deadline without
  // X-Timeout-Ms. InvalidArgument: a header is not valid.
  static absl::StatusOr<std::unique_ptr<LocalCall>> Start(
      const HttpRequest& request, const std::string& path,
      double default_seconds, const std::string& wire, grpc::GenericStub* stub);

  // Waits for the answer. Call it once.
  grpc::Status Finish();
  // Returns the serialised answer, after Finish() has returned OK.
  std::string Response() const;
  // Returns the answer over HTTP to the call, after Finish() has returned this
  // error.
  HttpAnswer Failure(const grpc::Status& status) const;

 private:
  LocalCall() = default;

  grpc::ClientContext context_;
  std::unique_ptr<grpc::CompletionQueue> queue_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader_;
  grpc::ByteBuffer response_;
};

// Returns the answer to a request without a body where there must be one. The
// body of a caller who may not call was not read: the answer is the refusal of
// gRPC to call `path` then, and otherwise that there must be a body. `such_as`
// ends that message with an example (json_names.h).
HttpAnswer AnswerWithoutBody(const HttpRequest& request,
                             const std::string& path, absl::string_view such_as,
                             grpc::GenericStub* stub);

}  // namespace sortition
