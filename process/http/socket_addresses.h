#pragma once
// Where a server listens. Civetweb takes no names and hands out no sockets.
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sortition {

// Returns the addresses of "host:port" that this machine has, as in
// "127.0.0.1:80" and "[::1]:80"; none if it is wrong.
std::vector<std::string> FindAddresses(const std::string& address);

// Whether nobody but this machine can reach an address of FindAddresses().
bool IsLoopbackAddress(absl::string_view address);

// Returns the descriptors of this process that listen at one of `addresses`.
std::vector<int> FindListeningSockets(
    const std::vector<std::string>& addresses);

}  // namespace sortition
