#include "core/counterfactual/evaluation/betting.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

// Of the stake that could lose everything.
constexpr double kLargestShare = 0.5;

// The bets λ_g before they are cut, in the order of the rounds. Each depends on
// nothing but the rounds before it, not even on sizes of later ones.
std::vector<double> PlugInBets(const BettingGame& game,
                               double failure_probability) {
  const double n = static_cast<double>(game.rounds.size());
  const double stake = 2 * std::log(1 / failure_probability) / n;
  // Before anything is known: standard deviation 1/2 and mean 1/2 a decision,
  // as strong as one round, of the largest size or of the sizes so far.
  double squares_of_counts = game.largest_count * game.largest_count;
  double squares = 0;  // Of residuals.
  double sum = 0.5;
  double count = 1;
  std::vector<double> bets;
  bets.reserve(game.rounds.size());
  for (const BettingRound& round : game.rounds) {
    const double weight = static_cast<double>(bets.size() + 1);
    const double variance = (squares_of_counts / weight / 4 + squares) / weight;
    bets.push_back(std::sqrt(stake / variance));
    const double residual = round.sum - sum / count * round.count;
    squares += residual * residual;
    squares_of_counts += round.count * round.count;
    sum += round.sum;
    count += round.count;
  }
  return bets;
}

class Game {
 public:
  Game(const BettingGame& game, double failure_probability)
      : rounds_(game.rounds),
        least_(game.least),
        largest_count_(game.largest_count),
        bets_(PlugInBets(game, failure_probability)) {
    // Sums of shares may be a little more.
    constexpr double kRounding = 1e-6;
    for (const BettingRound& round : rounds_) {
      CHECK(round.count <= largest_count_ * (1 + kRounding));
    }
  }

  double LogWealth(double m) const {
    // Of the largest round that there can be, not of this one: who bet more on
    // smaller ones would win where gains go with size.
    const double most = kLargestShare / ((m + least_) * largest_count_);
    // A logarithm takes longer than a round: one for many factors, which are
    // at least 1/2.
    constexpr double kLeast = 1e-100;
    constexpr double kMost = 1e100;
    double wealth = 0;
    double product = 1;
    for (size_t g = 0; g < rounds_.size(); ++g) {
      const double factor = 1 + std::min(bets_[g], most) *
                                    (rounds_[g].sum - m * rounds_[g].count);
      if (factor > kMost) {
        wealth += std::log(factor);
        continue;
      }
      product *= factor;
      if (product > kLeast && product < kMost) continue;
      wealth += std::log(product);
      product = 1;
    }
    return wealth + std::log(product);
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
  const double largest_count_;
  const std::vector<double> bets_;
};

}  // namespace

double LogWealth(const BettingGame& game, double failure_probability,
                 double m) {
  return Game(game, failure_probability).LogWealth(m);
}

double BettingLowerBound(const BettingGame& game, double failure_probability) {
  return BettingLowerBound(std::span(&game, 1), failure_probability);
}

double BettingLowerBound(std::span<const BettingGame> games,
                         double failure_probability) {
  std::vector<Game> played;
  double lower = -std::numeric_limits<double>::infinity();
  double upper = lower;
  for (const BettingGame& game : games) {
    played.emplace_back(game, failure_probability);
    lower = std::max(lower, -game.least);
    // A bound above the mean would be valid, and useless.
    upper = std::max(upper, played.back().Mean());
  }
  const double target =
      std::log(static_cast<double>(games.size()) / failure_probability);
  const auto is_refuted = [&](double m) {
    double wealth = -std::numeric_limits<double>::infinity();
    for (const Game& game : played) {
      wealth = stable::LogAddExp(wealth, game.LogWealth(m));
    }
    return wealth >= target;
  };
  if (!(upper > lower)) return lower;
  constexpr int kSteps = 45;
  for (int step = 0; step < kSteps; ++step) {
    const double middle = lower + (upper - lower) / 2;
    (is_refuted(middle) ? lower : upper) = middle;
  }
  return lower;
}

}  // namespace sortition
