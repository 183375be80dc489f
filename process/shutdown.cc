#include "process/shutdown.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>

#include "core/base/check.h"

namespace sortition {
namespace {

// Readable while a signal is pending. Never read: the signal stays pending, so
// that every thread sees it, now and later.
std::atomic<int> signal_descriptor{-1};

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return ::sigaction(signal, nullptr, &action) == 0 &&
         action.sa_handler == SIG_IGN;
}

}  // namespace

void BlockShutdownSignals(Hangup hangup) {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  sigset_t blocked = signals;
  // A blocked signal would arrive although it is ignored, as nohup wants it.
  if (hangup == Hangup::kEnd && !IsIgnored(SIGHUP)) {
    ::sigaddset(&signals, SIGHUP);
  }
  ::sigaddset(&blocked, SIGHUP);
  CHECK(::pthread_sigmask(SIG_BLOCK, &blocked, nullptr) == 0);
  if (signal_descriptor.load() >= 0) return;
  signal_descriptor = ::signalfd(-1, &signals, SFD_CLOEXEC);
  CHECK(signal_descriptor.load() >= 0);
}

bool WaitForShutdown(double timeout_seconds) {
  using Clock = std::chrono::steady_clock;
  CHECK(signal_descriptor.load() >= 0);
  // Waits a day at a time: poll() takes its timeout as an int of milliseconds.
  constexpr double kLongestWait = 86400;
  const Clock::time_point start = Clock::now();
  while (true) {
    const double waited =
        std::chrono::duration<double>(Clock::now() - start).count();
    const double left =
        timeout_seconds < 0 ? kLongestWait : timeout_seconds - waited;
    const double wait = std::clamp(left, 0.0, kLongestWait);
    pollfd descriptor = {signal_descriptor.load(), POLLIN, 0};
    // Rounded up, or the last millisecond would be spent spinning.
    const int ready =
        ::poll(&descriptor, 1, static_cast<int>(wait * 1000 + 0.999));
    if (ready > 0) return true;
    CHECK(ready == 0 || errno == EINTR);
    if (timeout_seconds >= 0 && left <= 0) return false;
  }
}

}  // namespace sortition
