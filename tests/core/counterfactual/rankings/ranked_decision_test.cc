#include "core/counterfactual/rankings/ranked_decision.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/counterfactual/rankings/toy_orders.h"
#include "tests/core/invalid.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_rankings;  // NOLINT
using ::testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Decision Good() {
  const World world({0.3, -0.2, 0.1}, {-0.5, 0.9, 0.2}, 3, 2);
  return world.Make({2, 0, 1}, Users::kIndependent);
}

absl::Status Check(const Decision& decision) {
  absl::Status status = CheckRankedDecision(decision.View(), true);
  if (!status.ok()) return status;
  return CheckJudgedRanking(decision.View(), decision.Judged(), kAllInputs);
}

void ExpectRefused(const Decision& decision, const char* message) {
  EXPECT_THAT(Check(decision), IsInvalid(HasSubstr(message)));
}

TEST(RankedDecisionTest, AcceptsWhatIsRight) {
  EXPECT_OK(Check(Good()));
  Decision impossible = Good();
  impossible.target_conditionals = {-kInfinity, -kInfinity, -kInfinity};
  impossible.target_marginals = {-kInfinity, -1};
  EXPECT_OK(Check(impossible));
}

TEST(RankedDecisionTest, RefusesRewardsOutOfRange) {
  for (const double reward : {-0.1, 1.5, kNan, kInfinity}) {
    Decision decision = Good();
    decision.rewards[1] = reward;
    ExpectRefused(decision, "must be in [0, 1]");
    ExpectRefused(decision, "rewards[1] is ");
    decision = Good();
    decision.whole_reward = reward;
    ExpectRefused(decision, "whole_reward is ");
  }
}

TEST(RankedDecisionTest, RefusesWrongProbabilities) {
  Decision decision = Good();
  decision.log_conditionals[2] = kNan;
  ExpectRefused(decision, "log_conditionals[2] is nan, must be at most 0");
  decision.log_conditionals[2] = 0.1;
  ExpectRefused(decision, "log_conditionals[2] is 0.1, must be at most 0");
  // The log did choose it.
  decision.log_conditionals[2] = -kInfinity;
  ExpectRefused(decision, "log_conditionals[2] is -inf, must be finite");
  decision = Good();
  decision.target_conditionals[0] = kNan;
  ExpectRefused(decision, "log_conditionals of a policy[0] is nan");
  decision = Good();
  decision.log_marginals[1] = -kInfinity;
  ExpectRefused(decision, "log_marginals[1] is -inf, must be finite");
  decision = Good();
  decision.target_marginals[1] = 1;
  ExpectRefused(decision, "log_marginals of a policy[1] is 1");
}

TEST(RankedDecisionTest, RefusesWhatIsMissing) {
  Decision decision = Good();
  decision.log_marginals.clear();
  ExpectRefused(decision, "log_marginals has 0 numbers, must have 2");
  EXPECT_OK(CheckRankedDecision(decision.View(), false));
  decision = Good();
  decision.target_marginals.pop_back();
  ExpectRefused(decision,
                "log_marginals of a policy has 1 numbers, must have 2");
  decision = Good();
  decision.target_conditionals.pop_back();
  ExpectRefused(decision,
                "log_conditionals of a policy has 2 numbers, must have 3");
  decision = Good();
  decision.rewards.resize(4);
  ExpectRefused(decision, "rewards has 4 numbers, must have at most");
  decision = Good();
  decision.prefix_policy.clear();
  ExpectRefused(decision, "prefix_policy has 0 numbers, must have 2");
  decision = Good();
  decision.position_logged[0] = kNan;
  ExpectRefused(decision, "position_logged[0] is nan, must be finite");
  decision = Good();
  decision.pseudo_inverse_weight = kNan;
  ExpectRefused(decision, "pseudo_inverse_weight");
}

TEST(RankedDecisionTest, RefusesWrongValues) {
  EXPECT_OK(CheckRankingValue({{1, 0}, 0}));
  EXPECT_OK(CheckRankingValue({{}, 1}));
  EXPECT_EQ((RankingValue{{1, 0.5}, 2}).Largest(), 3.5);
  EXPECT_THAT(
      CheckRankingValue({{1, -1}, 0}),
      IsInvalid("rank_weights[1] is -1, must be finite and at least 0"));
  EXPECT_THAT(CheckRankingValue({{1}, kNan}),
              IsInvalid("whole_weight is nan, must be finite and at least 0"));
  EXPECT_THAT(CheckRankingValue({{0, 0}, 0}),
              IsInvalid(HasSubstr("one must be above 0")));
  EXPECT_THAT(CheckRankingValue({std::vector<double>(101, 1), 0}),
              IsInvalid(HasSubstr("has 101 numbers, must have at most 100")));
}

}  // namespace
}  // namespace sortition
