#pragma once
// Policies that log, and the queries that they decided.
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

inline constexpr size_t kDecisions = 3000;
inline constexpr uint32_t kCandidates = 6;
inline constexpr uint32_t kColumns = 3;

// Version 0, without a policy, is uniform.
struct Logger {
  uint64_t version = 1;
  log::v1::ActionKind kind = log::v1::SELECT;
  uint32_t top_k = 0;
  model::v1::Policy policy = {};
  std::vector<double> weights = {0.8, -0.5, 0.02};
  std::string draw_salt = {};

  LinearPolicy Make() const {
    if (version == 0) {
      return LinearPolicy::Uniform(kind == log::v1::SELECT ? ActionKind::kSelect
                                   : kind == log::v1::RANK
                                       ? ActionKind::kRank
                                       : ActionKind::kSubset,
                                   false);
    }
    auto made = LinearPolicy::Create(policy, weights);
    EXPECT_OK(made);
    return *std::move(made);
  }
};

inline Logger Softmax(double inverse_temperature, double mixture) {
  Logger logger;
  logger.policy.mutable_softmax_selection()->set_abstain_score(0.3);
  logger.policy.set_inverse_temperature(inverse_temperature);
  logger.policy.set_uniform_mixture(mixture);
  return logger;
}

}  // namespace sortition
