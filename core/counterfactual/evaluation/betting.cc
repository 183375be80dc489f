#include "core/counterfactual/evaluation/betting.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace sortition {
namespace {

// Of the stake that could lose everything.
constexpr double kLargestShare = 0.5;

// The bets λ_g before they are cut, in the order of the rounds. Each depends on
// the rounds before it, and on the sizes of all.
std::vector<double> PlugInBets(std::span<const BettingRound> rounds,
                               double failure_probability) {
  double squares_of_counts = 0;
  for (const BettingRound& round : rounds) {
    squares_of_counts += round.count * round.count;
  }
  const double n = static_cast<double>(rounds.size());
  const double stake = 2 * std::log(1 / failure_probability) / n;
  // Before anything is known: standard deviation 1/2 and mean 1/2 a decision,
  // as strong as one round.
  double variance = squares_of_counts / n / 4;
  double sum = 0.5;
  double count = 1;
  std::vector<double> bets;
  bets.reserve(rounds.size());
  for (const BettingRound& round : rounds) {
    bets.push_back(std::sqrt(stake / variance));
    const double residual = round.sum - sum / count * round.count;
    const double seen = static_cast<double>(bets.size());
    variance += (residual * residual - variance) / (seen + 1);
    sum += round.sum;
    count += round.count;
  }
  return bets;
}

class Game {
 public:
  Game(std::span<const BettingRound> rounds, double least,
       double failure_probability)
      : rounds_(rounds),
        least_(least),
        bets_(PlugInBets(rounds, failure_probability)) {
    for (const BettingRound& round : rounds) {
      largest_count_ = std::max(largest_count_, round.count);
    }
  }

  double LogWealth(double m) const {
    const double most = kLargestShare / ((m + least_) * largest_count_);
    double wealth = 0;
    for (size_t g = 0; g < rounds_.size(); ++g) {
      wealth += std::log1p(std::min(bets_[g], most) *
                           (rounds_[g].sum - m * rounds_[g].count));
    }
    return wealth;
  }

  // The mean that the rounds have.
  double Mean() const {
    double sum = 0;
    double count = 0;
    for (const BettingRound& round : rounds_) {
      sum += round.sum;
      count += round.count;
    }
    return count > 0 ? sum / count : -least_;
  }

 private:
  const std::span<const BettingRound> rounds_;
  const double least_;
  const std::vector<double> bets_;
  double largest_count_ = 0;
};

}  // namespace

double LogWealth(std::span<const BettingRound> rounds, double least,
                 double failure_probability, double m) {
  return Game(rounds, least, failure_probability).LogWealth(m);
}

double BettingLowerBound(std::span<const BettingRound> rounds, double least,
                         double failure_probability) {
  const Game game(rounds, least, failure_probability);
  const double target = std::log(1 / failure_probability);
  double lower = -least;
  double upper = game.Mean();
  if (!(upper > lower)) return lower;
  // A bound above the mean would be valid, and useless.
  constexpr int kSteps = 60;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = lower + (upper - lower) / 2;
    (game.LogWealth(middle) >= target ? lower : upper) = middle;
  }
  return lower;
}

}  // namespace sortition
