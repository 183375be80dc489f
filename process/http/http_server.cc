#include "process/http/http_server.h"

#include <civetweb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <optional>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/nearest_name.h"
#include "process/http/exchange.h"
#include "process/http/http_errors.h"
#include "process/http/interrupt_timer.h"
#include "process/http/same_site.h"
#include "process/http/socket_addresses.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// Of a request up to its body.
constexpr int kMaxHeaderBytes = 1 << 16;
constexpr int kKeptMilliseconds = 5000;
constexpr int kMostKeptRequests = 1000;
// In which the headers of the first request must have come, once a thread waits
// for them. Most have come before.
constexpr double kFirstSeconds = 2;
// How long the kernel keeps a connection on which nothing has come. It counts
// this in the repetitions of a packet: the last ones are two minutes apart.
constexpr int kSilentSeconds = 3600;
// How many connections the kernel keeps, if the machine permits it.
constexpr char kMostSilent[] = "4096";
constexpr char kOtherPath[] = "other";

// A connection.
struct Client {
  Clock::time_point start = Clock::now();  // Of its next request.
  bool is_kept = false;
  int num_requests = 0;
  // Ends the wait for the first request.
  std::optional<InterruptTimer> first_wait = {};
};

// Civetweb changes it for the whole process when it starts: nobody could learn
// any more how a child has ended.
class ChildSignalKept {
 public:
  ChildSignalKept() { ::sigaction(SIGCHLD, nullptr, &action_); }
  ~ChildSignalKept() { ::sigaction(SIGCHLD, &action_, nullptr); }
  ChildSignalKept(const ChildSignalKept&) = delete;
  ChildSignalKept& operator=(const ChildSignalKept&) = delete;

 private:
  struct sigaction action_ = {};
};

Client* ClientOf(const mg_connection* connection) {
  return static_cast<Client*>(mg_get_user_connection_data(connection));
}

uint64_t EighthOfDescriptors() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return UINT32_MAX;
  return std::min<uint64_t>(limit.rlim_cur, UINT32_MAX) / 8;
}

// Returns how many connections may wait.
uint64_t MaxWaiting(const HttpLimits& limits) {
  const uint64_t most = EighthOfDescriptors();
  const uint64_t used = uint64_t{limits.threads} + 2;
  return std::clamp<uint64_t>(limits.max_waiting, 1,
                              most > used ? most - used : 1);
}

// Returns the path of a route that is most similar; empty: none is.
std::string NearestPath(const std::map<std::string, HttpHandler>& routes,
                        absl::string_view path) {
  // Distances of long ones are costly.
  constexpr size_t kMaxMisspeltBytes = 64;
  if (path.size() > kMaxMisspeltBytes) return "";
  std::string nearest;
  size_t best = MaxMisspelling(path) / 2 + 2;
  for (const auto& [name, handler] : routes) {
    const std::string known = name.substr(name.find(' ') + 1);
    const size_t distance =
        absl::EndsWith(known, path) ? 1 : EditDistance(path, known);
    if (distance >= best) continue;
    best = distance;
    nearest = known;
  }
  return nearest;
}

absl::Status CannotListen(absl::string_view option,
                          const std::string& address) {
  return absl::UnavailableError(
      absl::StrCat(option, " = \"", address,
                   "\": cannot listen there; must be a free host:port of this "
                   "machine, of IPv4"));
}

}  // namespace

struct HttpServer::Rep {
  HttpLimits limits;
  std::map<std::string, HttpHandler> routes;
  HttpHooks hooks;
  SiteRules site_rules;
  mg_context* context = nullptr;
  std::vector<int> sockets;  // That listen; civetweb's.
  int port = 0;
  std::atomic<uint32_t> num_kept{0};

  // Returns how the request ends, with its status code for civetweb.
  int Serve(mg_connection* connection);
  HttpAnswer Answer(Exchange* exchange) const;
  // Returns the answer to a request of which no route has both path and method.
  HttpAnswer NoRoute(const HttpRequest& request) const;
  // Counts an answer to a request for this path.
  void Count(const std::string& path, int code) const;
  // Returns in which time the headers of the client's request must come.
  double HeaderSeconds(const Client& client) const;
  // Whether this connection may carry another request.
  bool Keep(Client* client);
  // Answers what civetweb cannot read.
  void ServeError(mg_connection* connection, int code,
                  absl::string_view message) const;
  bool Start(const std::vector<std::string>& addresses);
  mg_callbacks Callbacks() const;

  static Rep* Of(const mg_connection* connection) {
    return static_cast<Rep*>(mg_get_user_data(mg_get_context(connection)));
  }
};

int HttpServer::Rep::Serve(mg_connection* connection) {
  Client* const client = ClientOf(connection);
  client->first_wait.reset();
  Exchange exchange(connection, limits);
  const HttpAnswer answer = Answer(&exchange);
  Count(exchange.request().path, answer.code);
  const bool is_kept = exchange.wants_more() && Keep(client);
  const int code = exchange.Write(answer, is_kept);
  client->start = Clock::now();
  return code;
}

HttpAnswer HttpServer::Rep::Answer(Exchange* exchange) const {
  if (auto refusal = exchange->CheckHeaders()) return *std::move(refusal);
  const HttpRequest& request = exchange->request();
  const absl::Status same_site =
      CheckSameSite(request, exchange->is_http_1_0(), site_rules);
  if (!same_site.ok()) return ErrorAnswer(same_site);
  const auto route =
      routes.find(absl::StrCat(request.method, " ", request.path));
  if (route == routes.end()) return NoRoute(request);
  if (!hooks.wants_body || hooks.wants_body(request)) {
    if (auto refusal = exchange->ReadBody()) return *std::move(refusal);
  }
  return route->second(request);
}

void HttpServer::Rep::Count(const std::string& path, int code) const {
  if (!hooks.count) return;
  const bool is_known =
      std::any_of(routes.begin(), routes.end(), [&](const auto& route) {
        return absl::EndsWith(route.first, absl::StrCat(" ", path));
      });
  hooks.count(is_known ? path : kOtherPath, code);
}

double HttpServer::Rep::HeaderSeconds(const Client& client) const {
  return client.num_requests > 0
             ? 1e-3 * kKeptMilliseconds
             : std::min(kFirstSeconds, limits.request_seconds);
}

HttpAnswer HttpServer::Rep::NoRoute(const HttpRequest& request) const {
  std::vector<std::string> methods;
  for (const auto& [name, handler] : routes) {
    const size_t space = name.find(' ');
    if (name.substr(space + 1) != request.path) continue;
    methods.push_back(name.substr(0, space));
    if (methods.back() == "GET") methods.emplace_back("HEAD");
  }
  if (methods.empty()) {
    const std::string nearest = NearestPath(routes, request.path);
    return ErrorAnswer(absl::NotFoundError(absl::StrCat(
        "there is no path \"", request.path, "\"",
        nearest.empty() ? ""
                        : absl::StrCat("; did you mean \"", nearest, "\"?"))));
  }
  const std::string allowed = absl::StrJoin(methods, ", ");
  HttpAnswer answer =
      ErrorAnswer(405, absl::UnimplementedError(absl::StrCat(
                           "method ", request.method, " of \"", request.path,
                           "\": must be ", allowed)));
  answer.headers.emplace_back("Allow", allowed);
  return answer;
}

bool HttpServer::Rep::Keep(Client* client) {
  if (++client->num_requests >= kMostKeptRequests) return false;
  if (client->is_kept) return true;
  if (++num_kept > limits.threads / 2) {
    --num_kept;
    return false;
  }
  client->is_kept = true;
  return true;
}

void HttpServer::Rep::ServeError(mg_connection* connection, int code,
                                 absl::string_view message) const {
  Client* const client = ClientOf(connection);
  client->first_wait.reset();
  const double seconds = HeaderSeconds(*client);
  HttpAnswer answer;
  if (code == 400 && absl::StrContains(message, "Malformed") &&
      Clock::now() - client->start >= std::chrono::duration<double>(seconds)) {
    answer = ErrorAnswer(408, absl::DeadlineExceededError(absl::StrCat(
                                  "the headers of the request did not arrive "
                                  "within ",
                                  seconds, " seconds")));
  } else if (code == 505) {
    answer = ErrorAnswer(
        505, absl::UnimplementedError("only HTTP/1.0 and HTTP/1.1 are spoken"));
  } else {
    answer = ErrorAnswer(
        400, absl::InvalidArgumentError(absl::StrCat(
                 "not a request of HTTP/1.1: its first line or a header is "
                 "malformed, ends early, or all of them have more than ",
                 kMaxHeaderBytes, " bytes")));
  }
  Count(kOtherPath, answer.code);
  WriteLastAnswer(connection, answer, limits.request_seconds);
}

mg_callbacks HttpServer::Rep::Callbacks() const {
  mg_callbacks callbacks = {};
  callbacks.begin_request = [](mg_connection* connection) {
    return Of(connection)->Serve(connection);
  };
  callbacks.init_thread = [](const mg_context* of, int type) -> void* {
    constexpr int kAnswers = 1;
    const Rep* const rep = static_cast<Rep*>(mg_get_user_data(of));
    if (type == kAnswers && rep->hooks.begin_thread) rep->hooks.begin_thread();
    return nullptr;
  };
  callbacks.http_error = [](mg_connection* connection, int code,
                            const char* message) {
    Of(connection)->ServeError(connection, code, message);
    return 0;
  };
  callbacks.init_connection = [](const mg_connection* connection, void** data) {
    auto* const client = new Client;
    client->first_wait.emplace(Of(connection)->HeaderSeconds(*client));
    *data = client;
    return 0;
  };
  callbacks.connection_close = [](const mg_connection* connection) {
    Client* const client = ClientOf(connection);
    if (client->is_kept) --Of(connection)->num_kept;
    delete client;
  };
  // What it has to say is about single clients, or is returned.
  callbacks.log_message = [](const mg_connection*, const char*) { return 1; };
  return callbacks;
}

bool HttpServer::Rep::Start(const std::vector<std::string>& addresses) {
  const std::string ports = absl::StrJoin(addresses, ",");
  const std::string threads = absl::StrCat(limits.threads);
  const std::string waiting = absl::StrCat(MaxWaiting(limits));
  const std::string header_bytes = absl::StrCat(kMaxHeaderBytes);
  const std::string kept = absl::StrCat(kKeptMilliseconds);
  const std::string milliseconds =
      absl::StrCat(std::llround(1000 * limits.request_seconds));
  const char* options[] = {
      "listening_ports", ports.c_str(), "num_threads", threads.c_str(),
      "connection_queue", waiting.c_str(), "listen_backlog", kMostSilent,
      "max_request_size", header_bytes.c_str(), "request_timeout_ms",
      milliseconds.c_str(), "keep_alive_timeout_ms", kept.c_str(),
      "enable_keep_alive", "yes", "tcp_nodelay", "1",
      // Paths are compared as they come.
      "decode_url", "no",
      // Hosts are checked here.
      "enable_auth_domain_check", "no", nullptr};
  const mg_callbacks callbacks = Callbacks();
  const ChildSignalKept child_signal;
  context = mg_start(&callbacks, this, options);
  return context != nullptr;
}

uint32_t MostConnections(const HttpLimits& limits) {
  // The one beside them waits for a place among those that wait.
  return static_cast<uint32_t>(limits.threads + MaxWaiting(limits) + 1);
}

HttpServer::HttpServer(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Open(
    absl::string_view option, const std::string& address,
    const HttpLimits& limits, std::map<std::string, HttpHandler> routes,
    HttpHooks hooks) {
  std::vector<std::string> addresses = FindAddresses(address);
  // Two addresses would get two free ports.
  if (absl::EndsWith(address, ":0") && addresses.size() > 1) {
    addresses.resize(1);
  }
  auto rep = std::make_unique<Rep>();
  rep->limits = limits;
  rep->routes = std::move(routes);
  rep->hooks = std::move(hooks);
  rep->site_rules = {.hosts = limits.hosts,
                     .is_loopback = std::all_of(
                         addresses.begin(), addresses.end(), IsLoopbackHost)};
  if (addresses.empty() || !rep->Start(addresses)) {
    return CannotListen(option, address);
  }
  mg_server_port port = {};
  mg_get_server_ports(rep->context, 1, &port);
  rep->port = port.port;
  for (std::string& each : addresses) {
    each = absl::StrCat(each.substr(0, each.rfind(':') + 1), rep->port);
  }
  rep->sockets = FindListeningSockets(addresses);
  // A client that has not said anything takes no thread: browsers open
  // connections that they may need.
  for (const int socket : rep->sockets) {
    ::setsockopt(socket, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kSilentSeconds,
                 sizeof(kSilentSeconds));
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(rep)));
}

absl::Status HttpServer::CheckAddress(absl::string_view option,
                                      const std::string& address) {
  return IsFree(address) ? absl::OkStatus() : CannotListen(option, address);
}

HttpServer::~HttpServer() {
  // Otherwise civetweb looks at its end only every two seconds.
  for (const int socket : rep_->sockets) ::shutdown(socket, SHUT_RDWR);
  mg_stop(rep_->context);
}

int HttpServer::port() const { return rep_->port; }

}  // namespace sortition
