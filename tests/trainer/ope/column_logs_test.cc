// Logs of named columns, judged without a model store.
#include "absl/strings/str_join.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/ope/ope_text.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using config::v1::OpeReport;
using testing::HasSubstr;
using testing::Not;

constexpr int kColumnDecisions = 400;

double ColumnReward(int i) { return i % 3 == 0 ? 1 : 0; }

class ColumnLogsTest : public OpeFixture {
 protected:
  // The decisions of AlternatingTuples() with the column `price` in place of
  // the feature.
  static std::vector<log::v1::BanditTuple> WithColumns(double price_step) {
    auto tuples = AlternatingTuples(kColumnDecisions, ColumnReward);
    for (int d = 0; d < kColumnDecisions; ++d) {
      log::v1::Decision& decision =
          *tuples[static_cast<size_t>(d)].mutable_decision();
      decision.clear_dense_values();
      decision.set_num_features(0);
      v1::Columns& columns = *decision.mutable_columns();
      columns.set_num_candidates(2);
      v1::Column& price = *columns.add_candidate();
      price.set_name("price");
      for (int i = 0; i < 2; ++i) {
        price.mutable_numbers()->add_values(5 +
                                            price_step * ((d * 7 + i) % 11));
      }
    }
    return tuples;
  }

  static std::string Assumptions(const OpeReport& report) {
    return absl::StrJoin(report.assumptions(), "\n");
  }
};

// Neither the uniform policy nor a file of probabilities reads features.
TEST_F(ColumnLogsTest, PoliciesThatReadNoFeaturesAreJudgedAsOnAnyLog) {
  SetPolicies({"uniform", "constant",
               "mine=" + Write("mine.csv",
                               ProbabilityRows(kColumnDecisions, "0.8,0.2"))});
  options_.set_reward_model("none");
  WriteLog(AlternatingTuples(kColumnDecisions, ColumnReward));
  const OpeReport of_features = Judge();
  WriteSegment(dir_.Sub("columns"), 0, WithColumns(1));
  options_.set_tuples(dir_.Sub("columns"));
  const OpeReport of_columns = Judge();
  EXPECT_EQ(of_columns.decisions(), kColumnDecisions);
  EXPECT_EQ(of_columns.logged().value(), of_features.logged().value());
  ASSERT_EQ(of_columns.policies_size(), 3);
  for (int k = 0; k < 3; ++k) {
    EXPECT_EQ(of_columns.policies(k).answer().value().DebugString(),
              of_features.policies(k).answer().value().DebugString());
  }
}

TEST_F(ColumnLogsTest, TheModelOfRewardsSeesDraftedFeatures) {
  WriteLog(WithColumns(1));
  SetPolicies({"uniform"});
  const OpeReport report = Judge();
  EXPECT_TRUE(EstimateOf(report.policies(0), "dr").has_value());
  EXPECT_THAT(Assumptions(report),
              HasSubstr("drafted from the columns of the log"));
}

TEST_F(ColumnLogsTest, AFeatureSpecDeclaresOthers) {
  WriteLog(WithColumns(1));
  SetPolicies({"uniform"});
  options_.set_features(
      Write("features.textproto",
            "schema { column { name: 'price' type: NUMBER } } "
            "transform { number { column: 'price' standardise: true } }"));
  const OpeReport report = Judge();
  EXPECT_TRUE(EstimateOf(report.policies(0), "dr").has_value());
  EXPECT_THAT(Assumptions(report),
              HasSubstr("the features of " + (dir_ / "features.textproto")));
  options_.set_features(Write("wrong.textproto", "shema { }"));
  EXPECT_THAT(Ope(options_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("Did you mean \"schema\"?")));
}

// A column with one value tells candidates apart by nothing.
TEST_F(ColumnLogsTest, WithoutFeaturesThereIsNoModelOfRewards) {
  WriteLog(WithColumns(0));
  SetPolicies({"uniform"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), kColumnDecisions);
  for (const auto& estimate : report.policies(0).estimates()) {
    EXPECT_NE(estimate.estimator(), "dr");
  }
  EXPECT_THAT(Assumptions(report), HasSubstr("No model of rewards is fitted"));
}

TEST_F(ColumnLogsTest, WithoutAStoreTheDefaultPoliciesAreJudged) {
  WriteLog(WithColumns(1));
  const OpeReport report = Judge();
  ASSERT_EQ(report.policies_size(), 2);
  EXPECT_EQ(report.policies(0).name(), "uniform");
  EXPECT_EQ(report.policies(1).name(), "constant");
}

// Half of the rewards are 2.6, which count as 1.
TEST_F(OpeFixture, ClampedRewardsSayWhatTheMeanOfTheRewardsIs) {
  WriteLog(AlternatingTuples(100, [](int i) { return i % 2 == 0 ? 2.6 : 0; }));
  SetPolicies({"uniform"});
  options_.set_clamp_rewards(true);
  const OpeReport report = Judge();
  EXPECT_EQ(report.logged().value(), 0.5);
  const auto* const finding = FindingOf(report, "clamped_rewards");
  ASSERT_NE(finding, nullptr);
  EXPECT_THAT(finding->sentence(),
              HasTexts("50 of 100 decisions are outside of [0, 1]",
                       "which the status page shows, is 1.3."));
  options_.set_reward_max(3);
  EXPECT_EQ(FindingOf(Judge(), "clamped_rewards"), nullptr);
}

// The log takes action 0 with probability 0.01, and took it 30 times of 1,000,
// three times as often as is likely: IPS of always 0 is 30 · 100 / 1000 = 3.
TEST_F(OpeFixture, AnEstimateOutsideOfItsIntervalIsMarked) {
  std::vector<log::v1::BanditTuple> tuples;
  for (int i = 0; i < 1000; ++i) {
    tuples.push_back(
        SelectionTuple(absl::StrCat("d", i), {0.01, 0.99}, i < 30 ? 0 : 1, 1));
  }
  WriteLog(tuples);
  SetPolicies(
      {"mine=" + Write("mine.csv", ProbabilityRows(1000, "1,0")), "uniform"});
  const OpeReport report = Judge();
  EXPECT_THAT(EstimateOf(PolicyOf(report, "mine"), "ips").outside_interval(),
              HasSubstr("The estimate of the value, 3, is outside"));
  EXPECT_THAT(FormatOpeReport(report),
              HasSubstr("! ips: The estimate of the value, 3, is outside"));
  // All weights of what logged are 1.
  EXPECT_FALSE(
      EstimateOf(PolicyOf(report, "uniform"), "snips").has_outside_interval());
}

}  // namespace
}  // namespace sortition
