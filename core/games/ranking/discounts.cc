#include "core/games/ranking/discounts.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/stable_math.h"

namespace sortition {

Discounts::Discounts(std::vector<double> by_rank)
    : by_rank_(std::move(by_rank)) {
  while (!by_rank_.empty() && by_rank_.back() == 0) by_rank_.pop_back();
}

absl::StatusOr<Discounts> Discounts::Create(std::vector<double> by_rank) {
  for (size_t r = 0; r < by_rank.size(); ++r) {
    const double most = r == 0 ? HUGE_VAL : by_rank[r - 1];
    if (!(by_rank[r] >= 0 && by_rank[r] <= most && by_rank[r] < HUGE_VAL)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "discounts[", r, "] is ", by_rank[r],
          r == 0 ? ", must be finite and at least 0"
                 : absl::StrCat(", must be from 0 to the one before, ", most)));
    }
  }
  return Discounts(std::move(by_rank));
}

Discounts Discounts::Dcg(size_t num_ranks) {
  std::vector<double> by_rank(num_ranks);
  for (size_t r = 0; r < num_ranks; ++r) {
    by_rank[r] = stable::Log(2) / stable::Log(static_cast<double>(r + 2));
  }
  return Discounts(std::move(by_rank));
}

Discounts Discounts::Letor(size_t num_ranks) {
  std::vector<double> by_rank(num_ranks, 1);
  for (size_t r = 1; r < num_ranks; ++r) {
    by_rank[r] = stable::Log(2) / stable::Log(static_cast<double>(r + 1));
  }
  return Discounts(std::move(by_rank));
}

absl::StatusOr<Discounts> Discounts::PrecisionAt(size_t k) {
  if (k == 0) {
    return absl::InvalidArgumentError("k is 0, must be at least 1");
  }
  return Discounts(std::vector<double>(k, 1 / static_cast<double>(k)));
}

absl::StatusOr<Discounts> Discounts::ScaledBy(double factor) const {
  if (!(factor > 0 && factor < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("factor is ", factor, ", must be finite and above 0"));
  }
  std::vector<double> scaled = by_rank_;
  for (double& discount : scaled) discount *= factor;
  return Create(std::move(scaled));
}

absl::StatusOr<Discounts> Discounts::MixedWithUniform(double epsilon,
                                                      size_t num_items) const {
  if (!(epsilon >= 0 && epsilon < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("epsilon is ", epsilon, ", must be from 0 and below 1"));
  }
  if (num_items == 0) {
    return absl::InvalidArgumentError("num_items is 0, must be at least 1");
  }
  const double uniform = epsilon * Mean(num_items);
  std::vector<double> mixed(num_items);
  for (size_t r = 0; r < num_items; ++r) {
    mixed[r] = (1 - epsilon) * (*this)[r] + uniform;
  }
  return Discounts(std::move(mixed));
}

void Discounts::TakeOutUniform(double epsilon, std::span<double> values) const {
  const double uniform = epsilon * Mean(values.size());
  for (double& value : values) value = (value - uniform) / (1 - epsilon);
}

double Discounts::Mean(size_t num_items) const {
  if (num_items == 0) return 0;
  const size_t ranks = std::min(num_items, by_rank_.size());
  return std::accumulate(by_rank_.begin(), by_rank_.begin() + ranks, 0.0) /
         static_cast<double>(num_items);
}

}  // namespace sortition
