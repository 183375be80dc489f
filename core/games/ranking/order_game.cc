#include "core/games/ranking/order_game.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"
#include "core/games/ranking/ranking_game.h"

namespace sortition {
namespace {

absl::Status CheckWeights(std::span<const double> w) {
  for (size_t i = 0; i < w.size(); ++i) {
    if (std::abs(w[i]) <= kMaxPotential) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("w[", i, "] is ", w[i], ", must be from -1e300 to 1e300"));
  }
  return absl::OkStatus();
}

// Returns true if each group, in which an item is less than 1 from the next,
// spans at most 1.
bool FallsIntoGroups(std::span<const double> falling) {
  size_t begin = 0;
  for (size_t i = 1; i < falling.size(); ++i) {
    if (falling[i - 1] - falling[i] >= 1) begin = i;
    if (falling[begin] - falling[i] > 1) return false;
  }
  return true;
}

}  // namespace

double PrecedenceProbability(double w_i, double w_j) {
  return std::clamp((1 + (w_i - w_j)) / 2, 0.0, 1.0);
}

absl::StatusOr<OrderGameValue> SolveOrderGame(std::span<const double> w) {
  RETURN_IF_ERROR(CheckWeights(w));
  std::vector<double> falling(w.begin(), w.end());
  std::sort(falling.begin(), falling.end(), std::greater<>());
  OrderGameValue result;
  result.exact = FallsIntoGroups(falling);
  // The items more than 1 below an item are a tail of all items. The tail's
  // distances from the first item add up to `tail`.
  double tail = 0;
  for (const double weight : falling) tail += falling[0] - weight;
  size_t far = 0;
  for (size_t i = 0; i < falling.size(); ++i) {
    while (far < falling.size() && falling[i] - falling[far] <= 1) {
      tail -= falling[0] - falling[far++];
    }
    const auto num_far = static_cast<double>(falling.size() - far);
    const auto num_near = static_cast<double>(far - i - 1);
    result.guarantee += num_near / 2 + num_far -
                        (tail - num_far * (falling[0] - falling[i])) / 2;
  }
  return result;
}

absl::Status BucketOrder::Prepare(std::span<const double> w) {
  RETURN_IF_ERROR(CheckWeights(w));
  const size_t n = w.size();
  fractions_.resize(n);
  by_fraction_.resize(n);
  upper_.resize(n);
  lower_.resize(n);
  floors_.clear();
  for (size_t i = 0; i < n; ++i) {
    const double floor = std::floor(w[i]);
    fractions_[i] = w[i] - floor;
    floors_.push_back(floor);
    floors_.push_back(floor - 1);
  }
  std::sort(floors_.begin(), floors_.end(), std::greater<>());
  floors_.erase(std::unique(floors_.begin(), floors_.end()), floors_.end());
  const auto number_of = [this](double floor) {
    return static_cast<int32_t>(std::lower_bound(floors_.begin(), floors_.end(),
                                                 floor, std::greater<>()) -
                                floors_.begin());
  };
  for (size_t i = 0; i < n; ++i) {
    upper_[i] = number_of(std::floor(w[i]));
    lower_[i] = number_of(std::floor(w[i]) - 1);
  }
  std::iota(by_fraction_.begin(), by_fraction_.end(), 0);
  std::sort(
      by_fraction_.begin(), by_fraction_.end(), [this](int32_t a, int32_t b) {
        return fractions_[a] != fractions_[b] ? fractions_[a] < fractions_[b]
                                              : a < b;
      });
  return absl::OkStatus();
}

double BucketOrder::Draw(const CounterRandom& random,
                         std::vector<int32_t>* order) {
  const size_t n = fractions_.size();
  // Random number 0 is r. The others order the items within buckets.
  const double r = random.Uniform(0);
  keys_.resize(n);
  random.UniformBlocks(1, keys_);
  buckets_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    buckets_[i] = fractions_[i] < r ? lower_[i] : upper_[i];
  }
  order->resize(n);
  std::iota(order->begin(), order->end(), 0);
  std::sort(order->begin(), order->end(), [this](int32_t a, int32_t b) {
    if (buckets_[a] != buckets_[b]) return buckets_[a] < buckets_[b];
    return keys_[a] != keys_[b] ? keys_[a] < keys_[b] : a < b;
  });
  return LogPropensity(*order);
}

double BucketOrder::LogPropensity(std::span<const int32_t> order) {
  const size_t n = fractions_.size();
  CHECK(order.size() == n);
  if (n == 0) return 0;
  buckets_ = upper_;
  bucket_sizes_.assign(floors_.size(), 0);
  for (const int32_t bucket : buckets_) ++bucket_sizes_[bucket];
  ranks_.resize(n);
  for (size_t rank = 0; rank < n; ++rank) {
    ranks_[order[rank]] = static_cast<int32_t>(rank);
  }
  // 1 if the items at rank - 1 and rank are not in the order of their buckets.
  const auto is_inverted = [&](size_t rank) {
    return rank > 0 && rank < n &&
                   buckets_[order[rank - 1]] > buckets_[order[rank]]
               ? 1
               : 0;
  };
  int num_inverted = 0;
  for (size_t rank = 1; rank < n; ++rank) num_inverted += is_inverted(rank);
  double log_orders = 0;  // log Π size! of the first interval.
  for (const int32_t size : bucket_sizes_) {
    for (int32_t s = 2; s <= size; ++s) log_orders += stable::Log(s);
  }
  // log of the current interval's Π size! over that of the first.
  double log_ratio = 0;
  double log_sum = -HUGE_VAL;
  const auto add_interval = [&](double length) {
    if (length <= 0 || num_inverted > 0) return;
    log_sum = stable::LogAddExp(log_sum, stable::Log(length) - log_ratio);
  };
  double begin = 0;
  for (const int32_t item : by_fraction_) {
    add_interval(fractions_[item] - begin);
    begin = fractions_[item];
    const auto rank = static_cast<size_t>(ranks_[item]);
    num_inverted -= is_inverted(rank) + is_inverted(rank + 1);
    log_ratio -= stable::Log(bucket_sizes_[buckets_[item]]--);
    buckets_[item] = lower_[item];
    log_ratio += stable::Log(++bucket_sizes_[buckets_[item]]);
    num_inverted += is_inverted(rank) + is_inverted(rank + 1);
  }
  add_interval(1 - begin);
  return std::min(log_sum - log_orders, 0.0);
}

}  // namespace sortition
