// Rewards beside that of the log, and what must not fall.
#include "gmock/gmock.h"
#include "tests/trainer/ope/ope_fixture.h"

namespace sortition {
namespace {

using config::v1::OpePolicy;
using config::v1::OpeReport;
using testing::HasSubstr;

class MoreRewardsTest : public OpeFixture {
 protected:
  // Decisions between two candidates, drawn uniformly; a policy that always
  // takes the second, and the policy that logged.
  void Prepare(int decisions) {
    std::vector<log::v1::BanditTuple> tuples;
    std::string always = "decision_id,p0,p1\n";
    std::string same = always;
    for (int i = 0; i < decisions; ++i) {
      const std::string id = absl::StrCat("d", i);
      tuples.push_back(SelectionTuple(id, {0.5, 0.5}, i % 2, i % 3 == 0));
      absl::StrAppend(&always, id, ",0,1\n");
      absl::StrAppend(&same, id, ",0.5,0.5\n");
    }
    WriteLog(tuples);
    SetPolicies({"always=" + Write("always.csv", always),
                 "same=" + Write("same.csv", same)});
    options_.set_reward_model("none");
  }
  void GuardComplaints(const std::string& rows, const std::string& allowed) {
    options_.add_rewards("complaints=" + Write("complaints.csv", rows));
    options_.add_guardrails("complaints:" + allowed);
  }
};

bool HasRangeFinding(const OpeReport& report) {
  for (const auto& finding : report.findings()) {
    if (finding.kind() == "reward_range") return true;
  }
  return false;
}

TEST_F(MoreRewardsTest, NoComplaintInFortyDecisionsShowsNothing) {
  Prepare(40);
  GuardComplaints("decision_id,reward\nd0,0\nd1,0\n", "0.0001");
  const OpeReport unknown = Judge();
  ASSERT_EQ(PolicyOf(unknown, "always").guardrails_size(), 1);
  EXPECT_FALSE(PolicyOf(unknown, "always").guardrails(0).holds());
  EXPECT_FALSE(PolicyOf(unknown, "always").guardrails(0).has_change());
  EXPECT_FALSE(PolicyOf(unknown, "always").more_rewards(0).has_value());
  EXPECT_TRUE(HasRangeFinding(unknown));
  // Known, but 40 decisions show less than 0.0001.
  options_.add_reward_ranges("complaints:-1:0");
  const OpeReport given = Judge();
  EXPECT_FALSE(PolicyOf(given, "always").guardrails(0).holds());
  EXPECT_LT(PolicyOf(given, "always").guardrails(0).change().lower(), -0.01);
  EXPECT_FALSE(HasRangeFinding(given));
}

TEST_F(MoreRewardsTest, ThePolicyThatLoggedKeepsItsGuardrails) {
  Prepare(100);
  GuardComplaints("decision_id,reward\nd3,-1\nd8,-1\n", "0");
  const OpePolicy same = PolicyOf(Judge(), "same");
  ASSERT_EQ(same.guardrails_size(), 1);
  EXPECT_EQ(same.guardrails(0).change().lower(), 0);
  EXPECT_EQ(same.guardrails(0).change().upper(), 0);
  EXPECT_TRUE(same.guardrails(0).holds());
}

TEST_F(MoreRewardsTest, AFileOfOtherDecisionsIsAnError) {
  Prepare(40);
  GuardComplaints("decision_id,reward\nother,-1\n", "0.1");
  EXPECT_THAT(Ope(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("complaints.csv: none of its 1 decisions")));
}

}  // namespace
}  // namespace sortition
