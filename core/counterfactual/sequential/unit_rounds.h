#pragma once
// Decisions of two arms to rounds that a test may go by.
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace sortition {

struct ArmDecision {
  uint64_t unit = 0;
  bool has_unit = false;  // False: the decision is a unit of its own.
  int64_t time_us = 0;
  double share = 0;  // Of the traffic that the canary had, in (0, 1).
  bool is_canary = false;
};

// What of a unit counts, with each of its outcomes.
struct UnitRound {
  bool is_canary = false;
  double canary_probability = 0;
  double share = 0;
  uint32_t decisions = 0;
  std::vector<double> means;  // Of the outcomes of these decisions.
};

// A unit keeps its arm while the canary's share grows: it has a place u in
// [0, 1), uniform, and belongs to the canary if u < share. So it is a round
//   - when it is seen first: with probability q = share, and
//   - when it is seen first after the share grew from s to s', if it was
//     stable until then: with probability q = (s' - s) / (1 - s), which is
//     that of u < s' given that u >= s.
// Who was in the canary is known to stay there, and is no round again. The
// outcome is the mean of what its decisions have, from that first one until
// `window_us` later; what comes afterwards does not count, as the number of
// rounds would otherwise not be known when they are looked at. A round is given
// away when the window has ended: always the same rounds in the same order,
// however often the log is read again while it grows.
class UnitRounds {
 public:
  using Take = std::function<void(const UnitRound&)>;

  UnitRounds(int64_t window_us, Take take)
      : window_us_(window_us), take_(std::move(take)) {}

  // Adds a decision. Times ascend. The number of outcomes is always the same.
  void Add(const ArmDecision& decision, std::span<const double> outcomes);
  // Gives away the rounds whose window has ended at this time.
  void CloseUntil(int64_t time_us);

  // Units whose window has not ended.
  uint64_t num_open() const { return open_.size(); }
  // Decisions that belong to no round: after the window, of units that stay
  // with the canary, or of a share that has grown meanwhile.
  uint64_t num_later() const { return num_later_; }

 private:
  struct Unit {
    double share = 0;  // The largest at which it was seen.
    bool is_canary = false;
    uint64_t round = 0;  // Number of its last round.
  };
  struct Open {
    int64_t end_us = 0;
    UnitRound sums;  // `means` holds sums.
  };

  void Give(UnitRound* sums);
  void Begin(const ArmDecision& decision, double canary_probability,
             std::span<const double> outcomes);

  const int64_t window_us_;
  const Take take_;
  absl::flat_hash_map<uint64_t, Unit> units_;
  std::deque<Open> open_;    // In the order of their ends.
  uint64_t num_closed_ = 0;  // The number of the round that is open_[0].
  uint64_t num_later_ = 0;
};

}  // namespace sortition
