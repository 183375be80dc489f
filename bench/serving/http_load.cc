#include "bench/serving/http_load.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "absl/strings/str_cat.h"
#include "process/threads.h"
#include "tests/testing/http_client.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// How many connections are looked at before the thread pauses.
constexpr int kAtOnce = 500;
constexpr std::chrono::milliseconds kPause(20);

// Returns a connection that is perhaps not made yet; -1: none.
int Connect(int port) {
  const int fd =
      ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address));
  return fd;
}

bool IsClosed(int fd) {
  pollfd look = {fd, POLLIN | POLLRDHUP, 0};
  return ::poll(&look, 1, 0) > 0 &&
         (look.revents & (POLLIN | POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace

HttpCalls::HttpCalls(int port, const Options& options) {
  for (int i = 0; i < options.threads; ++i) {
    threads_.emplace_back([this, port, options] {
      // Callers are on other machines.
      YieldToOtherThreads();
      Run(port, options);
    });
  }
}

HttpCalls::~HttpCalls() {
  is_over_ = true;
  for (std::thread& thread : threads_) thread.join();
}

void HttpCalls::Run(int port, const Options& options) {
  const std::chrono::duration<double> interval(options.threads /
                                               options.requests_per_second);
  const Clock::time_point start = Clock::now();
  std::unique_ptr<HttpClient> client;
  const std::string request = PostText(options.path, options.json);
  for (int i = 0; !is_over_; ++i) {
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(i * interval));
    if (client == nullptr) client = std::make_unique<HttpClient>(port);
    client->Send(request);
    HttpReply reply = client->Read();
    ++(reply.code == 200 ? num_answered_ : num_failed_);
    if (reply.headers["connection"] != "keep-alive") client = nullptr;
  }
}

absl::Status HttpLoiterers::RaiseLimit(int count) {
  rlimit limit = {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto needed = static_cast<rlim_t>(count) + 1000;
  if (limit.rlim_cur >= needed) return absl::OkStatus();
  const rlim_t most = limit.rlim_max;
  limit.rlim_cur = needed;
  limit.rlim_max = std::max(most, needed);  // Some users may.
  if (::setrlimit(RLIMIT_NOFILE, &limit) == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(count, " clients need ", needed, " descriptors, at most ",
                   most, " are allowed (ulimit -Hn)"));
}

HttpLoiterers::HttpLoiterers(int port, int count)
    : thread_([this, port, count] {
        YieldToOtherThreads();
        Run(port, count);
      }) {}

HttpLoiterers::~HttpLoiterers() {
  is_over_ = true;
  thread_.join();
}

void HttpLoiterers::Run(int port, int count) {
  std::vector<int> sockets(static_cast<size_t>(count), -1);
  for (size_t i = 0; !is_over_; i = (i + 1) % sockets.size()) {
    if (i % kAtOnce == 0) std::this_thread::sleep_for(kPause);
    int& fd = sockets[i];
    if (fd >= 0 && IsClosed(fd)) {
      ::close(fd);
      fd = -1;
    }
    if (fd < 0) {
      fd = Connect(port);
      ++num_opened_;
    } else if (i % 2 == 0) {
      // One letter more of a header without end, each time round.
      constexpr char kStart[] = "GET / HTTP/1.1\r\nX: ";
      ::send(fd, kStart, sizeof(kStart) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
  for (const int fd : sockets) {
    if (fd >= 0) ::close(fd);
  }
}

}  // namespace sortition
