#include "core/games/f_beta_best_response.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Exchanges that gain less than this are not made: rounding could undo them.
constexpr double kExchange = 1e-15;

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

// values_ = Σ_k weights_[k] · marginals of the k-th size.
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

// The `size` items with the smallest values_ - ψ. Within a run those are its
// first; the set of the size before is repaired by exchanges, of which there
// are few. Returns the sum.
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

// The `size` items with the largest values_: whole runs by falling value, and
// the first items of one more.
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

void FBetaBestResponse::Start(int num_items, int limit,
                              FBetaResponses* responses) {
  responses_ = responses;
  limit_ = limit;
  pending_ = false;
  previous_payoff_ = kInfinity;
  if (responses == nullptr) return;
  responses->sets.Clear(num_items);
  responses->payoff.clear();
}

// `sign` is 1 where small payoffs are good, -1 where large ones are; payoffs
// here are times sign.
void FBetaBestResponse::Offer(int size, double payoff, double sign,
                              double threshold) {
  if (responses_ == nullptr) return;
  if (pending_ && pending_payoff_ <= payoff) Keep(sign);
  pending_ = payoff < previous_payoff_ && payoff < threshold;
  if (pending_) {
    pending_payoff_ = payoff;
    pending_cut_.assign(cut_.begin(), cut_.end());
    if (size == 0) std::copy_n(begin_.begin(), num_runs_, pending_cut_.begin());
  }
  previous_payoff_ = payoff;
}

void FBetaBestResponse::Keep(double sign) {
  pending_ = false;
  ItemSets& sets = responses_->sets;
  std::vector<double>& payoffs = responses_->payoff;
  int place = 0;
  if (sets.count() < limit_) {
    place = sets.AddEmpty();
    payoffs.push_back(0);
  } else {
    for (int k = 1; k < limit_; ++k) {
      if (sign * payoffs[k] > sign * payoffs[place]) place = k;
    }
    if (sign * payoffs[place] <= pending_payoff_) return;
    sets.MakeEmpty(place);
  }
  payoffs[place] = sign * pending_payoff_;
  for (int r = 0; r < num_runs_; ++r) {
    sets.AddRange(place, begin_[r], pending_cut_[r]);
  }
}

void FBetaBestResponse::Flush(double sign) {
  if (pending_) Keep(sign);
}

double FBetaBestResponse::Adversary(const SortedFBetaGame& game,
                                    const SizeMarginals& predictor,
                                    double threshold, int limit,
                                    FBetaResponses* responses) {
  FindRuns(game, predictor);
  Start(game.num_items, limit, responses);
  last_psi_.resize(num_runs_);
  next_psi_.resize(num_runs_);
  for (int r = 0; r < num_runs_; ++r) SetCut(game, r, begin_[r]);
  taken_ = 0;
  taken_psi_ = 0;
  const double cost = game.sums[game.num_positive];
  double least = predictor.empty + cost;
  Offer(0, least, 1, threshold);
  for (int t = 1; t <= game.num_items; ++t) {
    for (size_t k = 0; k < weights_.size(); ++k) {
      weights_[k] = game.Weight(predictor.sizes[k], t);
    }
    ComputeValues();
    const double payoff = TakeSmallest(game, t) + cost;
    least = std::min(least, payoff);
    Offer(t, payoff, 1, threshold);
  }
  if (responses != nullptr) Flush(1);
  return least;
}

double FBetaBestResponse::Predictor(const SortedFBetaGame& game,
                                    const SizeMarginals& adversary,
                                    double threshold, int limit,
                                    FBetaResponses* responses) {
  const int n = game.num_items;
  FindRuns(game, adversary);
  Start(n, limit, responses);
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
  Offer(0, -largest, -1, -threshold);
  for (int s = 1; s <= n; ++s) {
    for (size_t k = 0; k < weights_.size(); ++k) {
      weights_[k] = game.Weight(s, adversary.sizes[k]);
    }
    ComputeValues();
    const double payoff = TakeLargest(s) + cost;
    largest = std::max(largest, payoff);
    Offer(s, -payoff, -1, -threshold);
  }
  if (responses != nullptr) Flush(-1);
  return largest;
}

}  // namespace sortition
