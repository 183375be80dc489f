// Logs of games: most actions have probability 0, and the log has no
// information about a learned policy that takes them.
#include <algorithm>
#include <cmath>

#include "core/counterfactual/estimators.h"
#include "core/policies/distribution_factory.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/offpolicy/subset_tuples.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using model::v1::Finding;
using model::v1::GameRanking;
using model::v1::GameSubset;
using testing::HasSubstr;

// Returns a game of pairs by precision or of subsets by F1; the larger α, the
// sharper it is.
model::v1::Policy Game(GameSubset::Measure measure, double epsilon,
                       double alpha = 1) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(alpha);
  policy.set_uniform_mixture(epsilon);
  auto* game = policy.mutable_game_subset();
  game->set_measure(measure);
  if (measure == GameSubset::PRECISION) game->set_k(2);
  return policy;
}

SubsetLog GameLog(const model::v1::Policy& policy) {
  return {.size = policy.game_subset().k(), .policy = policy};
}

class SupportTest : public testing::Test {
 protected:
  config::v1::TrainReport TrainOn(
      const std::vector<log::v1::BanditTuple>& tuples,
      const model::v1::Model& logging, double uniform_mixture = 0.02) {
    WriteSegment(dir_.Sub("tuples"), 0, tuples);
    EXPECT_OK(store_.Publish(logging, nullptr, {}));
    config::v1::TrainOptions options;
    options.set_tuples(dir_.Sub("tuples"));
    options.set_model_store(dir_.Sub("models"));
    options.set_force(true);
    options.set_uniform_mixture(uniform_mixture);
    options.mutable_poem()->add_lambda(0.5);
    options.mutable_poem()->add_l2(1e-4);
    const auto report = Train(options);
    EXPECT_OK(report);
    return report.value_or(config::v1::TrainReport());
  }

  // Returns the finding on the test part; null: there is none.
  static const Finding* FindingOf(const config::v1::TrainReport& report) {
    for (const Finding& finding : report.evaluation().findings()) {
      if (finding.kind() == "no_full_support" && finding.part() == "test") {
        return &finding;
      }
    }
    return nullptr;
  }

  // Both ends of clipped IPS and the lower end of the improvement hold without
  // support: actions that were never logged count as the worst or the best
  // reward.
  void ExpectIntervalsHold(const SubsetLog& log,
                           const config::v1::TrainReport& report) {
    ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
    const double before = TrueReward(log, SubsetLoggingModel(log), 4000);
    const double after = TrueReward(log, stored.model, 4000);
    const auto& evaluation = report.evaluation();
    EXPECT_LT(evaluation.ips_reward().lower(), after);
    EXPECT_GT(evaluation.ips_reward().upper(), after);
    EXPECT_LT(evaluation.improvement().lower(), after - before);
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
};

// Training prefers logged actions, since all others count as the worst. A
// policy that must draw pairs uniformly in 6 of 10 queries cannot do so.
TEST_F(SupportTest, GamesOfPairsWithoutMixtureAreFound) {
  const SubsetLog log = GameLog(Game(GameSubset::PRECISION, 0, 4));
  const auto report =
      TrainOn(MakeSubsetTuples(log, 4000), SubsetLoggingModel(log), 0.6);
  const auto& evaluation = report.evaluation();
  EXPECT_EQ(report.without_full_support().at("version 1, game_subset"), 4000);
  EXPECT_EQ(evaluation.test_overlap().without_full_support_fraction(), 1);
  EXPECT_LT(evaluation.test_overlap().mean_weight(), 0.8);
  const Finding* const finding = FindingOf(report);
  ASSERT_NE(finding, nullptr) << FormatReport(report);
  EXPECT_EQ(finding->gravity(), Finding::UNSUPPORTED);
  EXPECT_THAT(evaluation.verdict(), HasSubstr("The log cannot support"));
  EXPECT_THAT(FormatReport(report),
              HasSubstr("4000 of version 1, game_subset without "
                        "uniform_mixture, which gave some actions"));
  ExpectIntervalsHold(log, report);
}

TEST_F(SupportTest, GamesOfAnySizeWithoutMixtureAreFound) {
  const SubsetLog log = GameLog(Game(GameSubset::F_BETA, 0));
  const auto report =
      TrainOn(MakeSubsetTuples(log, 4000), SubsetLoggingModel(log));
  ASSERT_NE(FindingOf(report), nullptr) << FormatReport(report);
  ExpectIntervalsHold(log, report);
  ASSERT_OK_AND_ASSIGN(const StoredModel stored, store_.Load("default", 2));
  EXPECT_EQ(stored.model.policy().independent_subset().k(), 0);
}

// With a mixture every subset is possible and there is no finding. A better
// policy is learned from the logs of a game whose scores are half wrong.
TEST_F(SupportTest, GamesWithAMixtureTeach) {
  const SubsetLog log = GameLog(Game(GameSubset::PRECISION, 0.6));
  const auto report =
      TrainOn(MakeSubsetTuples(log, 8000), SubsetLoggingModel(log));
  EXPECT_EQ(FindingOf(report), nullptr);
  EXPECT_TRUE(report.without_full_support().empty());
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  const auto& overlap = report.evaluation().test_overlap();
  EXPECT_NEAR(overlap.mean_weight(), 1, 4 * overlap.mean_weight_error());
  ExpectIntervalsHold(log, report);
}

// A ranking game, whether or not its ranks form one block, draws some orders
// only; Plackett-Luce draws all of them.
TEST_F(SupportTest, RankingGamesWithoutMixtureAreFound) {
  SyntheticLog log;
  log.action_kind = ActionKind::kRank;
  model::v1::Model logging = LoggingModel(log);
  logging.mutable_policy()->set_uniform_mixture(0);
  logging.mutable_policy()->set_inverse_temperature(4);
  logging.mutable_policy()->mutable_game_ranking()->set_discount(
      GameRanking::DCG);
  const LinearPolicy policy = *LinearPolicy::Create(
      logging.policy(), {logging.weights().begin(), logging.weights().end()});
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log, 2000);
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    *decision->mutable_policy() = logging.policy();
    PolicyQuery query;
    query.candidates = Candidates::DenseUnchecked(
        {decision->dense_values().data(),
         static_cast<size_t>(decision->dense_values_size())},
        log.num_features);
    query.top_k = log.top_k;
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(query, DecisionKey("default", 1, decision->decision_id()),
                  &workspace, &draw);
    *decision->mutable_action() = {draw.action.begin(), draw.action.end()};
    decision->set_log_propensity(draw.log_propensity);
  }
  const auto report = TrainOn(tuples, logging);
  EXPECT_EQ(report.without_full_support().at("version 1, game_ranking"), 2000);
  ASSERT_NE(FindingOf(report), nullptr);
  EXPECT_EQ(FindingOf(report)->gravity(), Finding::UNSUPPORTED);
}

// For any support, the gate's bound fails for at most 2.5 % of the logs. For a
// policy that mostly takes actions that the game never took, it is not above
// the truth for any of 200 logs of a sharp game. (At 2.5 %, 12 or more failures
// would occur once in 300 times; clipping and Bernstein's bound are far from
// 2.5 %.)
TEST(SupportBoundTest, LowerEndHoldsWithoutSupport) {
  const SubsetLog log = GameLog(Game(GameSubset::PRECISION, 0, 3));
  model::v1::Model target = SubsetLoggingModel({.size = 2});
  target.mutable_policy()->set_inverse_temperature(4);
  const double truth = TrueReward(log, target, 20000);
  const double improvement =
      truth - TrueReward(log, SubsetLoggingModel(log), 20000);
  const LinearPolicy policy = *LinearPolicy::Create(
      target.policy(), {target.weights().begin(), target.weights().end()});
  PolicyWorkspace workspace;
  int above = 0;
  double mean_weight = 0;
  for (int repetition = 0; repetition < 200; ++repetition) {
    OffPolicyEstimator estimator(10);
    for (int i = 0; i < 300; ++i) {
      const std::string id = absl::StrCat("r", repetition, "-", i);
      const log::v1::BanditTuple tuple = MakeSubsetTuple(log, id);
      const Action action(tuple.decision().action().begin(),
                          tuple.decision().action().end());
      const double log_weight =
          policy.LogPropensity(SubsetQuery(id).Query(log), action, &workspace) -
          tuple.decision().log_propensity();
      estimator.Add(tuple.reward(), log_weight);
      mean_weight += std::exp(log_weight) / (200 * 300);
    }
    const OffPolicyEstimates estimates = estimator.Estimate(0.95);
    above += estimates.ips.lower > truth ? 1 : 0;
    above += estimates.ips.upper < truth ? 1 : 0;
    above += estimates.improvement.lower > improvement ? 1 : 0;
  }
  EXPECT_LT(mean_weight, 0.8);
  EXPECT_EQ(above, 0);
}

// With a mixture, or Plackett-Luce, every action is possible.
TEST(HasFullSupportTest, OfEveryKindOfPolicy) {
  model::v1::Policy policy;
  EXPECT_TRUE(HasFullSupport(policy, 20));
  policy.mutable_plackett_luce();
  EXPECT_TRUE(HasFullSupport(policy, 20));
  policy.mutable_independent_subset()->set_k(3);
  EXPECT_TRUE(HasFullSupport(policy, 20));
  policy.mutable_game_subset();
  EXPECT_FALSE(HasFullSupport(policy, 20));
  policy.set_uniform_mixture(0.01);
  EXPECT_TRUE(HasFullSupport(policy, 20));
  policy.mutable_game_ranking();
  EXPECT_TRUE(HasFullSupport(policy, 20));
  policy.set_uniform_mixture(0);
  EXPECT_FALSE(HasFullSupport(policy, 20));
  policy.mutable_game_ranking()->set_plackett_luce_mixture(0.01);
  EXPECT_TRUE(HasFullSupport(policy, 20));
  // With more candidates than the head, 12, some are never ranked first.
  policy.mutable_boltzmann_ranking();
  EXPECT_TRUE(HasFullSupport(policy, 12));
  EXPECT_FALSE(HasFullSupport(policy, 13));
  policy.mutable_boltzmann_ranking()->set_head(3);
  EXPECT_FALSE(HasFullSupport(policy, 4));
  policy.mutable_boltzmann_ranking()->set_plackett_luce_mixture(0.01);
  EXPECT_TRUE(HasFullSupport(policy, 4));
  policy.mutable_boltzmann_ranking()->clear_plackett_luce_mixture();
  policy.set_uniform_mixture(0.01);
  EXPECT_TRUE(HasFullSupport(policy, 4));
  // Swaps reach neighbours only, and those of far scores are impossible.
  policy.mutable_sorted_ranking()->set_swap_probability(0.5);
  EXPECT_TRUE(HasFullSupport(policy, 4));
  policy.set_uniform_mixture(0);
  EXPECT_FALSE(HasFullSupport(policy, 2));
  policy.mutable_sorted_ranking()->set_shuffle_probability(0.1);
  policy.mutable_sorted_ranking()->set_shuffle_ranks(3);
  EXPECT_TRUE(HasFullSupport(policy, 3));
  EXPECT_FALSE(HasFullSupport(policy, 4));
  policy.mutable_plackett_luce()->add_rank_factors(2);
  EXPECT_TRUE(HasFullSupport(policy, 20));
}

}  // namespace
}  // namespace sortition
