#pragma once
// Rank in the forms in which frameworks for retrieval ask a reranker
// (proto/sortition/v1/http.proto, docs/http.md#rerank).
#include <grpcpp/generic/generic_stub.h>

#include <memory>
#include <span>

#include "absl/strings/string_view.h"
#include "process/http/http_server.h"
#include "server/http/json/json_message.h"

namespace sortition {

inline constexpr double kRerankSeconds = 1;  // Deadline without X-Timeout-Ms.

struct RerankPath {
  absl::string_view path;  // Path of the POST.
  // Version of Cohere's API; empty: the answer is the bare list of
  // text-embeddings-inference.
  absl::string_view api_version;
};

std::span<const RerankPath> RerankPaths();

// Returns the entry of RerankPaths() for `path`; null: there is none.
const RerankPath* FindRerankPath(absl::string_view path);

// Returns the handler of a path. Each request is one call of Rank by `stub`,
// and so are its checks, its record and its propensity. `path` must be an entry
// of RerankPaths().
HttpHandler MakeRerank(const RerankPath& path,
                       std::shared_ptr<grpc::GenericStub> stub,
                       FindColumnTypes find_types);

}  // namespace sortition
