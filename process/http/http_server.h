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

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct HttpRequest {
  std::string method;  // HEAD comes as GET.
  std::string path;    // As it came, without the query.
  std::string query;   // What comes after '?', as it came.
  std::string body;
  std::string peer;  // Address of the client, as in "127.0.0.1:54321".
  // Returns the value of a header, whatever the case of its name; empty: it is
  // absent.
  std::function<std::string(absl::string_view name)> header;
};

struct HttpAnswer {
  int code = 200;
  std::string content_type = {};
  std::string body = {};
  // Further headers. Every answer has some (exchange.cc); one of the same name
  // here takes the place of such a one.
  std::vector<std::pair<std::string, std::string>> headers = {};
};

// Called in a thread of the server, by several of them at a time.
using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

struct HttpLimits {
  uint32_t threads = 4;
  // Connections that no thread has taken up. Fewer where all of them would take
  // more than an eighth of the descriptors that the process may have.
  uint32_t max_waiting = 64;
  uint32_t max_body_bytes = 8 << 20;
  double request_seconds = 10;  // To arrive; and for the answer to leave.
  // Names that are taken as Host and Origin (SiteRules).
  std::vector<std::string> hosts = {};
};

// What else a server does. Each may be null.
struct HttpHooks {
  // Called first by each thread that answers.
  std::function<void()> begin_thread = nullptr;
  // Returns whether the body of a request, of which the rest has come, is to be
  // read. Otherwise the handler gets it without one, and the connection ends.
  std::function<bool(const HttpRequest&)> wants_body = nullptr;
  // Called before each answer is sent. `path` is that of a route, or "other".
  std::function<void(absl::string_view path, int code)> count = nullptr;
};

// Returns how many descriptors a server of these limits takes at most.
uint32_t MostConnections(const HttpLimits& limits);

// Each thread answers one connection at a time. A connection carries one
// request, or several of them one after the other while less than half of the
// threads are bound to such a connection.
//
// Browsers are taken to be hostile: requests that the page of another site
// makes are refused (same_site.h), and no answer may be shown in a frame.
class HttpServer {
 public:
  // Listens at "host:port", at all addresses of the host; port 0 picks a free
  // one at the first of them. `routes` goes from "GET /path" to what answers
  // it; HEAD is answered as GET is. Unavailable if the address is wrong, taken
  // or not of IPv4; the message begins with `option`. The process ignores
  // SIGPIPE from then on.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Open(
      absl::string_view option, const std::string& address,
      const HttpLimits& limits, std::map<std::string, HttpHandler> routes,
      HttpHooks hooks = {});
  // Returns the error that Open() would return for this address now.
  static absl::Status CheckAddress(absl::string_view option,
                                   const std::string& address);
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
