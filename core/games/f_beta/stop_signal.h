#pragma once
// Ends a search when a callback says so. The callback is called now and then.
#include <functional>

namespace sortition {

class StopSignal {
 public:
  StopSignal() = default;
  // Stops when `stop`, which must outlive it, returns true; null or empty:
  // never.
  explicit StopSignal(const std::function<bool()>* stop)
      : stop_(stop != nullptr && *stop ? stop : nullptr) {}

  // Calls `stop`. Once stopped, the signal stays stopped.
  bool Ask() {
    work_ = 0;
    stopped_ = stopped_ || (stop_ != nullptr && (*stop_)());
    return stopped_;
  }

  // Calls `stop` if enough work was done since the last call: about 10 µs of
  // arithmetic, so that reading a clock hardly adds to the cost.
  bool AfterWork(double operations) {
    constexpr double kOperations = 1e4;
    work_ += operations;
    return work_ < kOperations ? stopped_ : Ask();
  }

  bool stopped() const { return stopped_; }

 private:
  const std::function<bool()>* stop_ = nullptr;
  double work_ = 0;
  bool stopped_ = false;
};

}  // namespace sortition
