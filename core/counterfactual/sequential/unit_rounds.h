#pragma once
// Turns the decisions of two arms into the rounds that a sequential test uses.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"

namespace sortition {

struct ArmDecision {
  uint64_t unit = 0;  // UnitKey().
  // False: the request named no unit, so the unit is that of the decision id.
  bool has_unit = false;
  int64_t time_us = 0;
  double share = 0;  // Share of the traffic that the canary had, in (0, 1).
  double place = 0;  // Position of the unit in the split, in [0, 1).
  bool is_canary = false;
};

// The value of an outcome that is not known, such as that of a censored
// decision.
inline constexpr double kUnknownOutcome =
    std::numeric_limits<double>::quiet_NaN();

// A unit that was drawn into an arm.
struct UnitRound {
  uint64_t unit = 0;
  bool has_unit = false;
  int64_t time_us = 0;  // Time of the decision that registered it.
  double share = 0;
  bool is_canary = false;
  // Probability of the canary, given the draws before.
  double canary_probability = 0;
};

// Reason why an outcome is void. kCensored: the outcome of the first decision
// is unknown. kGone: the first decision is no longer in the log.
enum class RoundVoid { kNotVoid, kCensored, kGone };

// One outcome of a round, as it is known when the round closes.
struct RoundOutcome {
  uint64_t round = 0;  // Index of the round, in the order of registration.
  uint32_t outcome = 0;
  uint32_t decisions = 0;  // Number of decisions in the mean.
  double mean = 0;         // 0 if the outcome is void.
  RoundVoid why_void = RoundVoid::kNotVoid;
};

// The rounds of a rollout. A unit keeps its arm while the canary's share grows:
// it has a place u, uniform in [0, 1), and belongs to the canary if u < share.
// A unit registers as a round
//   - at its first decision, with probability q = share, and
//   - at its first decision after the share grew from s to s', if it was stable
//     until then, with q = (s' - s) / (1 - s), which is P(u < s' | u >= s).
// A unit in the canary stays there and is no round again. A decision without
// `unit_id` belongs to the unit of its id, because its arm is a function of
// that id. Requests that repeat an id are one unit.
//
// Nothing that may depend on the arm may decide whether a unit is a round or
// whether its round is void. Whether a unit returns does depend on the arm, so
//   - a decision without known outcome registers its unit like any other, and
//   - an outcome of a round is void if and only if that of its *first* decision
//     is unknown, or that decision is no longer in the log when the outcome
//     closes. A void outcome places no bet.
// An outcome that is not void is the mean over the decisions with a known
// outcome, from the first decision until `window_us` later. If the request
// named no unit, it is the outcome of the first decision alone. Every round
// therefore has E[[canary] / q - [stable] / (1 - q) | earlier rounds] = 0. This
// assumes that time, and not the arm of a unit, determines which outcomes are
// unknown and which tuples are removed.
//
// Usage: Restore() and RestoreClosed() replay a ledger of earlier registrations
// and outcomes, which never change. A pass over the log follows: BeginPass(),
// Add() for all decisions in the order of their times, and CloseUntil(). The
// caller writes the rounds and outcomes that these return to the ledger. Not
// thread-safe.
class UnitRounds {
 public:
  UnitRounds(int64_t window_us, size_t num_outcomes)
      : window_us_(window_us), pending_(num_outcomes) {}

  void Restore(const UnitRound& round) { Begin(round); }
  // Returns false if there is no such round or outcome, or if it has closed.
  bool RestoreClosed(const RoundOutcome& closed);
  // Records a gap: decisions were removed from the log before they were read,
  // while the canary had at most this share. Their units are not known, so no
  // unit can register at this share any more. At a larger share, q is as above
  // for a unit whose place was stable, whether or not the unit came before.
  void NoteGap(double share) { gap_share_ = std::max(gap_share_, share); }

  // Begins a pass over the decisions that are in the log.
  void BeginPass();
  // Adds a decision with its outcomes; kUnknownOutcome: not known. Times ascend
  // within a pass. Returns true if the decision registered a round, which is
  // then rounds().back().
  bool Add(const ArmDecision& decision, std::span<const double> outcomes);
  // Closes this outcome of all rounds whose window ended by `until_us`. Returns
  // the closed outcomes by end of the window, then by registration.
  std::vector<RoundOutcome> CloseUntil(size_t outcome, int64_t until_us);

  const std::vector<UnitRound>& rounds() const { return rounds_; }
  // Number of rounds whose outcome with this index is open.
  uint64_t num_open(size_t outcome) const { return pending_[outcome].num_open; }
  // Number of decisions of this pass whose unit could not register because of a
  // gap.
  uint64_t num_unknown() const { return num_unknown_; }

 private:
  static constexpr uint64_t kNone = ~uint64_t{0};

  // Decisions of an open round that were found in a pass.
  struct Found {
    struct Outcome {
      uint32_t decisions = 0;  // Number of decisions with a known outcome.
      double sum = 0;
      bool is_first_known = false;
    };
    bool has_first = false;
    absl::InlinedVector<Outcome, 1> outcomes;
  };

  // Rounds with one open outcome.
  struct Pending {
    using End = std::pair<int64_t, uint64_t>;  // Time, and index of the round.
    // May contain rounds that have closed meanwhile.
    std::priority_queue<End, std::vector<End>, std::greater<>> ends;
    std::vector<bool> is_open;  // By round.
    uint64_t num_open = 0;
  };

  void Begin(const UnitRound& round);
  void Close(size_t outcome, uint64_t round);
  int64_t EndOf(const UnitRound& round) const {
    return round.has_unit ? round.time_us + window_us_ : round.time_us;
  }
  // `last` is the unit's last round; kNone: it has none.
  bool Registers(const ArmDecision& decision, uint64_t last,
                 double* canary_probability);
  void Collect(const ArmDecision& decision, uint64_t last,
               std::span<const double> outcomes);

  const int64_t window_us_;
  double gap_share_ = 0;
  std::vector<UnitRound> rounds_;
  std::vector<uint64_t> previous_;  // The unit's round before; kNone: none.
  std::vector<uint32_t> open_outcomes_;  // Number of open ones, by round.
  absl::flat_hash_map<uint64_t, uint64_t> last_round_;  // By unit.
  std::vector<Pending> pending_;                        // By outcome.
  absl::flat_hash_map<uint64_t, Found> found_;          // By round.
  uint64_t num_unknown_ = 0;
};

}  // namespace sortition
