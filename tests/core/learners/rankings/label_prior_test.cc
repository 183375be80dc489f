#include "core/learners/rankings/label_prior.h"

#include <vector>

#include "core/learners/rankings/prefix_terms.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/cascade_world.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

// Distance from what labels taught, at which training on n sessions ends.
double DistanceFromLabels(size_t num_sessions, double decisions) {
  CascadeWorld world(3);
  for (size_t i = 0; i < num_sessions; ++i) world.AddSession();
  PrefixTerms terms = *PrefixTerms::Create(
      world.Log(), PrefixWeights::kPrefixes, {ClippedTerm(10)});
  const Eigen::VectorXd labels = Eigen::Vector4d(1, -1, 0.5, 0);
  PoemRun run;
  run.adagrad.set_step_size(0.05);
  run.adagrad.set_max_epochs(300);
  run.adagrad.set_patience(300);
  PullToLabels({.parameters = labels, .decisions = decisions}, terms, &run);
  EXPECT_EQ(run.crm.l2, decisions / static_cast<double>(num_sessions));
  return (TrainPoemOnTerms(&terms, run)->parameters - labels).norm();
}

TEST(LabelPriorTest, LabelsDecideWithFewSessionsAndClicksWithMany) {
  const double few = DistanceFromLabels(20, 50);
  const double many = DistanceFromLabels(2000, 50);
  EXPECT_LT(few, 0.2);
  EXPECT_GT(many, 3 * few);
  // What labels are worth is what the sessions have to outweigh.
  EXPECT_LT(DistanceFromLabels(2000, 5000), many / 3);
}

}  // namespace
}  // namespace sortition
