// A version that looked on is judged by what it said.
#include <filesystem>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "io/segments/decision_view.h"
#include "tests/trainer/ope/ope_fixture.h"

namespace sortition {
namespace {

using config::v1::OpeReport;
using ::testing::AllOf;
using ::testing::HasSubstr;

model::v1::Model ShadowModel(const SyntheticLog& log) {
  model::v1::Model model = LoggingModel(log);
  for (int j = 0; j < model.weights_size(); ++j) {
    model.set_weights(j, 0.4 - 0.2 * j);
  }
  model.mutable_policy()->set_inverse_temperature(1.5);
  return model;
}

// Lets `model` look on as `version` at every decision whose number is a
// multiple of `every`.
void LookOn(const model::v1::Model& model, uint64_t version, size_t every,
            std::vector<log::v1::BanditTuple>* tuples) {
  const auto policy = LinearPolicy::Create(
      model.policy(), {model.weights().begin(), model.weights().end()});
  ASSERT_OK(policy);
  PolicyWorkspace workspace;
  for (size_t i = 0; i < tuples->size(); i += every) {
    const log::v1::Decision& decision = (*tuples)[i].decision();
    ASSERT_OK_AND_ASSIGN(const DecisionView view, ViewDecision(decision));
    log::v1::ShadowView& said = *(*tuples)[i].add_shadow_views();
    said.set_decision_id(decision.decision_id());
    said.set_model(decision.model());
    said.set_version(version);
    said.set_log_propensity(
        policy->LogPropensity({.candidates = view.candidates,
                               .eligible = view.eligible,
                               .top_k = view.top_k},
                              SpanOf(decision.action()), &workspace));
  }
}

class ShadowPolicyTest : public OpeFixture,
                         public testing::WithParamInterface<ActionKind> {
 protected:
  void ExpectSame(const config::v1::OpePolicy& a,
                  const config::v1::OpePolicy& b) {
    for (const char* estimator : {"ips", "snips"}) {
      EXPECT_EQ(EstimateOf(a, estimator).value().value(),
                EstimateOf(b, estimator).value().value());
      EXPECT_EQ(EstimateOf(a, estimator).gain().lower(),
                EstimateOf(b, estimator).gain().lower());
      EXPECT_EQ(EstimateOf(a, estimator).gain().upper(),
                EstimateOf(b, estimator).gain().upper());
    }
    EXPECT_EQ(a.overlap().effective_sample_size(),
              b.overlap().effective_sample_size());
  }

  SyntheticLog log_{.action_kind = GetParam()};
};

TEST_P(ShadowPolicyTest, IsJudgedAsTheStoredVersion) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log_, 400);
  LookOn(ShadowModel(log_), 2, 1, &tuples);
  // Another version has another opinion.
  LookOn(LoggingModel(log_), 7, 1, &tuples);
  WriteLog(tuples);
  Publish(LoggingModel(log_));
  Publish(ShadowModel(log_));
  SetPolicies({"shadow:2", "version:2"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 400u);
  ExpectSame(PolicyOf(report, "shadow:2"), PolicyOf(report, "version:2"));
}

// All policies are judged by the tuples that the shadow looked on at, and the
// report says so.
TEST_P(ShadowPolicyTest, OnlyWhatItLookedOnAtCounts) {
  std::vector<log::v1::BanditTuple> tuples = MakeTuples(log_, 400);
  std::vector<log::v1::BanditTuple> looked_at;
  for (size_t i = 0; i < tuples.size(); i += 4) looked_at.push_back(tuples[i]);
  Publish(LoggingModel(log_));
  Publish(ShadowModel(log_));
  WriteLog(looked_at);
  SetPolicies({"version:2"});
  const OpeReport expected = Judge();

  std::filesystem::remove_all(dir_ / "tuples");
  LookOn(ShadowModel(log_), 2, 4, &tuples);
  WriteLog(tuples);
  SetPolicies({"shadow:2", "version:2"});
  const OpeReport report = Judge();
  EXPECT_EQ(report.decisions(), 100u);
  EXPECT_EQ(report.excluded().at("a shadow did not look on at it"), 300u);
  ExpectSame(PolicyOf(report, "shadow:2"), PolicyOf(expected, "version:2"));
  ExpectSame(PolicyOf(report, "version:2"), PolicyOf(expected, "version:2"));
  bool is_said = false;
  for (const auto& finding : report.findings()) {
    if (finding.kind() != "shadow_views") continue;
    is_said = true;
    EXPECT_THAT(finding.sentence(),
                HasSubstr("shadow:2 looked on at 100 of 400 decisions"));
  }
  EXPECT_TRUE(is_said);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ShadowPolicyTest,
                         testing::Values(ActionKind::kSelect, ActionKind::kRank,
                                         ActionKind::kSubset));

TEST_F(OpeFixture, AVersionThatNeverLookedOnCannotBeJudged) {
  WriteLog(MakeTuples({}, 20));
  SetPolicies({"shadow:2"});
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("0 decisions can be judged"),
                             HasSubstr("20 left out: a shadow did not look on "
                                       "at it"))));
}

}  // namespace
}  // namespace sortition
