#pragma once
// When a search has to end: a callback that is asked now and then.
#include <functional>

namespace sortition {

class StopSignal {
 public:
  StopSignal() = default;
  // Asks `stop`, which must outlive it; null or empty: never.
  explicit StopSignal(const std::function<bool()>* stop)
      : stop_(stop != nullptr && *stop ? stop : nullptr) {}

  // Asks; once true it stays so.
  bool Ask() {
    work_ = 0;
    stopped_ = stopped_ || (stop_ != nullptr && (*stop_)());
    return stopped_;
  }

  // Asks where enough was done since the last time: some 10 µs of arithmetic,
  // so that a look at a clock costs little beside it.
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
