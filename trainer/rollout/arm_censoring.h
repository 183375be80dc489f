#pragma once
// Whether outcomes are unknown more often in one arm of a rollout.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "core/counterfactual/sequential/unit_rounds.h"

namespace sortition {

// Counts the rounds of one outcome of which the first decision is judged, or is
// void because its outcome is unknown. Rounds are only fair if that does not
// depend on the arm. Of the void rounds whose canary had probability q, the
// share of the canary is then q, at whatever times they were censored. So
// rounds are compared only with others of the same q. Not thread-safe.
class ArmCensoring {
 public:
  // Counts a round; rounds whose tuples are gone count nothing.
  void Add(const UnitRound& round, RoundVoid why_void);

  // Returns how the arms differ, in words; nothing unless their shares of void
  // rounds differ by more than kMinShareDifference, and the canary's share of
  // the void rounds differs from q by more than 5 standard errors would, were
  // it normal: q is outside of the exact interval of that confidence.
  std::optional<std::string> Difference() const;

 private:
  struct Arm {
    uint64_t rounds = 0;
    uint64_t censored = 0;
    double Share() const {
      return rounds == 0
                 ? 0
                 : static_cast<double>(censored) / static_cast<double>(rounds);
    }
  };
  struct Arms {
    Arm stable;
    Arm canary;
  };

  std::map<double, Arms> by_probability_;  // By that of the canary.
};

}  // namespace sortition
