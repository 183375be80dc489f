#include "core/games/f_beta/f_beta_best_response.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Exchanges that gain less than this are not made, because rounding could undo
// them.
constexpr double kExchange = 1e-15;
// Two responses are too similar to keep both if their sizes differ by at most
// the number of items divided by this.
constexpr int kSpacing = 1500;

}  // namespace

void FBetaBestResponse::FindRuns(const SortedFBetaGame& game,
                                 const SizeMarginals& mixture) {
  const int n = game.num_items;
  const int num_sizes = static_cast<int>(mixture.sizes.size());
  // cut_ marks the positions where a run begins.
  cut_.assign(n + 1, 0);
  cut_[0] = cut_[n] = 1;
  for (int k = 0; k < num_sizes; ++k) {
    const std::span<const double> row = mixture.row(k, n);
    for (int i = 1; i < n; ++i) cut_[i] |= row[i] != row[i - 1];
  }
  begin_.clear();
  for (int i = 0; i <= n; ++i) {
    if (cut_[i] != 0) begin_.push_back(i);
  }
  num_runs_ = static_cast<int>(begin_.size()) - 1;
  rows_.resize(static_cast<size_t>(num_sizes) * num_runs_);
  for (int k = 0; k < num_sizes; ++k) {
    const std::span<const double> row = mixture.row(k, n);
    double* out = rows_.data() + static_cast<size_t>(k) * num_runs_;
    for (int r = 0; r < num_runs_; ++r) out[r] = row[begin_[r]];
  }
  values_.resize(num_runs_);
  weights_.resize(num_sizes);
  cut_.assign(begin_.begin(), begin_.end() - 1);
}

// Computes values_ = Σ_k weights_[k] · marginals of the k-th size.
void FBetaBestResponse::ComputeValues() {
  std::fill(values_.begin(), values_.end(), 0.0);
  double* values = values_.data();
  for (size_t k = 0; k < weights_.size(); ++k) {
    const double weight = weights_[k];
    const double* row = rows_.data() + k * num_runs_;
    for (int r = 0; r < num_runs_; ++r) values[r] += weight * row[r];
  }
}

void FBetaBestResponse::SetCut(const SortedFBetaGame& game, int run, int cut) {
  cut_[run] = cut;
  last_psi_[run] = cut > begin_[run] ? game.psi[cut - 1] : kInfinity;
  next_psi_[run] = cut < begin_[run + 1] ? game.psi[cut] : -kInfinity;
}

// Takes the `size` items with the smallest values_ - ψ and returns the sum of
// these. Of each run it takes the first items. It starts from the set of the
// previous size and repairs it by exchanges, of which there are few.
double FBetaBestResponse::TakeSmallest(const SortedFBetaGame& game, int size) {
  for (;;) {
    int best = -1;
    int worst = -1;
    double smallest = kInfinity;
    double largest = -kInfinity;
    double sum = 0;
    for (int r = 0; r < num_runs_; ++r) {
      const double next = values_[r] - next_psi_[r];
      const double last = values_[r] - last_psi_[r];
      sum += values_[r] * (cut_[r] - begin_[r]);
      if (next < smallest) {
        smallest = next;
        best = r;
      }
      if (last > largest) {
        largest = last;
        worst = r;
      }
    }
    if (taken_ < size) {
      taken_psi_ += next_psi_[best];
      ++taken_;
      SetCut(game, best, cut_[best] + 1);
    } else if (largest > smallest + kExchange) {
      taken_psi_ += next_psi_[best] - last_psi_[worst];
      SetCut(game, best, cut_[best] + 1);
      SetCut(game, worst, cut_[worst] - 1);
    } else {
      return sum - taken_psi_;
    }
  }
}

// Takes the `size` items with the largest values_ and returns the sum of these.
// It takes whole runs by falling value, and the first items of one more run.
double FBetaBestResponse::TakeLargest(int size) {
  for (int k = 1; k < num_runs_; ++k) {
    const int run = order_[k];
    int j = k;
    for (; j > 0 && values_[order_[j - 1]] < values_[run]; --j) {
      order_[j] = order_[j - 1];
    }
    order_[j] = run;
  }
  double sum = 0;
  int left = size;
  for (const int run : order_) {
    const int taken = std::min(left, begin_[run + 1] - begin_[run]);
    cut_[run] = begin_[run] + taken;
    sum += taken * values_[run];
    left -= taken;
  }
  return sum;
}

void FBetaBestResponse::Start(int num_items, FBetaResponses* responses) {
  responses_ = responses;
  last_kept_ = -1;
  num_items_ = num_items;
  if (responses == nullptr) return;
  responses->sets.Clear(num_items);
  responses->payoff.clear();
}

// Keeps the items taken as a response, if it is among the best `limit`. `sign`
// is 1 if small payoffs are good, -1 if large ones are.
void FBetaBestResponse::Keep(double payoff, double sign, int limit) {
  if (responses_ == nullptr) return;
  ItemSets& sets = responses_->sets;
  std::vector<double>& payoffs = responses_->payoff;
  int size = 0;
  for (int r = 0; r < num_runs_; ++r) size += cut_[r] - begin_[r];
  int place = 0;
  if (last_kept_ >= 0 &&
      std::abs(sets.size(last_kept_) - size) <= num_items_ / kSpacing) {
    place = last_kept_;
    if (sign * payoffs[place] <= sign * payoff) return;
    sets.MakeEmpty(place);
  } else if (sets.count() < limit) {
    place = sets.AddEmpty();
    payoffs.push_back(0);
  } else {
    for (int k = 1; k < limit; ++k) {
      if (sign * payoffs[k] > sign * payoffs[place]) place = k;
    }
    if (sign * payoffs[place] <= sign * payoff) return;
    sets.MakeEmpty(place);
  }
  last_kept_ = place;
  payoffs[place] = payoff;
  for (int r = 0; r < num_runs_; ++r) {
    sets.AddRange(place, begin_[r], cut_[r]);
  }
}

// Removes the taken item with the largest difference of value and potential.
// Returns that difference.
double FBetaBestResponse::Return(const SortedFBetaGame& game) {
  int worst = 0;
  double largest = -kInfinity;
  for (int r = 0; r < num_runs_; ++r) {
    const double last = values_[r] - last_psi_[r];
    if (last > largest) {
      largest = last;
      worst = r;
    }
  }
  taken_psi_ -= last_psi_[worst];
  --taken_;
  SetCut(game, worst, cut_[worst] - 1);
  return largest;
}

bool FBetaBestResponse::Stopped(StopSignal* stop, size_t sizes) const {
  return stop != nullptr &&
         stop->AfterWork(static_cast<double>(sizes) * num_runs_);
}

double FBetaBestResponse::Adversary(const SortedFBetaGame& game,
                                    const SizeMarginals& predictor,
                                    const FBetaResponseOptions& options,
                                    FBetaResponses* responses) {
  const int n = game.num_items;
  FindRuns(game, predictor);
  Start(n, responses);
  last_psi_.resize(num_runs_);
  next_psi_.resize(num_runs_);
  const double cost = game.sums[game.num_positive];
  double least = predictor.empty + cost;
  if (least < options.threshold) Keep(least, 1, options.limit);
  for (int r = 0; r < num_runs_; ++r) SetCut(game, r, begin_[r + 1]);
  taken_ = n;
  taken_psi_ = game.sums[n];
  double certified = least;
  for (int t = n; t > 0;) {
    if (Stopped(options.stop, weights_.size() + 1)) return certified;
    for (size_t k = 0; k < weights_.size(); ++k) {
      weights_[k] = game.Weight(predictor.sizes[k], t);
    }
    ComputeValues();
    double payoff = TakeSmallest(game, t) + cost;
    least = std::min(least, payoff);
    if (payoff < options.threshold) Keep(payoff, 1, options.limit);
    // W_st falls with t, so smaller sets pay at least what they would pay at t.
    const double target = std::min(least, options.threshold) - options.slack;
    do {
      certified = std::min(certified, payoff);
      if (--t == 0 || Stopped(options.stop, 1)) break;
      payoff -= Return(game);
    } while (payoff >= target);
  }
  return certified;
}

double FBetaBestResponse::Predictor(const SortedFBetaGame& game,
                                    const SizeMarginals& adversary,
                                    const FBetaResponseOptions& options,
                                    FBetaResponses* responses) {
  const int n = game.num_items;
  FindRuns(game, adversary);
  Start(n, responses);
  double cost = game.sums[game.num_positive];
  for (size_t k = 0; k < adversary.sizes.size(); ++k) {
    const double* row = rows_.data() + k * num_runs_;
    for (int r = 0; r < num_runs_; ++r) {
      cost -= row[r] * (game.sums[begin_[r + 1]] - game.sums[begin_[r]]);
    }
  }
  order_.resize(num_runs_);
  std::iota(order_.begin(), order_.end(), 0);
  double largest = adversary.empty + cost;
  if (largest > options.threshold) Keep(largest, -1, options.limit);
  double certified = largest;
  for (int s = 1; s <= n;) {
    if (Stopped(options.stop, weights_.size() + 1)) return certified;
    for (size_t k = 0; k < weights_.size(); ++k) {
      weights_[k] = game.Weight(s, adversary.sizes[k]);
    }
    ComputeValues();
    const double payoff = TakeLargest(s) + cost;
    largest = std::max(largest, payoff);
    if (payoff > options.threshold) Keep(payoff, -1, options.limit);
    // W_st falls with s, so larger sets get at most what they would get at s.
    const double target = std::max(largest, options.threshold) + options.slack;
    certified = std::max(certified, payoff);
    s = SkipBelow(s, payoff, target, &certified);
  }
  return certified;
}

// Returns the first size above s whose best set could get more than `target`,
// by a bound from the values at s.
int FBetaBestResponse::SkipBelow(int s, double payoff, double target,
                                 double* certified) const {
  int size = 0;  // Items in the runs so far.
  int next = s + 1;
  for (const int run : order_) {
    size += begin_[run + 1] - begin_[run];
    while (next <= size) {
      payoff += values_[run];
      if (payoff > target) return next;
      *certified = std::max(*certified, payoff);
      ++next;
    }
  }
  return next;
}

}  // namespace sortition
