#pragma once
// Serves one page over HTTP/1.1. On an address of this machine alone, the Host
// of a request must be such an address, too. No client can keep others from it,
// whatever it sends or does not send, and whatever it does not read.
#include <netdb.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// One thread, which never waits for a client. A connection is closed once it
// has its answer or its time is over; the oldest one goes first where there are
// kMaxConnections.
class PageServer {
 public:
  static constexpr size_t kMaxConnections = 32;
  static constexpr std::chrono::seconds kLongest{10};  // Of a connection.

  struct Page {
    std::string path;  // As in "/metrics".
    std::string content_type;
    std::function<std::string()> make;  // Called for each request.
  };

  // Listens at "host:port"; port 0 picks a free one. Unavailable if the address
  // is wrong or taken; the message begins with `option`.
  static absl::StatusOr<std::unique_ptr<PageServer>> Open(
      absl::string_view option, const std::string& address, Page page);
  ~PageServer();  // Closes all connections at once.
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  int port() const { return port_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Connection {
    int fd = -1;
    Clock::time_point start;
    std::string request;  // What has come of it.
    std::string answer;   // Empty: not known yet.
    size_t sent = 0;
    bool is_answered = false;  // Only the client's end is awaited.
  };

  explicit PageServer(Page page);

  // Adds a socket that listens at this address. On failure errno says why.
  bool Add(const addrinfo& address);
  void Run();
  // Waits until there is something to do; returns false at the end.
  bool Wait();
  void Accept(int socket);
  // Each returns false once the connection is to be closed.
  bool Serve(Connection* connection) const;
  bool Read(Connection* connection) const;
  static bool Write(Connection* connection);
  // Returns the answer to a whole request.
  std::string Answer(absl::string_view request) const;

  const Page page_;
  const int end_;
  int port_ = 0;
  bool is_loopback_ = false;
  std::vector<int> sockets_;
  std::list<Connection> connections_;  // Oldest first.
  bool is_short_ = false;              // Of descriptors.
  std::thread thread_;
};

}  // namespace sortition
