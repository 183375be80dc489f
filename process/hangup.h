#pragma once
// SIGHUP as a call: the process looks again at what it can reload.
#include <functional>
#include <thread>

namespace sortition {

// SIGHUP does not end the process while this exists. Call
// BlockShutdownSignals() before: until then, and in programs that never do, it
// does.
class HangupWatch {
 public:
  // Calls `reload` in a thread of its own after each SIGHUP, also one that came
  // before; several that come at once may count as one.
  explicit HangupWatch(std::function<void()> reload);
  ~HangupWatch();  // Waits for a call that runs.
  HangupWatch(const HangupWatch&) = delete;
  HangupWatch& operator=(const HangupWatch&) = delete;

 private:
  void Run();

  const std::function<void()> reload_;
  const int signals_;
  const int end_;
  std::thread thread_;
};

}  // namespace sortition
