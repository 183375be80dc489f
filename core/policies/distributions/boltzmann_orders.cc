#include "core/policies/distributions/boltzmann_orders.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/base/check.h"
#include "core/base/stable_math.h"

namespace sortition {
namespace {

constexpr size_t kMax = BoltzmannOrders::kMaxItems;

size_t FactorIndex(size_t p, size_t i, size_t k) {
  return (p * kMax + i) * kMax + k;
}

// Returns the next larger number with as many bits set.
uint32_t NextOfSize(uint32_t set) {
  const uint32_t lowest = set & (0 - set);
  const uint32_t carried = set + lowest;
  return carried | (((set ^ carried) >> 2) / lowest);
}

}  // namespace

// To choose the p-th best of R first, instead of following the order of the
// best completion, moves each better item down by one rank. It costs
//   T_p = Σ_{q<p} (a_{r+q} - a_{r+q+1}) (s_(q) - s_(p)),
// and T_{p+1} = T_p + (a_r - a_{r+p+1}) (s_(p) - s_(p+1)): no term is negative.
void BoltzmannOrders::FillFactors(size_t size) {
  const size_t r = n_ - size;
  for (size_t p = 0; p + 1 < size; ++p) {
    const double fall = a_[r] - a_[r + p + 1];
    // The p-th of `size` places can be no other.
    for (size_t i = p; i <= r + p; ++i) {
      for (size_t k = i + 1; k <= r + p + 1; ++k) {
        factors_[FactorIndex(p, i, k)] = stable::Exp(-fall * (s_[i] - s_[k]));
      }
    }
  }
}

void BoltzmannOrders::Build(std::span<const double> rank_weights,
                            std::span<const double> scores) {
  n_ = scores.size();
  CHECK(n_ >= 1 && n_ <= kMaxItems && rank_weights.size() == n_);
  std::copy(rank_weights.begin(), rank_weights.end(), a_.begin());
  std::iota(item_.begin(), item_.begin() + n_, 0);
  std::sort(item_.begin(), item_.begin() + n_, [&](int32_t i, int32_t j) {
    return scores[i] != scores[j] ? scores[i] > scores[j] : i < j;
  });
  for (uint32_t place = 0; place < n_; ++place) {
    s_[place] = scores[item_[place]];
    place_[item_[place]] = place;
  }
  completions_.resize(size_t{1} << n_);
  factors_.resize(kMax * kMax * kMax);
  completions_[0] = 1;
  const uint32_t all = (uint32_t{1} << n_) - 1;
  for (size_t size = 1; size <= n_; ++size) {
    FillFactors(size);
    for (uint32_t remaining = (uint32_t{1} << size) - 1; remaining <= all;
         remaining = NextOfSize(remaining)) {
      double sum = 0;
      double weight = 1;
      size_t p = 0;
      uint32_t last = 0;
      for (uint32_t rest = remaining; rest != 0; rest &= rest - 1) {
        const auto place = static_cast<uint32_t>(std::countr_zero(rest));
        if (p > 0) weight *= factors_[FactorIndex(p - 1, last, place)];
        sum += weight * completions_[remaining ^ (uint32_t{1} << place)];
        last = place;
        ++p;
      }
      completions_[remaining] = sum;
    }
  }
}

BoltzmannOrders::Step BoltzmannOrders::StepFrom(uint32_t remaining) const {
  Step step;
  const size_t r = n_ - static_cast<size_t>(std::popcount(remaining));
  double cost = 0;
  for (uint32_t rest = remaining; rest != 0; rest &= rest - 1) {
    const auto place = static_cast<uint32_t>(std::countr_zero(rest));
    if (step.size > 0) {
      cost += (a_[r] - a_[r + step.size]) *
              (s_[step.place[step.size - 1]] - s_[place]);
    }
    step.place[step.size] = place;
    step.cost[step.size] = cost;
    step.weight[step.size++] =
        stable::Exp(-cost) * completions_[remaining ^ (uint32_t{1} << place)];
  }
  return step;
}

double BoltzmannOrders::LogProbability(uint32_t remaining, const Step& step,
                                       uint32_t i) const {
  const uint32_t next = remaining ^ (uint32_t{1} << step.place[i]);
  // The others are summed apart, so that a p near 1 keeps its digits of 1 - p.
  double others = 0;
  for (uint32_t j = 0; j < step.size; ++j) {
    if (j != i) others += step.weight[j];
  }
  if (step.weight[i] >= others) {
    return -stable::Log1p(others / step.weight[i]);
  }
  return stable::Log(completions_[next]) - step.cost[i] -
         stable::Log(others + step.weight[i]);
}

void BoltzmannOrders::Draw(std::span<const double> numbers,
                           std::vector<int32_t>* order,
                           std::vector<double>* conditionals) const {
  order->clear();
  conditionals->clear();
  uint32_t remaining = (uint32_t{1} << n_) - 1;
  for (const double number : numbers) {
    const Step step = StepFrom(remaining);
    double total = 0;
    for (uint32_t i = 0; i < step.size; ++i) total += step.weight[i];
    double rest = number * total;
    uint32_t drawn = 0;
    while (drawn + 1 < step.size && rest >= step.weight[drawn]) {
      rest -= step.weight[drawn++];
    }
    // Rounding must not draw what is impossible.
    while (step.weight[drawn] == 0) --drawn;
    order->push_back(item_[step.place[drawn]]);
    conditionals->push_back(LogProbability(remaining, step, drawn));
    remaining ^= uint32_t{1} << step.place[drawn];
  }
}

void BoltzmannOrders::ConditionalLogPropensities(
    std::span<const int32_t> order, std::vector<double>* conditionals) const {
  conditionals->clear();
  uint32_t remaining = (uint32_t{1} << n_) - 1;
  for (const int32_t item : order) {
    const Step step = StepFrom(remaining);
    const uint32_t place = place_[item];
    const auto i = static_cast<uint32_t>(
        std::find(step.place.begin(), step.place.begin() + step.size, place) -
        step.place.begin());
    conditionals->push_back(LogProbability(remaining, step, i));
    remaining ^= uint32_t{1} << place;
  }
}

void BoltzmannOrders::ExpectedRankWeights(std::span<const int32_t> first,
                                          std::span<double> expected) {
  std::fill(expected.begin(), expected.end(), 0);
  uint32_t start = (uint32_t{1} << n_) - 1;
  for (size_t r = 0; r < first.size(); ++r) {
    expected[first[r]] = a_[r];
    start ^= uint32_t{1} << place_[first[r]];
  }
  reached_.assign(completions_.size(), 0);
  reached_[start] = 1;
  for (size_t size = n_ - first.size(); size > 0; --size) {
    FillFactors(size);
    const double a = a_[n_ - size];
    for (uint32_t remaining = (uint32_t{1} << size) - 1; remaining <= start;
         remaining = NextOfSize(remaining)) {
      if (reached_[remaining] == 0) continue;
      double share = reached_[remaining] / completions_[remaining];
      size_t p = 0;
      uint32_t last = 0;
      for (uint32_t rest = remaining; rest != 0; rest &= rest - 1) {
        const auto place = static_cast<uint32_t>(std::countr_zero(rest));
        if (p > 0) share *= factors_[FactorIndex(p - 1, last, place)];
        const uint32_t next = remaining ^ (uint32_t{1} << place);
        const double probability = share * completions_[next];
        reached_[next] += probability;
        expected[item_[place]] += a * probability;
        last = place;
        ++p;
      }
    }
  }
}

void BoltzmannOrders::FirstProbabilities(
    std::span<double> probabilities) const {
  const Step step = StepFrom((uint32_t{1} << n_) - 1);
  double total = 0;
  for (uint32_t i = 0; i < step.size; ++i) total += step.weight[i];
  for (uint32_t i = 0; i < step.size; ++i) {
    probabilities[item_[step.place[i]]] = step.weight[i] / total;
  }
}

double BoltzmannOrders::LogPartition() const {
  double best = 0;
  for (size_t r = 0; r < n_; ++r) best += a_[r] * s_[r];
  return best + stable::Log(completions_.back());
}

}  // namespace sortition
