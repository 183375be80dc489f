#pragma once
// An HTTP/1.1 server of a fixed number of threads and connections, for calls
// and pages beside what a process is there for.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct HttpRequest {
  std::string method;
  std::string path;   // Decoded, without the query.
  std::string query;  // What comes after '?', as it came.
  std::string body;
  // Returns the value of a header, whatever the case of its name; empty: it is
  // absent.
  std::function<std::string(absl::string_view name)> header;
};

struct HttpAnswer {
  int code = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
};

// Called in a thread of the server, by several of them at a time.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

struct HttpLimits {
  uint32_t threads = 4;
  uint32_t max_waiting = 64;  // Connections that no thread has taken up.
  uint32_t max_body_bytes = 8 << 20;
  double request_seconds = 10;  // To arrive; and for the answer to leave.
};

class HttpServer {
 public:
  // Listens at "host:port"; port 0 picks a free one. `routes` goes from
  // "GET /path" to what answers it; HEAD is answered as GET is. Unavailable if
  // the address is wrong or taken; the message begins with `option`.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Open(
      absl::string_view option, const std::string& address,
      const HttpLimits& limits, std::map<std::string, HttpHandler> routes);
  ~HttpServer();  // Closes the port and all connections, and ends the threads.
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  int port() const;

 private:
  struct Rep;
  explicit HttpServer(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
