#pragma once
// Several calls in one body (proto/sortition/v1/http.proto,
// docs/http.md#batch).
#include <grpcpp/generic/generic_stub.h>

#include <memory>

#include "process/http/http_server.h"
#include "server/http/json/json_message.h"

namespace sortition {

inline constexpr char kBatchPath[] = "/v1/batch";
inline constexpr int kMaxBatchCalls = 100;

// Returns the handler of kBatchPath. All calls of a batch begin at once; each
// is checked, admitted, decided and answered as a call by itself.
HttpHandler MakeBatch(std::shared_ptr<grpc::GenericStub> stub,
                      FindColumnTypes find_types);

}  // namespace sortition
