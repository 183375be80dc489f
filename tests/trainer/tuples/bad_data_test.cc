// Follows bad data all the way through `train`: it becomes an error that names
// it, or tuples that are left out, counted and named in the report; never a
// model.
#include <functional>
#include <limits>

#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using enum LeftOutReason;

using Tuples = std::vector<log::v1::BanditTuple>;
constexpr double kInf = std::numeric_limits<double>::infinity();

// What is done to 1500 good tuples of version 1 before they are written.
struct BadData {
  std::string name;
  std::function<void(Tuples*)> spoil;
  // The expected words: in the message of an error with this code; or, with
  // kOk, the reason in the report why `excluded` tuples are left out.
  absl::StatusCode code = absl::StatusCode::kOk;
  std::string says;
  uint64_t excluded = 0;
};

std::function<void(log::v1::BanditTuple*)> LogPropensity(double value) {
  return [value](log::v1::BanditTuple* tuple) {
    tuple->mutable_decision()->set_log_propensity(value);
  };
}

// Spoils the first `count` tuples.
std::function<void(Tuples*)> Some(
    size_t count, std::function<void(log::v1::BanditTuple*)> spoil) {
  return [count, spoil](Tuples* tuples) {
    for (size_t i = 0; i < count; ++i) spoil(&(*tuples)[i]);
  };
}

std::function<void(Tuples*)> All(
    std::function<void(log::v1::BanditTuple*)> spoil) {
  return [spoil](Tuples* tuples) {
    for (auto& tuple : *tuples) spoil(&tuple);
  };
}

std::vector<BadData> Cases() {
  constexpr auto kOk = absl::StatusCode::kOk;
  constexpr auto kFailed = absl::StatusCode::kFailedPrecondition;
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const std::string propensity = ReasonText(kBadPropensity);
  const auto reward = [](double value) {
    return [value](log::v1::BanditTuple* tuple) { tuple->set_reward(value); };
  };
  // The tests of the reader have a case for each reason to leave a tuple out.
  return {
      {"PropensityZero", Some(7, LogPropensity(-kInf)), kOk, propensity, 7},
      {"PropensityNotAsLogarithm", All(LogPropensity(0.25)), kFailed,
       "1500 left out: " + propensity},
      {"LossConstant", All(reward(1)), kFailed,
       "training tuples have the reward 1: nothing tells"},
      {"RewardAboveTheRange", Some(15, reward(2)), kOk,
       ReasonText(kRewardOutside), 15},
      {"RewardsOftenBelowTheRange", Some(16, reward(-0.1)), kInvalid,
       "reward of decision 'd0' is -0.1, must be in [0, 1], as must those of "
       "16 of 1500 tuples with feedback; set --reward_min and --reward_max"},
      // Of 20 tuples with feedback a hundredth is none; of all 1500 it is 15.
      {"RewardsBelowTheRangeWhereFeedbackIsRare",
       [](Tuples* tuples) {
         for (size_t i = 20; i < tuples->size(); ++i) {
           (*tuples)[i].set_has_feedback(false);
           (*tuples)[i].set_reward(0);
         }
         for (size_t i = 0; i < 2; ++i) (*tuples)[i].set_reward(-5);
       },
       kInvalid,
       "reward of decision 'd0' is -5, must be in [0, 1], as must those of 2 "
       "of "
       "20 tuples with feedback; set"},
      {"DefaultRewardOutsideTheRange",
       [](Tuples* tuples) {
         for (size_t i = 0; i < 16; ++i) {
           (*tuples)[i].set_has_feedback(false);
           (*tuples)[i].set_reward(-1);
         }
       },
       kInvalid, "as must those of 16 of 16 tuples without feedback; set"},
      {"SegmentEmpty", [](Tuples* tuples) { tuples->clear(); }, kFailed,
       " yet: the sidecar writes the tuple of a decision"},
      {"ModelIsAnother", All([](log::v1::BanditTuple* tuple) {
         tuple->mutable_decision()->set_model("another");
       }),
       kFailed, "1500 left out: other model"},
  };
}

class NoModelTest : public TrainFixture {
 protected:
  NoModelTest() { EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {})); }
};

class BadDataTest : public NoModelTest,
                    public testing::WithParamInterface<BadData> {};

TEST_P(BadDataTest, IsAnErrorOrLeftOutAndNamed) {
  const BadData& bad = GetParam();
  Tuples tuples = MakeTuples({}, 1500);
  bad.spoil(&tuples);
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  // Not even --force turns an error into a model.
  options_.set_force(true);
  const auto report = Train(options_);
  EXPECT_EQ(report.status().code(), bad.code) << report.status();
  if (bad.code != absl::StatusCode::kOk) {
    EXPECT_THAT(std::string(report.status().message()), HasSubstr(bad.says));
    EXPECT_EQ(store_.ListVersions("default")->size(), 1);
    return;
  }
  EXPECT_EQ(report->evaluation().excluded_tuples(), bad.excluded);
  EXPECT_EQ(report->read_tuples(), 1500);
  EXPECT_EQ(report->evaluation().train_tuples() +
                report->evaluation().validation_tuples() +
                report->evaluation().test_tuples(),
            1500 - bad.excluded);
  EXPECT_THAT(FormatReport(*report),
              HasSubstr(absl::StrCat(bad.excluded, " left out: ", bad.says)));
}

INSTANTIATE_TEST_SUITE_P(All, BadDataTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST_F(NoModelTest, AnEmptyDirectoryIsAnError) {
  EXPECT_THAT(
      Train(options_),
      IsFailedPrecondition(" yet: the sidecar writes the tuple of a decision"));
  options_.set_tuples(dir_.Sub("tuples") + "/missing");
  EXPECT_THAT(Train(options_), IsNotFound("missing"));
}

TEST_F(NoModelTest, PropensitiesThatContradictThemselvesPassNoGate) {
  // A good log whose propensities were divided by five: the weights are five
  // times too large, and everything looks like an improvement.
  Tuples tuples = MakeTuples({}, 4000);
  for (auto& tuple : tuples) {
    auto* decision = tuple.mutable_decision();
    decision->set_log_propensity(decision->log_propensity() - std::log(5));
  }
  WriteSegment(dir_.Sub("tuples"), 0, tuples);
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  EXPECT_GT(report.evaluation().improvement().lower(), 0);
  EXPECT_FALSE(report.gate_passed());
  EXPECT_FALSE(report.has_version());
  EXPECT_THAT(
      report.evaluation().verdict(),
      AllOf(testing::StartsWith("Not published: no interval of this log"),
            HasSubstr("The logged propensities cannot be right")));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 2);
}

}  // namespace
}  // namespace sortition
