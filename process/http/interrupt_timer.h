#pragma once
// Ends a system call that a library waits in for longer than it should.
#include <csignal>
#include <ctime>
#include <optional>

namespace sortition {

// Once `seconds` are over, makes calls of this thread that wait, such as poll,
// fail with EINTR, again and again as long as the timer exists. SIGURG, which
// has no other use here, is what interrupts them. Where the kernel has no timer
// left it does nothing.
class InterruptTimer {
 public:
  explicit InterruptTimer(double seconds);
  ~InterruptTimer();
  InterruptTimer(const InterruptTimer&) = delete;
  InterruptTimer& operator=(const InterruptTimer&) = delete;

 private:
  std::optional<timer_t> timer_;
};

}  // namespace sortition
