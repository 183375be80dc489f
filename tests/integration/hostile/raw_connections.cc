#include "tests/integration/hostile/raw_connections.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

namespace sortition {

RawConnections::RawConnections(int port, int count, const std::string& text) {
  sockaddr_in place = {};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<uint16_t>(port));
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < count; ++i) {
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::connect(sockets_.back(), reinterpret_cast<const sockaddr*>(&place),
              sizeof(place));
    ::send(sockets_.back(), text.data(), text.size(),
           MSG_NOSIGNAL | MSG_DONTWAIT);
  }
}

RawConnections::~RawConnections() {
  for (const int socket : sockets_) ::close(socket);
}

}  // namespace sortition
