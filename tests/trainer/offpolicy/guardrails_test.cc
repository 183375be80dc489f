// Further rewards that a new version must not lower.
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::HasSubstr;

class GuardrailsTest : public TrainFixture {
 protected:
  // Complaints, as -1, come by chance with this probability, or by the third
  // feature of what was chosen, which the logging policy does not care for and
  // a better one seeks.
  void PrepareComplaints(double by_chance, bool by_feature) {
    Prepare({}, 0);
    const std::vector<log::v1::BanditTuple> tuples = MakeTuples({}, 6000);
    WriteSegment(dir_.Sub("tuples"), 1, tuples);
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
    options_.add_rewards("complaints=" + (dir_ / "complaints.jsonl"));
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
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(absl::StrCat(
                           lines.size(), " of its ", 2 * lines.size() + 1,
                           " decisions are in the log, at least "
                           "half must be"))));
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

TEST_F(GuardrailsTest, ARewardWithoutGuardrailIsRefused) {
  PrepareComplaints(0.1, false);
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rewards has 'complaints', must be one of")));
}

}  // namespace
}  // namespace sortition
