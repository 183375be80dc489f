// What `train` compares with where a version is pinned, or where the caller's
// baseline had a part in what was logged.
#include <cmath>
#include <functional>

#include "absl/strings/str_cat.h"
#include "core/choices/baseline_choice.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/serving_state.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ServingBaselineTest : public TrainFixture {
 protected:
  void Pin(uint64_t version) {
    ASSERT_OK(ChangeServing(dir_ / "models/default", {"test", ""},
                            [&](model::v1::Serving* serving) {
                              serving->set_pinned_version(version);
                              return absl::OkStatus();
                            }));
  }
  // Tuples of version 2, which is published.
  void AddSecondVersion() {
    ASSERT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
    SyntheticLog newest;
    newest.version = 2;
    std::vector<log::v1::BanditTuple> tuples;
    for (int i = 0; i < 1000; ++i) {
      tuples.push_back(MakeTuple(newest, absl::StrCat("new", i)));
    }
    WriteSegment(dir_.Sub("tuples"), 1, tuples);
  }
  static bool Finds(const config::v1::TrainReport& report,
                    const std::string& kind) {
    for (const auto& finding : report.evaluation().findings()) {
      if (finding.kind() == kind) return true;
    }
    return false;
  }
};

TEST_F(ServingBaselineTest, TheVersionThatServesIsTheBaseline) {
  Prepare({}, 3000);
  AddSecondVersion();
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 2u);
  Pin(1);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 1u);
  // A quarter of 3000 and of 1000: deviations are 24 and 14.
  EXPECT_GT(report.evaluation().test_tuples(), 600u);
  options_.set_baseline("newest");
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.baseline_version(), 2u);
  EXPECT_LT(report.evaluation().test_tuples(), 400u);
  options_.set_baseline("pinned");
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be serving, newest or log")));
}

TEST_F(ServingBaselineTest, PublishingBesideAPinSaysThatItDoesNotServe) {
  Prepare({}, 4000);
  Pin(1);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(auto report, Train(options_));
  EXPECT_THAT(report.evaluation().verdict(), Not(HasSubstr("pinned")));
  options_.set_dry_run(false);
  ASSERT_OK_AND_ASSIGN(report, Train(options_));
  EXPECT_EQ(report.version(), 2u);
  EXPECT_THAT(report.evaluation().verdict(),
              AllOf(HasSubstr("Published"),
                    HasSubstr("Version 1 is pinned and goes on to serve"),
                    HasSubstr("sortition models unpin --model=default")));
}

TEST_F(ServingBaselineTest, AStateThatCannotBeReadEndsTheRun) {
  Prepare({}, 100);
  ASSERT_OK(WriteFile(dir_ / "models/default/SERVING.textproto", "oops"));
  EXPECT_THAT(Train(options_).status().message(),
              HasSubstr("SERVING.textproto"));
}

// Makes the tuples those of EXPLORE_ABOVE_BASELINE: with probability 1/2 the
// first candidate, otherwise what the model chose.
void ExploreAboveFirst(std::vector<log::v1::BanditTuple>* tuples) {
  const model::v1::Model model = LoggingModel({});
  const LinearPolicy policy = *LinearPolicy::Create(
      model.policy(), {model.weights().begin(), model.weights().end()});
  PolicyWorkspace workspace;
  RandomSequence random(SeedKey(1));
  for (auto& tuple : *tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    log::v1::BaselineChoice& baseline = *decision.mutable_baseline();
    baseline.set_mode(model::v1::EXPLORE_ABOVE_BASELINE);
    baseline.set_model_probability(0.5);
    baseline.add_action(0);
    baseline.set_model_decided(random.Uniform() < 0.5);
    if (!baseline.model_decided()) {
      decision.set_action(0, 0);
      tuple.set_reward(random.Uniform() < RewardProbability(decision) ? 1 : 0);
    }
    PolicyQuery query;
    query.candidates = Candidates::DenseUnchecked(
        {decision.dense_values().data(),
         static_cast<size_t>(decision.dense_values_size())},
        decision.num_features());
    const int32_t action = decision.action(0);
    baseline.set_model_log_propensity(
        policy.LogPropensity(query, {&action, 1}, &workspace));
    decision.set_log_propensity(
        LogAboveBaseline(0.5, baseline.model_log_propensity(), action == 0));
  }
}

// Their mean reward is not that of version 1: the gate compares with both.
TEST_F(ServingBaselineTest, WhatLoggedWithABaselineIsNotCalledTheVersion) {
  const SyntheticLog log;
  auto tuples = MakeTuples(log, 4000);
  ExploreAboveFirst(&tuples);
  Prepare(log, 0);
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_TRUE(report.test_looked_at());
  EXPECT_EQ(report.baseline_version(), 1u);
  EXPECT_TRUE(report.has_improvement_over_newest());
  EXPECT_THAT(report.evaluation().verdict(),
              AllOf(HasSubstr("what logged, in which the caller's baseline had "
                              "a part"),
                    HasSubstr("It earns no less than version 1, which it "
                              "replaces, either.")));
  EXPECT_FALSE(Finds(report, "certain_baseline"));
}

TEST_F(ServingBaselineTest, NothingIsLearnedFromACertainBaseline) {
  const SyntheticLog log;
  auto tuples = MakeTuples(log, 2000);
  for (auto& tuple : tuples) {
    log::v1::Decision& decision = *tuple.mutable_decision();
    decision.mutable_baseline()->set_mode(model::v1::APPRENTICE);
    *decision.mutable_baseline()->mutable_action() = decision.action();
    decision.mutable_baseline()->set_model_log_propensity(
        decision.log_propensity());
    decision.set_log_propensity(0);
  }
  Prepare(log, 0);
  WriteSegment(dir_.Sub("tuples"), 1, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_TRUE(Finds(report, "certain_baseline"));
  EXPECT_THAT(FormatReport(report),
              AllOf(HasSubstr("2000 of version 1, baseline of the caller, "
                              "which gave some actions probability 0"),
                    HasSubstr("no policy can be shown to be better")));
}

}  // namespace
}  // namespace sortition
