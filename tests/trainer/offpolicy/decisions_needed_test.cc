// How many decisions the gate asks for.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/counterfactual/evaluation/improvement.h"
#include "gtest/gtest.h"
#include "io/models/look_ledger.h"
#include "trainer/gate.h"

namespace sortition {
namespace {

TEST(DecisionsNeededTest, AreThoseWithWhichTheBoundPasses) {
  // Each of four kinds of decisions comes equally often: ρ r - r is 1, 0.3, 0
  // and -1 for the rewards 1, 1, 0, 1. The mean is 0.075, whatever the size.
  const auto evaluate = [](size_t n) {
    std::vector<double> rewards;
    std::vector<double> log_weights;
    std::vector<uint64_t> units;
    for (size_t i = 0; i < n; ++i) {
      rewards.push_back(i % 4 == 2 ? 0 : 1);
      log_weights.push_back(i % 4 == 0   ? std::log(2)
                            : i % 4 == 1 ? std::log(1.3)
                            : i % 4 == 2 ? std::log(0.7)
                                         : -HUGE_VAL);
      units.push_back(UnitKey("", absl::StrCat(i)));
    }
    const Interval improvement = EstimateImprovement(
        {.rewards = rewards, .log_weights = log_weights, .units = units}, 0.95);
    model::v1::Evaluation evaluation;
    evaluation.set_test_tuples(n);
    evaluation.mutable_improvement()->set_value(improvement.value);
    evaluation.mutable_improvement()->set_lower(improvement.lower);
    evaluation.mutable_improvement()->set_confidence(0.95);
    return evaluation;
  };
  const uint64_t needed = DecisionsNeeded(evaluate(400), 0.95);
  EXPECT_GT(needed, 400);
  EXPECT_LT(evaluate(needed / 6 * 4).improvement().lower(), 0);
  EXPECT_GT(evaluate(needed / 2 * 4).improvement().lower(), 0);
  EXPECT_EQ(DecisionsNeeded(evaluate(needed / 2 * 4), 0.95), 0);
  // The next look has a quarter of the share of the first, so that its distance
  // is √(ln(4 / α) / ln(1 / α)) times as long.
  model::v1::Evaluation looked;
  looked.set_look(1);
  looked.set_test_tuples(1000);
  looked.mutable_improvement()->set_value(0.1);
  looked.mutable_improvement()->set_lower(-0.1);
  looked.mutable_improvement()->set_confidence(1 - 0.05 * ShareOfLook(1));
  const double alpha = 0.025 * ShareOfLook(1);
  EXPECT_NEAR(static_cast<double>(DecisionsNeeded(looked, 0.95)),
              4000 * std::log(4 / alpha) / std::log(1 / alpha), 1);
  // No number of decisions proves what is not there.
  looked.mutable_improvement()->set_value(-0.01);
  EXPECT_EQ(DecisionsNeeded(looked, 0.95), 0);
}

}  // namespace
}  // namespace sortition
