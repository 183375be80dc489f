#pragma once
// TCP connections that speak no protocol by themselves.
#include <string>
#include <vector>

namespace sortition {

// Closed with the object.
class RawConnections {
 public:
  // Connects `count` times to 127.0.0.1:port, and sends `text` over each. What
  // the other side does not take at once is not sent.
  RawConnections(int port, int count, const std::string& text);
  ~RawConnections();
  RawConnections(const RawConnections&) = delete;
  RawConnections& operator=(const RawConnections&) = delete;

 private:
  std::vector<int> sockets_;
};

}  // namespace sortition
