#pragma once
// The one place where absl::Status becomes grpc::Status.
#include <grpcpp/support/status.h>

#include "absl/status/status.h"

namespace sortition {

// Same code, same message.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace sortition
