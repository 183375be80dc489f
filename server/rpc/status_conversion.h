#pragma once
// Converts absl::Status to grpc::Status; nothing else does.
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace sortition {

// Returns the same code and message.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace sortition
