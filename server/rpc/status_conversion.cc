#include "server/rpc/status_conversion.h"

#include "core/base/shorten_text.h"

namespace sortition {
namespace {

// Longest message of an error, bytes: it may contain a part of the request. In
// trailers a byte can take three, and clients refuse trailers of more than
// 8 KiB.
constexpr size_t kMaxStatusBytes = 2048;

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  // Both enumerations have the numbers of google.rpc.Code.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      ShortenText(status.message(), kMaxStatusBytes));
}

}  // namespace sortition
