// Decisions of traffic splits, and of learning modes other than ONLINE.

#include "tests/trainer/ope/ope_fixture.h"

namespace sortition {
namespace {

using config::v1::OpeReport;
using testing::StartsWith;

// Version 1 has a quarter of the traffic and chooses the first of two with
// probability 0.9, version 2 the rest, with 0.2: the mixture chooses the first
// with 0.225 + 0.15 = 0.375.
log::v1::BanditTuple OfArm(uint64_t version, const std::string& id,
                           int32_t action, double reward) {
  const double first = version == 1 ? 0.9 : 0.2;
  log::v1::BanditTuple tuple =
      SelectionTuple(id, {first, 1 - first}, action, reward);
  log::v1::Decision& decision = *tuple.mutable_decision();
  decision.set_version(version);
  decision.mutable_policy()->mutable_softmax_selection();
  decision.mutable_arm()->set_probability(version == 1 ? 0.25 : 0.75);
  decision.mutable_arm()->set_primary_version(2);
  auto* arm = decision.mutable_arm()->mutable_split()->add_arms();
  arm->set_version(1);
  arm->add_ranges()->set_end(2500);
  decision.mutable_arm()->set_mixture_log_propensity(
      std::log(action == 0 ? 0.375 : 0.625));
  return tuple;
}

std::vector<log::v1::BanditTuple> OfBothArms() {
  return {OfArm(1, "a", 0, 1), OfArm(2, "b", 1, 1), OfArm(2, "c", 0, 1),
          OfArm(2, "d", 1, 0)};
}

class ArmsTest : public OpeFixture {
 protected:
  ArmsTest() {
    SetPolicies({"uniform"});
    options_.set_reward_model("none");
    // Of few decisions with a reward of 1 the estimate can be above 1.
    options_.set_reward_max(2);
  }
  double Ips(const OpeReport& report, const std::string& estimator = "ips") {
    return EstimateOf(PolicyOf(report, "uniform"), estimator).value().value();
  }
  double Ips() { return Ips(Judge()); }
};

constexpr double kBalanced = (0.5 / 0.375 + 0.5 / 0.625 + 0.5 / 0.375) / 4;
constexpr double kApart = (0.5 / 0.9 + 0.5 / 0.8 + 0.5 / 0.2) / 4;

TEST_F(ArmsTest, AllArmsTogetherAreWeighedAgainstTheMixture) {
  WriteLog(OfBothArms());
  const OpeReport report = Judge();
  EXPECT_NEAR(Ips(report), kBalanced, 1e-12);
  EXPECT_EQ(report.arms_balanced(), 4u);
  EXPECT_EQ(report.arms_apart(), 0u);
  options_.set_arms("balanced");
  EXPECT_NEAR(Ips(), kBalanced, 1e-12);
  options_.set_arms("apart");
  EXPECT_NEAR(Ips(), kApart, 1e-12);
}

// Weights against the mixture have mean 1 over both versions, in neither of
// them: they are one stratum, whose mean is that of IPS.
TEST_F(ArmsTest, StrataDoNotPartASplit) {
  WriteLog(OfBothArms());
  EXPECT_NEAR(Ips(Judge(), "weighted"), kBalanced, 1e-12);
  options_.set_arms("apart");
  EXPECT_GT(std::abs(Ips(Judge(), "weighted") - kApart), 0.01);
}

TEST_F(ArmsTest, SomeArmsAloneAreWeighedByTheirOwn) {
  WriteLog(OfBothArms());
  options_.set_versions("2");
  const OpeReport report = Judge();
  EXPECT_EQ(report.arms_apart(), 3u);
  EXPECT_NEAR(Ips(report), (0.5 / 0.8 + 0.5 / 0.2) / 3, 1e-12);
  options_.set_arms("balanced");
  EXPECT_THAT(Ope(options_), IsInvalidArgument("arms is 'balanced'",
                                               "with versions, which is '2'"));
  options_.clear_versions();
  options_.set_arms("all");
  EXPECT_THAT(Ope(options_), IsInvalidArgument("arms is 'all'"));
}

// The decisions of a unit have one arm: given the units, they are no
// independent draws from the mixture.
TEST_F(ArmsTest, TheSameUnitsAreWeighedByTheirOwnArms) {
  WriteLog(OfBothArms());
  options_.set_units("same");
  EXPECT_NEAR(Ips(), kApart, 1e-12);
  options_.set_arms("balanced");
  EXPECT_THAT(Ope(options_), IsInvalidArgument("units = same"));
}

// Units keep their arms, and those of version 1 return more often. Both actions
// earn the same on average, so every policy gains exactly 0 over the log.
// Against the nominal mixture, the share of version 1 looks like a gain.
TEST_F(ArmsTest, AUnitThatReturnsMoreOftenWithOneVersionBiasesNothing) {
  RandomSequence random(SeedKey(41));
  std::vector<log::v1::BanditTuple> tuples;
  for (int unit = 0; unit < 3000; ++unit) {
    const uint64_t version = random.Uniform() < 0.25 ? 1 : 2;
    const double returns = version == 1 ? 0.9 : 0.5;
    do {
      const int32_t action =
          random.Uniform() < (version == 1 ? 0.9 : 0.2) ? 0 : 1;
      tuples.push_back(OfArm(version, absl::StrCat("d", tuples.size()), action,
                             random.Uniform() < 0.9 ? 1 : 0));
      tuples.back().mutable_decision()->set_unit_id(absl::StrCat("u", unit));
    } while (random.Uniform() < returns);
  }
  WriteLog(tuples);
  const auto judge = [&](const std::string& arms) {
    options_.set_arms(arms);
    const OpeReport report = Judge();
    EXPECT_EQ(FindingOf(report, "arms_by_unit") != nullptr, arms == "balanced");
    EXPECT_EQ(report.arms_kept_by_unit(), arms == "auto" ? tuples.size() : 0);
    EXPECT_EQ(report.arms_balanced(), arms == "auto" ? 0 : tuples.size());
    const auto row = EstimateOf(PolicyOf(report, "uniform"), "ips");
    return std::abs(row.gain().value()) / row.gain_standard_error();
  };
  EXPECT_LT(judge("auto"), 2);
  EXPECT_GT(judge("balanced"), 2);
}

// One decision without the mixture, here the last, and none of its split is
// weighed by it; other splits are.
TEST_F(ArmsTest, ASplitWithoutAMixtureIsWeighedApart) {
  auto tuples = OfBothArms();
  tuples[3].mutable_decision()->mutable_arm()->clear_mixture_log_propensity();
  log::v1::BanditTuple other = OfArm(1, "e", 0, 1);
  other.mutable_decision()->mutable_arm()->set_primary_version(7);
  tuples.push_back(other);
  WriteLog(tuples);
  const OpeReport report = Judge();
  EXPECT_NEAR(Ips(report), (4 * kApart + 0.5 / 0.375) / 5, 1e-12);
  EXPECT_EQ(report.arms_without_mixture(), 1u);
  ASSERT_EQ(report.findings_size(), 1);
  EXPECT_EQ(report.findings(0).kind(), "arms_without_mixture");
}

// A hundred decisions of a caller who takes the first of three.
std::vector<log::v1::BanditTuple> OfBaseline(model::v1::LearningMode mode,
                                             bool is_certain) {
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 100; ++i) {
    const int32_t action = is_certain ? 0 : i % 3;
    auto& tuple = tuples.emplace_back(SelectionTuple(
        absl::StrCat("d", i), {1. / 3, 1. / 3, 1. / 3}, action, i % 2));
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.set_version(1);
    decision.mutable_policy()->mutable_softmax_selection();
    decision.mutable_policy()->set_inverse_temperature(1);
    decision.mutable_baseline()->set_mode(mode);
    decision.mutable_baseline()->add_action(action);
    if (is_certain) {
      decision.set_log_propensity(0);
    } else {
      decision.mutable_baseline()->set_log_propensity(
          decision.log_propensity());
    }
  }
  return tuples;
}

TEST_F(ArmsTest, ACertainBaselineIsSaidAndNothingIsClaimed) {
  WriteLog(OfBaseline(model::v1::SHADOW, true));
  const OpeReport report = Judge();
  EXPECT_EQ(report.with_baseline(), 100u);
  EXPECT_EQ(report.certain_baseline(), 100u);
  ASSERT_GE(report.findings_size(), 1);
  EXPECT_EQ(report.findings(0).kind(), "certain_baseline");
  EXPECT_EQ(report.findings(0).gravity(), model::v1::Finding::UNSUPPORTED);
  EXPECT_THAT(report.findings(0).sentence(),
              HasSubstr("In 100 of 100 decisions the caller's baseline"));
  EXPECT_THAT(report.verdict(),
              StartsWith("This log cannot tell what 'uniform' would earn"));
  EXPECT_EQ(PolicyOf(report, "uniform").overlap().deterministic_fraction(), 1);
}

TEST_F(ArmsTest, ACallerThatDrawsLogsOrdinaryTuples) {
  WriteLog(OfBaseline(model::v1::OFF, false));
  const OpeReport report = Judge();
  EXPECT_EQ(report.with_baseline(), 100u);
  EXPECT_EQ(report.certain_baseline(), 0u);
  EXPECT_EQ(FindingOf(report, "certain_baseline"), nullptr);
  EXPECT_EQ(
      PolicyOf(report, "uniform").overlap().without_full_support_fraction(), 0);
  EXPECT_NEAR(Ips(report), 0.5, 1e-12);
}

// The stored version only looked on: that it would have chosen otherwise
// contradicts nothing. What it says beside the baseline must be right.
TEST_F(ArmsTest, TheVersionBesideABaselineDoesNotContradictTheLog) {
  model::v1::Model model;
  model.set_name("default");
  model.mutable_policy()->mutable_softmax_selection();
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(1);
  model.add_weights(2);
  Publish(model);
  auto tuples = OfBaseline(model::v1::APPRENTICE, false);
  const double first = -std::log(1 + std::exp(2) + std::exp(4));
  for (auto& tuple : tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.mutable_baseline()->set_model_log_propensity(
        first + 2 * decision.action(0));
  }
  WriteLog(tuples);
  EXPECT_EQ(FindingOf(Judge(), "other_propensities"), nullptr);
  tuples[0].mutable_decision()->mutable_baseline()->set_model_log_propensity(
      -9);
  tuples[0].mutable_decision()->set_decision_id("other");
  WriteLog({tuples[0]});
  const OpeReport report = Judge();
  ASSERT_GE(report.findings_size(), 1);
  EXPECT_EQ(report.findings(0).kind(), "other_propensities");
  EXPECT_THAT(report.findings(0).sentence(), HasSubstr("In 1 of 101"));
}

}  // namespace
}  // namespace sortition
