// What stands in a verdict beside the numbers.
#include "gmock/gmock.h"
#include "tests/trainer/ope/ope_fixture.h"
#include "trainer/ope/ope_words.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeOptions;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using model::v1::Finding;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Two policies that are shown to earn more than the log; the first earns most.
class VerdictTest : public testing::Test {
 protected:
  VerdictTest() {
    report_.set_against("log");
    report_.set_confidence(0.95);
    for (const double gain : {0.3, 0.2}) {
      OpePolicy* const policy = report_.add_policies();
      policy->set_name(gain == 0.3 ? "newest" : "uniform");
      auto* const estimate = policy->mutable_answer()->mutable_gain();
      estimate->set_value(gain);
      estimate->set_lower(gain - 0.1);
      estimate->set_upper(gain + 0.1);
    }
  }
  static void Find(const std::string& kind, Finding::Gravity gravity,
                   Finding* finding) {
    finding->set_kind(kind);
    finding->set_gravity(gravity);
    finding->set_sentence("A sentence.");
  }
  std::string Overall() const {
    std::vector<OpeEstimate> gains;
    for (const OpePolicy& policy : report_.policies()) {
      gains.push_back(policy.answer());
    }
    return OverallVerdict(report_, gains);
  }
  std::string OfFirst() const {
    return PolicyVerdict(OpeOptions(), report_, report_.policies(0),
                         /*is_compared_with=*/false, /*is_log=*/false, 0);
  }
  OpeReport report_;
};

TEST_F(VerdictTest, TheBestIsTaken) {
  EXPECT_THAT(Overall(), StartsWith("Take 'newest': it earns 0.3 more"));
  EXPECT_THAT(Overall() + OfFirst(), Not(HasSubstr("But")));
  Find("clipped_mass", Finding::CAUTION,
       report_.mutable_policies(0)->add_findings());
  EXPECT_THAT(Overall(), StartsWith("Take 'newest'"));
}

TEST_F(VerdictTest, GraveFindingsAreReservations) {
  for (OpePolicy& policy : *report_.mutable_policies()) {
    Find("learned_from_log", Finding::UNSUPPORTED, policy.add_findings());
  }
  EXPECT_THAT(Overall(), StartsWith("Do not take any yet. The best is 'new"));
  for (const std::string& verdict : {Overall(), OfFirst()}) {
    EXPECT_THAT(verdict, HasSubstr("But it may have learned from these very "
                                   "decisions, which makes it look better"));
  }
}

TEST_F(VerdictTest, OneThatNothingSpeaksAgainstComesFirst) {
  auto* const guardrail = report_.mutable_policies(0)->add_guardrails();
  guardrail->set_reward("complaints");
  guardrail->set_allowed(0.01);
  guardrail->mutable_change()->set_value(-0.125);
  EXPECT_THAT(OfFirst(), HasSubstr("But it is not shown that 'complaints'"));
  EXPECT_THAT(Overall(), StartsWith("Take 'uniform': it earns 0.2 more"));
  // Unless it is not shown to earn more.
  report_.mutable_policies(1)->mutable_answer()->mutable_gain()->set_lower(-1);
  EXPECT_THAT(Overall(), StartsWith("Do not take any yet. The best is 'new"));
  EXPECT_THAT(Overall(), HasSubstr("But it is not shown that 'complaints'"));
}

TEST_F(VerdictTest, ContradictionsOfTheLogAreThoseOfAll) {
  Find("other_propensities", Finding::CONTRADICTION, report_.add_findings());
  EXPECT_EQ(Overall(), "Do not decide by this log. A sentence.");
  EXPECT_EQ(OfFirst(), "Do not use the numbers of 'newest'. A sentence.");
}

// Propensities of 0.48 are logged where they were 1/2, of a policy that does
// what the log did: all weights are 1.04, and bounds cross.
TEST_F(OpeFixture, BoundsThatCrossContradictTheLog) {
  std::vector<log::v1::BanditTuple> tuples;
  std::string half = "decision_id,p0,p1\n";
  for (int i = 0; i < 2000; ++i) {
    const std::string id = absl::StrCat("d", i);
    tuples.push_back(
        SelectionTuple(id, {0.48, 0.48}, i % 2, i % 20 < 10 ? 1 : 0));
    absl::StrAppend(&half, id, ",0.5,0.5\n");
  }
  WriteLog(tuples);
  SetPolicies({"half=" + Write("half.csv", half)});
  const OpeReport report = Judge();
  EXPECT_THAT(report.verdict(), StartsWith("Do not decide by this log. The "));
  bool is_found = false;
  for (const Finding& finding : report.policies(0).findings()) {
    is_found |= finding.kind() == "contradictory_bounds";
  }
  EXPECT_TRUE(is_found);
  const auto& gain = report.policies(0).answer().gain();
  EXPECT_LE(gain.lower(), gain.value());
  EXPECT_GE(gain.upper(), gain.value());
}

}  // namespace
}  // namespace sortition
