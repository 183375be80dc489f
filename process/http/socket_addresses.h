#pragma once
// Where a server listens. Civetweb takes no names and hands out no sockets.
#include <string>
#include <vector>

namespace sortition {

// Returns the addresses of "host:port" that this machine has, as in
// "127.0.0.1:80"; none if it is wrong. Of IPv4 only: civetweb, as Debian builds
// it, knows no others.
std::vector<std::string> FindAddresses(const std::string& address);

// Whether one could listen at "host:port" now.
bool IsFree(const std::string& address);

// Returns the descriptors of this process that listen at one of `addresses`.
std::vector<int> FindListeningSockets(
    const std::vector<std::string>& addresses);

}  // namespace sortition
