#include "process/http/interrupt_timer.h"

#include <unistd.h>

#include <cmath>

// Headers of this C library have no name for the field yet.
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace sortition {
namespace {

// A wait that begins just after the signal is ended by the next one.
constexpr long kAgainNanoseconds = 20'000'000;

// A signal without a handler would interrupt nothing.
void HandleUrgentSignals() {
  [[maybe_unused]] static const int once = [] {
    struct sigaction action = {};
    action.sa_handler = [](int) {};
    return ::sigaction(SIGURG, &action, nullptr);
  }();
}

}  // namespace

InterruptTimer::InterruptTimer(double seconds) {
  HandleUrgentSignals();
  sigevent event = {};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = SIGURG;
  event.sigev_notify_thread_id = ::gettid();
  timer_t timer = {};
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0) return;
  timer_ = timer;
  itimerspec times = {};
  times.it_value.tv_sec = static_cast<time_t>(seconds);
  times.it_value.tv_nsec =
      static_cast<long>((seconds - std::floor(seconds)) * 1e9);
  times.it_interval.tv_nsec = kAgainNanoseconds;
  ::timer_settime(timer, 0, &times, nullptr);
}

InterruptTimer::~InterruptTimer() {
  if (timer_.has_value()) ::timer_delete(*timer_);
}

}  // namespace sortition
