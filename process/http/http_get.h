#pragma once
// A page of an HTTP server, such as the metrics of another process.
#include <string>

#include "absl/status/statusor.h"

namespace sortition {

// Returns the body of GET http://<address><path>; `address` is HOST:PORT, or
// [HOST]:PORT for IPv6. InvalidArgument for another address. Unavailable,
// naming the address, if nobody answers within `timeout_seconds` or the answer
// is not 200; ResourceExhausted if it has more than 64 MiB.
absl::StatusOr<std::string> HttpGet(const std::string& address,
                                    const std::string& path,
                                    double timeout_seconds = 5);

}  // namespace sortition
