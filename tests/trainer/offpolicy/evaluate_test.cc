#include "trainer/offpolicy/evaluate.h"

#include <fstream>

#include "core/base/hash.h"
#include "core/counterfactual/estimators.h"
#include "core/learners/counterfactual/linear_weights.h"
#include "core/policies/distribution_factory.h"
#include "tests/trainer/offpolicy/subset_tuples.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/offpolicy/guardrails.h"
#include "trainer/offpolicy/overlap_report.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using model::v1::Finding;
using model::v1::GameRanking;
using model::v1::GameSubset;

// Returns a log with two candidates whose feature is 1 and 0, chosen by a fair
// coin. The first one earns 1 with probability 0.8, the second with 0.2.
std::vector<BanditTuple> CoinLog(int n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<BanditTuple> tuples(n);
  for (BanditTuple& tuple : tuples) {
    tuple.values = {1, 0};
    tuple.num_features = 1;
    const bool first = random.Uniform() < 0.5;
    tuple.action = {first ? 0 : 1};
    tuple.log_propensity = std::log(0.5);
    tuple.loss = random.Uniform() < (first ? 0.8 : 0.2) ? -1 : 0;
  }
  return tuples;
}

class EvaluateTest : public testing::Test {
 protected:
  const LinearFamily family_{.num_features = 1};

  WeightedTuples Weighed(const std::vector<BanditTuple>& tuples) const {
    return *WeighLinear(family_, parameters_, tuples);
  }
  WeightedParts HeldOut() const {
    return {.train = {},
            .validation = Weighed(validation_),
            .test = Weighed(test_)};
  }
  WeightedParts MapHeldOut() const {
    return {.train = {},
            .validation = *WeighMap(family_, parameters_, validation_),
            .test = *WeighMap(family_, parameters_, test_)};
  }

  const std::vector<BanditTuple> train_ = CoinLog(2000, 1);
  const std::vector<BanditTuple> validation_ = CoinLog(2000, 2);
  std::vector<BanditTuple> test_ = CoinLog(2000, 3);
  // h(first) = 3/4: weights 1.5 and 0.5, reward 0.75 · 0.8 + 0.25 · 0.2 = 0.65.
  Eigen::VectorXd parameters_ = Eigen::VectorXd::Constant(1, std::log(3));
};

TEST_F(EvaluateTest, AHealthyLogHasNoFindings) {
  WeightedParts parts = HeldOut();
  parts.train = Weighed(train_);
  const auto evaluation =
      Evaluate({.parts = parts, .train_clip = 10, .num_policies = 3});
  EXPECT_EQ(evaluation.findings_size(), 0);
  const auto& overlap = evaluation.test_overlap();
  EXPECT_EQ(overlap.tuples(), 2000);
  // The standard deviation of the mean is 0.5/√2000 = 0.011.
  EXPECT_NEAR(overlap.mean_weight(), 1, 0.05);
  EXPECT_NEAR(overlap.mean_weight_error(), 0.0112, 1e-3);
  EXPECT_NEAR(overlap.largest_weight(), 1.5, 1e-12);
  // q = p: every weight of the uniform policy is 1.
  EXPECT_NEAR(overlap.uniform_mean_weight(), 1, 1e-12);
  EXPECT_NEAR(overlap.smallest_propensity(), 0.5, 1e-12);
  EXPECT_EQ(evaluation.train_overlap().clip(), 10);
  EXPECT_EQ(WithReservation("Well.", evaluation), "Well.");
  EXPECT_FALSE(ContradictsItself(evaluation));
  std::string text;
  AppendFindings(evaluation, &text);
  EXPECT_EQ(text, "");
}

TEST_F(EvaluateTest, BoundsAreBelowTheTruthAndNotVacuousOnSuchALog) {
  WeightedParts parts = HeldOut();
  const std::vector<BanditTuple> long_train = CoinLog(40000, 1);
  parts.train = Weighed(long_train);
  parts.validation = Weighed(CoinLog(20000, 2));
  parts.ball = LinearBall(family_, parameters_, long_train);
  // Rewards of -2 and 3: truth 5 · 0.65 - 2 = 1.25.
  const auto evaluation = Evaluate(
      {.parts = parts, .reward_min = -2, .reward_max = 3, .num_policies = 9});
  ASSERT_EQ(evaluation.bounds_size(), 3);
  for (const auto& bound : evaluation.bounds()) {
    EXPECT_LT(bound.lower(), 1.25) << bound.method();
    EXPECT_GT(bound.lower(), -2) << bound.method();
    EXPECT_FALSE(bound.vacuous());
    EXPECT_NEAR(bound.confidence(), 0.975, 1e-12);
  }
  EXPECT_EQ(evaluation.bounds(0).method(), "log_smoothing");
  EXPECT_EQ(evaluation.bounds(0).part(), "test");
  EXPECT_GT(evaluation.bounds(0).lambda(), 0);
  EXPECT_EQ(evaluation.bounds(1).part(), "validation");
  EXPECT_NEAR(evaluation.bounds(1).log_capacity(), std::log(9), 1e-12);
  // D = 1, k = 1, X = 1, ‖w‖ = 1.1 in the ball of radius 2, n = 40000.
  EXPECT_EQ(evaluation.bounds(2).part(), "train");
  EXPECT_NEAR(evaluation.bounds(2).log_capacity(), std::log(320001), 1e-9);
  std::string text;
  AppendBounds(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("Theorem 3, validation part, any of 9 policies"));
  EXPECT_THAT(text, Not(HasSubstr("says nothing")));
}

TEST_F(EvaluateTest, FewTuplesMakeVacuousBoundsThatSaySo) {
  WeightedParts parts = HeldOut();
  parts.validation = Weighed(CoinLog(100, 2));
  const auto evaluation = Evaluate({.parts = parts, .num_policies = 9});
  ASSERT_EQ(evaluation.bounds_size(), 2);
  EXPECT_EQ(evaluation.bounds(1).lower(), 0);
  EXPECT_TRUE(evaluation.bounds(1).vacuous());
  std::string text;
  AppendBounds(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("says nothing"));
}

TEST_F(EvaluateTest, MapTakesTheFirstAlways) {
  const auto evaluation = Evaluate({.parts = MapHeldOut()});
  // Weights 2 and 0; reward 0.8, deviation of the mean below 0.025.
  EXPECT_NEAR(evaluation.snips_reward().value(), 0.8, 0.08);
  EXPECT_EQ(evaluation.test_overlap().largest_weight(), 2);
  EXPECT_EQ(evaluation.test_overlap().median_weight() *
                (2 - evaluation.test_overlap().median_weight()),
            0);
  // If the actions were not shown, the weights are 0 for any policy.
  for (BanditTuple& tuple : test_) tuple.action_shown = false;
  const auto hidden = Evaluate({.parts = MapHeldOut()});
  EXPECT_EQ(hidden.test_overlap().largest_weight(), 0);
  EXPECT_EQ(hidden.findings(0).kind(), "shown_otherwise");
}

TEST_F(EvaluateTest, WrongPropensitiesAreAContradiction) {
  // A fair coin was logged with probability 1/4: q/p = 2.
  for (BanditTuple& tuple : test_) tuple.log_propensity = std::log(0.25);
  const auto evaluation = Evaluate({.parts = HeldOut()});
  EXPECT_TRUE(ContradictsItself(evaluation));
  EXPECT_THAT(WithReservation("Not published.", evaluation),
              testing::StartsWith("Not published. Note: The logged "
                                  "propensities cannot be right: "));
  std::string text;
  AppendFindings(evaluation, &text);
  EXPECT_THAT(text, HasSubstr("test part: The logged propensities cannot"));
}

TEST_F(EvaluateTest, WhatIsWrongWithTrainingOnlyIsNoReservation) {
  WeightedParts parts = HeldOut();
  parts.train = Weighed(CoinLog(50, 4));
  const auto evaluation = Evaluate({.parts = parts, .train_clip = 10});
  ASSERT_EQ(evaluation.findings_size(), 1);
  EXPECT_EQ(evaluation.findings(0).part(), "train");
  EXPECT_EQ(evaluation.findings(0).gravity(), model::v1::Finding::UNSUPPORTED);
  EXPECT_EQ(WithReservation("Well.", evaluation), "Well.");
}

// Two sets of features may leave out as many decisions, and others.
TEST_F(EvaluateTest, ComparisonsArePairedByUnitsAndPropensities) {
  const WeightedTuples tuples = HeldOut().test;
  EXPECT_TRUE(AreOfSameDecisions(tuples, tuples));
  WeightedTuples other = tuples;
  other.units[3] ^= 1;
  EXPECT_FALSE(AreOfSameDecisions(tuples, other));
  other = tuples;
  other.log_propensities[3] -= 0.5;
  EXPECT_FALSE(AreOfSameDecisions(tuples, other));
}

// Further rewards that a new version must not lower.

class GuardrailsTest : public TrainFixture {
 protected:
  static constexpr size_t kTuples = 6000;  // One an hour, from 1970 on.
  static constexpr int64_t kHourUs = int64_t{3'600'000'000};

  // Complaints, as -1, come by chance with this probability, or by the third
  // feature of what was chosen, which the logging policy does not care for and
  // a better one seeks.
  void PrepareComplaints(double by_chance, bool by_feature) {
    std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, kTuples);
    for (size_t i = 0; i < tuples.size(); ++i) {
      tuples[i].mutable_decision()->set_time_us(static_cast<int64_t>(i) *
                                                kHourUs);
    }
    Prepare(tuples, LoggingModel({}));
    std::ofstream file(dir_ / "complaints.jsonl");
    for (const auto& tuple : tuples) {
      const auto& decision = tuple.decision();
      RandomSequence random(StableHash(HashDomain::kSimulation,
                                       {decision.decision_id(), "complaint"}));
      const bool seeks =
          decision.action(0) != kAbstain &&
          decision.dense_values(decision.action(0) *
                                    static_cast<int>(decision.num_features()) +
                                2) > 0;
      const double probability = by_feature ? (seeks ? 0.5 : 0) : by_chance;
      if (random.Uniform() >= probability) continue;  // 0.
      file << "{\"decision_id\":\"" << decision.decision_id()
           << "\",\"reward\":-1}\n";
    }
    file.close();
    options_.set_dry_run(true);
    SetTerms("@horizon=0s@sparse@through=2023-01-01");
  }
  void SetTerms(const std::string& terms) {
    options_.clear_rewards();
    options_.add_rewards("complaints=" + (dir_ / "complaints.jsonl") + terms);
  }
  // Leaves the first lines of the file, as if it had been exported early.
  void CutFile(double share) {
    std::vector<std::string> lines;
    {
      std::ifstream file(dir_ / "complaints.jsonl");
      for (std::string line; std::getline(file, line);) lines.push_back(line);
    }
    lines.resize(
        static_cast<size_t>(share * static_cast<double>(lines.size())));
    std::ofstream file(dir_ / "complaints.jsonl");
    for (const std::string& line : lines) file << line << "\n";
  }
};

TEST_F(GuardrailsTest, WhatDoesNotFallHolds) {
  PrepareComplaints(0.1, false);
  options_.add_guardrails("complaints:0.2");
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_EQ(report.evaluation().guardrails_size(), 1);
  const auto& guardrail = report.evaluation().guardrails(0);
  // The truth is 0.
  EXPECT_LT(guardrail.change().lower(), 0);
  EXPECT_GT(guardrail.change().upper(), 0);
  EXPECT_TRUE(guardrail.holds());
  EXPECT_EQ(guardrail.change().confidence(),
            report.evaluation().improvement().confidence());
  EXPECT_TRUE(report.gate_passed()) << FormatReport(report);
  EXPECT_THAT(FormatReport(report), HasSubstr("guardrail complaints"));
}

TEST_F(GuardrailsTest, WhatFallsStopsAVersionThatIsBetter) {
  PrepareComplaints(0, true);
  options_.add_guardrails("complaints:0.05");
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_GT(report.evaluation().improvement().lower(), 0);
  const auto& guardrail = report.evaluation().guardrails(0);
  EXPECT_LT(guardrail.change().value(), -0.05);
  EXPECT_FALSE(guardrail.holds());
  EXPECT_FALSE(report.gate_passed());
  EXPECT_THAT(report.evaluation().verdict(),
              HasSubstr("guardrail 'complaints' does not hold"));
  // Who allows as much gets it.
  options_.clear_guardrails();
  options_.add_guardrails("complaints:1");
  ASSERT_OK_AND_ASSIGN(const auto allowed, Train(options_));
  EXPECT_TRUE(allowed.gate_passed()) << FormatReport(allowed);
}

// The file has only complaints about the first 15 % of the log. The other
// decisions must not count as free of complaints.
TEST_F(GuardrailsTest, OutcomesThatHaveNotArrivedAreNotGoodOnes) {
  PrepareComplaints(0, true);
  options_.add_guardrails("complaints:0.05");
  CutFile(0.15);
  // Unless the file declares that it has all outcomes, it is refused by name.
  SetTerms("@horizon=1d@sparse");
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("complaints.jsonl: the file must declare up to "
                                "when it has all outcomes"));
  SetTerms("@sparse");
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("must be with the longest time between"));
  // The declaration is false.
  SetTerms("@horizon=1d@sparse@through=2023-01-01");
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition("complaints.jsonl: no decision between"));
  SetTerms("@horizon=1d@through=2023-01-01");
  EXPECT_THAT(Train(options_), IsFailedPrecondition("have no row"));
  // The file ends after 900 hours; decisions at least a day before are judged.
  SetTerms("@horizon=1d@sparse@through=1970-02-07T12:00:00Z");
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  const auto& guardrail = report.evaluation().guardrails(0);
  const auto& coverage = report.reward_coverage(0);
  const auto judged = static_cast<double>(coverage.judged());
  const auto all = judged + static_cast<double>(coverage.not_judged());
  EXPECT_EQ(all, report.evaluation().test_tuples());
  EXPECT_NEAR(judged / all, 876.0 / kTuples, 0.03);
  EXPECT_LT(guardrail.change().value(), -0.05);
  EXPECT_FALSE(guardrail.holds());
  EXPECT_FALSE(report.gate_passed());
  EXPECT_THAT(FormatReport(report), HasSubstr("its file judges decisions up to "
                                              "1970-02-06T12:00:00+00:00"));
}

// As if the complaints had been counted elsewhere: nobody complained of what is
// in the log. Half of them may be older than it.
TEST_F(GuardrailsTest, AFileOfOtherDecisionsIsRefusedBeforeTheLook) {
  PrepareComplaints(0.1, false);
  options_.add_guardrails("complaints:0.2");
  std::vector<std::string> lines;
  {
    std::ifstream file(dir_ / "complaints.jsonl");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
  }
  const auto write = [&](size_t others) {
    std::ofstream file(dir_ / "complaints.jsonl");
    for (const std::string& line : lines) file << line << "\n";
    for (size_t i = 0; i < others; ++i) {
      file << "{\"decision_id\":\"other-" << i << "\",\"reward\":-1}\n";
    }
  };
  write(lines.size() + 1);
  EXPECT_THAT(Train(options_),
              IsFailedPrecondition(
                  absl::StrCat(lines.size(), " of its ", 2 * lines.size() + 1,
                               " decisions are in the log, at least "
                               "half must be")));
  write(lines.size());
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  // The first look: what was refused has taken none.
  EXPECT_EQ(report.evaluation().look(), 1u);
}

// What the file has not shown may come all the same.
TEST_F(GuardrailsTest, ARangeIsTakenFromTheOptionIfItIsGiven) {
  PrepareComplaints(0, false);
  std::ofstream(dir_ / "complaints.jsonl")
      << "{\"decision_id\":\"" << MakeTuples({}, 1)[0].decision().decision_id()
      << "\",\"reward\":0}\n";
  options_.add_guardrails("complaints:0.2");
  ASSERT_OK_AND_ASSIGN(const auto unknown, Train(options_));
  EXPECT_FALSE(unknown.evaluation().guardrails(0).holds());
  options_.add_reward_ranges("complaints:-1:0");
  ASSERT_OK_AND_ASSIGN(const auto known, Train(options_));
  EXPECT_TRUE(known.evaluation().guardrails(0).holds());
  options_.clear_reward_ranges();
  options_.add_reward_ranges("complaints:-100:0");
  ASSERT_OK_AND_ASSIGN(const auto wide, Train(options_));
  EXPECT_FALSE(wide.evaluation().guardrails(0).holds());
}

// In 2 % of the contexts the policy takes an action that the log tries once in
// 2,000 times, and of which 93 % of the users complain. Elsewhere it takes with
// probability 0.9 what the log takes with 0.1, and 3 % complain of anything:
// complaints rise by 0.018, and 0.01 is allowed. Of 20,000 tuples less than one
// has seen an action that causes it, and the mean weight lacks 0.02 with a
// standard error of 0.019.
TEST(JudgeGuardrailsTest, WhatTheLogHardlyEverTriedDoesNotHold) {
  constexpr int kLogs = 8;
  constexpr double kRare[2] = {5e-4, 1 - 5e-4};
  constexpr double kAlways[2] = {1, 0};
  constexpr double kCommon[2] = {0.1, 0.9};
  constexpr double kWanted[2] = {0.9, 0.1};
  for (const bool is_known : {true, false}) {
    int holds = 0;
    for (uint64_t log = 0; log < kLogs; ++log) {
      RandomSequence random(SeedKey(50 + log));
      WeightedTuples test;
      std::vector<MissingMass> missing;
      GuardedReward complaints = {
          .name = "complaints", .allowed = 0.01, .min = -1, .max = 0};
      for (uint64_t i = 0; i < 20000; ++i) {
        const bool is_rare = random.Uniform() < 0.02;
        const double(&logged)[2] = is_rare ? kRare : kCommon;
        const double(&wanted)[2] = is_rare ? kAlways : kWanted;
        const size_t action = random.Uniform() < logged[0] ? 0 : 1;
        test.rewards.push_back(0);
        test.log_weights.push_back(std::log(wanted[action] / logged[action]));
        test.units.push_back(SeedKey(i).low);
        const double chance = is_rare && action == 0 ? 0.93 : 0.03;
        complaints.of_test.push_back(random.Uniform() < chance ? -1 : 0);
        missing.push_back(MissingMassOf(wanted, logged));
      }
      if (!is_known) missing.clear();
      holds +=
          JudgeGuardrails({complaints}, {.test = test, .missing = missing})[0]
              .holds();
    }
    EXPECT_EQ(holds, 0) << is_known;
  }
}

TEST_F(GuardrailsTest, ARewardWithoutGuardrailIsRefused) {
  PrepareComplaints(0.1, false);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("rewards has 'complaints', must be one of"));
}

// Logs of games: most actions have probability 0, and the log has no
// information about a learned policy that takes them.

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

class SupportTest : public TrainFixture {
 protected:
  config::v1::TrainReport TrainOn(
      const std::vector<log::v1::BanditTuple>& tuples,
      const model::v1::Model& logging, double uniform_mixture = 0.02) {
    Prepare(tuples, logging);
    options_.set_force(true);
    options_.set_uniform_mixture(uniform_mixture);
    const auto report = Train(options_);
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
  SyntheticLog log{.action_kind = ActionKind::kRank};
  model::v1::Model logging = LoggingModel(log);
  logging.mutable_policy()->set_uniform_mixture(0);
  logging.mutable_policy()->set_inverse_temperature(4);
  logging.mutable_policy()->mutable_game_ranking()->set_discount(
      GameRanking::DCG);
  const LinearPolicy policy = *LinearPolicy::Create(logging);
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log, 2000);
  for (log::v1::BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    *decision->mutable_policy() = logging.policy();
    Redecide(policy, decision);
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
  const LinearPolicy policy = *LinearPolicy::Create(target);
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
