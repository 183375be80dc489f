// What prefixes are for: more is learned from the same few sessions.
#include <cmath>
#include <vector>

#include "core/learners/counterfactual/poem.h"
#include "core/learners/rankings/prefix_terms.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/cascade_world.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

Eigen::VectorXd Trained(const CascadeWorld& world, PrefixWeights kind) {
  PrefixTerms terms =
      *PrefixTerms::Create(world.Log(), kind, {ClippedTerm(10)});
  PoemRun run;
  run.crm.lambda = 0.5;
  run.crm.l2 = 1e-3;
  return TrainPoemOnTerms(&terms, run)->parameters;
}

// The same sessions, optimiser, clip and penalties. Over 12 worlds the mean
// difference of true values is more than 2.2 of its standard errors (Student's
// 97.5 % point for 11 degrees of freedom) above 0, and prefixes are better than
// what logged.
TEST(CascadeLearningTest, PrefixesLearnMoreFromFewSessions) {
  constexpr int kWorlds = 12;
  constexpr int kSessions = 150;
  double sum = 0, squares = 0, whole_sum = 0, prefix_sum = 0, start_sum = 0;
  double best_sum = 0;
  for (uint64_t seed = 1; seed <= kWorlds; ++seed) {
    CascadeWorld world(seed);
    for (int i = 0; i < kSessions; ++i) world.AddSession();
    const double whole =
        world.TrueValue(Trained(world, PrefixWeights::kWholeOrder));
    const double prefix =
        world.TrueValue(Trained(world, PrefixWeights::kPrefixes));
    sum += prefix - whole;
    squares += (prefix - whole) * (prefix - whole);
    whole_sum += whole;
    prefix_sum += prefix;
    start_sum += world.TrueValue(Eigen::VectorXd::Zero(4));
    best_sum += world.TrueValue(10 * world.taste());
  }
  const double mean = sum / kWorlds;
  const double error =
      std::sqrt((squares / kWorlds - mean * mean) / (kWorlds - 1));
  RecordProperty("uniform", std::to_string(start_sum / kWorlds));
  RecordProperty("whole_order", std::to_string(whole_sum / kWorlds));
  RecordProperty("prefixes", std::to_string(prefix_sum / kWorlds));
  RecordProperty("best", std::to_string(best_sum / kWorlds));
  EXPECT_GT(mean, 2.2 * error)
      << "uniform " << start_sum / kWorlds << ", whole order "
      << whole_sum / kWorlds << ", prefixes " << prefix_sum / kWorlds
      << ", best " << best_sum / kWorlds << ", difference " << mean << " +- "
      << error;
  EXPECT_GT(prefix_sum, start_sum);
}

}  // namespace
}  // namespace sortition
