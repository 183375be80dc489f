#pragma once
// Whether the logged propensities can be those that the actions were drawn
// with.
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "client/validation/bounded_map.h"
#include "client/validation/log_check.h"
#include "core/counterfactual/moments.h"

namespace sortition {

// Of weights w >= 0 with E[w] = 1, or at most 1.
class WeightGroup {
 public:
  void Add(double log_weight);
  // `has_full_support` says that E[w] is 1 and not less.
  Finding Report(const std::string& name, bool has_full_support) const;

 private:
  double UpperBound() const;

  Moments weights_;
  Moments capped_;
  double largest_ = 0;
  // The logarithms of the largest weights, the least on top.
  std::priority_queue<double, std::vector<double>, std::greater<>> tail_;
};

// The mean of u(y|x) / p(y|x) over the decisions of a version, where u is
// uniform and p the logged propensity: it is 1 if p is right, and less if some
// actions cannot be drawn. The weight of an order is the mean over its ranks of
// the same for that rank given those above, which also has mean 1, and far
// smaller tails. Where traffic is split, the same of the mixture's propensity,
// over the decisions of all arms.
class MeanWeightCheck : public LogCheck {
 public:
  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  // Model, version, kind of action, whether all actions could be drawn, and
  // whether the weights are by the mixture of a split, whose primary version it
  // then is.
  using Key = std::tuple<std::string, uint64_t, int, bool, bool>;

  void Add(const Key& key, std::optional<double> log_weight);

  BoundedMap<Key, WeightGroup> groups_;
};

}  // namespace sortition
