#pragma once
// A client of HTTP/2 (RFC 9113) written by hand over a socket, for what a gRPC
// client never does.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

enum class FrameType : uint8_t {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9,
};
inline constexpr uint8_t kEndStream = 1;
inline constexpr uint8_t kEndHeaders = 4;

// Returns a frame of section 4.1.
inline std::string Frame(FrameType type, uint8_t flags, uint32_t stream,
                         absl::string_view payload) {
  const auto size = static_cast<uint32_t>(payload.size());
  std::string frame;
  for (const uint32_t byte :
       {size >> 16, size >> 8, size, static_cast<uint32_t>(type),
        uint32_t{flags}, stream >> 24, stream >> 16, stream >> 8, stream}) {
    frame.push_back(static_cast<char>(byte));
  }
  frame.append(payload.data(), payload.size());
  return frame;
}

// Returns what a client begins with: the preface, and settings with this window
// for what it is sent on each stream, bytes.
inline std::string Preface(uint32_t window) {
  std::string setting = {0, 4};  // SETTINGS_INITIAL_WINDOW_SIZE
  for (const uint32_t byte :
       {window >> 24, window >> 16, window >> 8, window}) {
    setting.push_back(static_cast<char>(byte));
  }
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
         Frame(FrameType::kSettings, 0, 0, setting);
}

// Returns the frame that begins a gRPC call. `stream` is odd and greater than
// those before; the path has less than 127 bytes.
inline std::string BeginCall(uint32_t stream, absl::string_view path) {
  // HPACK (RFC 7541) without a table: POST, http, then literals.
  const auto literal = [](absl::string_view text) {
    return std::string(1, static_cast<char>(text.size())) + std::string(text);
  };
  const std::string headers =
      "\x83\x86\x04" + literal(path) + "\x01" + literal("localhost") +
      "\x0f\x10" + literal("application/grpc") + std::string(1, '\0') +
      literal("te") + literal("trailers");
  return Frame(FrameType::kHeaders, kEndHeaders, stream, headers);
}

// Returns the frame of one message of a call, less than 16,000 bytes. `flags`:
// kEndStream if it is the last.
inline std::string Message(uint32_t stream, uint8_t flags,
                           absl::string_view message) {
  const auto size = static_cast<uint32_t>(message.size());
  std::string data(1, '\0');  // Not compressed.
  for (const uint32_t byte : {size >> 24, size >> 16, size >> 8, size}) {
    data.push_back(static_cast<char>(byte));
  }
  data.append(message.data(), message.size());
  return Frame(FrameType::kData, flags, stream, data);
}

// Returns the frames of a unary gRPC call.
inline std::string Call(uint32_t stream, absl::string_view path,
                        absl::string_view message) {
  return BeginCall(stream, path) + Message(stream, kEndStream, message);
}

// Returns the frame by which a client gives up a call (CANCEL).
inline std::string Reset(uint32_t stream) {
  return Frame(FrameType::kReset, 0, stream, absl::string_view("\0\0\0\x8", 4));
}

// A connection to a port of this machine; closed with the object.
class RawConnection {
 public:
  explicit RawConnection(int port)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in place = {};
    place.sin_family = AF_INET;
    place.sin_port = htons(static_cast<uint16_t>(port));
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&place),
                         sizeof(place)) == 0;
  }
  ~RawConnection() { ::close(socket_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool is_open() const { return is_open_; }
  // Sends all bytes; false if the server has closed the connection.
  bool Send(absl::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Whether the server has closed it, reading what has come without waiting.
  bool IsClosed() const {
    char bytes[4096];
    ssize_t size = 1;
    while (size > 0) size = ::recv(socket_, bytes, sizeof(bytes), MSG_DONTWAIT);
    return size == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }
  // Reads until the server closes the connection.
  void ReadToTheEnd() const {
    char bytes[4096];
    while (::recv(socket_, bytes, sizeof(bytes), 0) > 0) {
    }
  }

 private:
  const int socket_;
  bool is_open_ = false;
};

}  // namespace sortition
