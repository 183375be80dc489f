#include "core/counterfactual/evaluation/controlled_bets.h"

#include <algorithm>

namespace sortition {
namespace {

// The regression of b + d r, less its mean, on d: over the rounds so far.
class Control {
 public:
  double Factor() const {
    // Before anything is known, the middle.
    return squares_ > 0 ? std::clamp(products_ / squares_, 0.0, 1.0) : 0.5;
  }

  void Add(const ControlledRound& round) {
    const double sum = round.base + round.product;
    sum_ += sum;
    count_ += round.count;
    products_ += (sum - sum_ / count_ * round.count) * round.difference;
    squares_ += round.difference * round.difference;
  }

 private:
  double sum_ = 0;
  double count_ = 0;
  double products_ = 0;
  double squares_ = 0;
};

}  // namespace

ControlledSides ControlledBets(const std::vector<ControlledRound>& rounds,
                               double limit, double most_base) {
  ControlledSides sides;
  Control control;
  for (const ControlledRound& round : rounds) {
    const double z =
        round.base + round.product - control.Factor() * round.difference;
    control.Add(round);
    // Rounding may leave less.
    const double least = -limit * round.count;
    sides.above.push_back({std::max(z, least), round.count});
    sides.below.push_back(
        {std::max(most_base * round.count - z, least), round.count});
  }
  return sides;
}

}  // namespace sortition
