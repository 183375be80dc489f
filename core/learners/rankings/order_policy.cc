#include "core/learners/rankings/order_policy.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<OrderPolicy> OrderPolicy::Create(const RankedLog& log) {
  RETURN_IF_ERROR(ValidateRankedLog(log));
  return OrderPolicy(log);
}

void OrderPolicy::LogPrefixes(const Eigen::VectorXd& parameters,
                              std::span<const uint32_t> tuples,
                              std::span<const uint32_t> depths,
                              std::span<double> log_prefixes) {
  DCHECK(parameters.size() == dimension() && depths.size() == tuples.size());
  rows_.Assign(parameters, tuples);
  depths_.assign(depths.begin(), depths.end());
  size_t entry = 0;
  for (size_t k = 0; k < tuples.size(); ++k) {
    law_.Evaluate(rows_.scores(k), log_.shown(tuples[k]).first(depths[k]));
    for (size_t r = 1; r <= depths[k]; ++r) {
      log_prefixes[entry++] = law_.log_prefix(r);
    }
  }
  DCHECK(entry == log_prefixes.size());
}

void OrderPolicy::AddGradient(std::span<const double> factors,
                              Eigen::VectorXd* gradient) {
  size_t begin = 0;
  for (size_t k = 0; k < rows_.size(); ++k) {
    const std::span<const double> own = factors.subspan(begin, depths_[k]);
    begin += depths_[k];
    if (std::all_of(own.begin(), own.end(),
                    [](double factor) { return factor == 0; })) {
      continue;
    }
    const std::span<const double> scores = rows_.scores(k);
    law_.Evaluate(scores, log_.shown(rows_.tuple(k)).first(depths_[k]));
    prefix_factors_.assign(1, 0);
    prefix_factors_.insert(prefix_factors_.end(), own.begin(), own.end());
    score_gradient_.assign(scores.size(), 0);
    law_.AddGradient(prefix_factors_, {}, score_gradient_);
    rows_.AddRows(k, score_gradient_, gradient);
  }
}

void OrderPolicy::LogConditionals(const Eigen::VectorXd& parameters, size_t i,
                                  std::span<double> log_conditionals) {
  const auto tuple = static_cast<uint32_t>(i);
  const auto depth = static_cast<uint32_t>(log_conditionals.size());
  LogPrefixes(parameters, {&tuple, 1}, {&depth, 1}, log_conditionals);
  for (size_t r = depth; r-- > 1;) {
    log_conditionals[r] -= log_conditionals[r - 1];
  }
}

}  // namespace sortition
