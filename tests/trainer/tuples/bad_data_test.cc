// Follows bad data all the way through `train`: it becomes an error that names
// it, or tuples that are left out, counted and named in the report; never a
// model.
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/status_codes.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/report.h"
#include "trainer/train.h"
#include "trainer/tuples/tuple_convert.h"

namespace sortition {
namespace {

using enum LeftOutReason;
using testing::HasSubstr;

using Tuples = std::vector<log::v1::BanditTuple>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
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
  const std::string propensity = ReasonText(kBadPropensity);
  const auto reward = [](double value) {
    return [value](log::v1::BanditTuple* tuple) { tuple->set_reward(value); };
  };
  // Propensities: p = 0, p > 1, and the logarithm of a negative number.
  return {
      {"PropensityZero", Some(7, LogPropensity(-kInf)), kOk, propensity, 7},
      {"PropensityNegative", Some(3, LogPropensity(std::log(-0.5))), kOk,
       propensity, 3},
      {"PropensityAboveOne", Some(2, LogPropensity(std::log(1.5))), kOk,
       propensity, 2},
      {"PropensityInfinite", Some(2, LogPropensity(kInf)), kOk, propensity, 2},
      {"PropensityNan", Some(4, LogPropensity(kNan)), kOk, propensity, 4},
      {"PropensityNotAsLogarithm", All(LogPropensity(0.25)), kFailed,
       "1500 left out: " + propensity},
      {"PropensitiesAllBad", All(LogPropensity(kNan)), kFailed,
       "1500 left out: " + propensity},
      {"LossConstant", All(reward(1)), kFailed,
       "training tuples have the reward 1: nothing tells"},
      {"RewardNan", Some(5, reward(kNan)), kOk, ReasonText(kBadReward), 5},
      {"RewardInfinite", Some(5, reward(-kInf)), kOk, ReasonText(kBadReward),
       5},
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
       "no tuple of model 'default'"},
      {"ModelsMixed",
       Some(10,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->set_model("another");
            }),
       kOk, ReasonText(kOtherModel), 10},
      {"ModelIsAnother", All([](log::v1::BanditTuple* tuple) {
         tuple->mutable_decision()->set_model("another");
       }),
       kFailed, "1500 left out: other model"},
      {"KindsOfActionMixed",
       Some(10,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->set_action_kind(log::v1::RANK);
            }),
       kOk, ReasonText(kOtherAction), 10},
      {"DimensionsMixed",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              auto* decision = tuple->mutable_decision();
              decision->set_num_features(6);
              decision->mutable_dense_values()->Resize(36, 0);
            }),
       kOk, ReasonText(kOtherFeatures) + ": 6", 6},
      {"FeaturesMissing",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->mutable_dense_values()->RemoveLast();
            }),
       kOk, ReasonText(kBadFeatures), 6},
      {"FeatureNan",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->set_dense_values(3, std::nanf(""));
            }),
       kOk, ReasonText(kBadFeatures), 6},
      {"NoCandidates",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              auto* decision = tuple->mutable_decision();
              decision->set_num_candidates(0);
              decision->clear_dense_values();
            }),
       kOk, "malformed", 6},
      {"ActionOutOfRange",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->set_action(0, 6);
            }),
       kOk, ReasonText(kBadAction), 6},
      {"ActionMissing",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->clear_action();
            }),
       kOk, ReasonText(kBadAction), 6},
      {"DrawnWithSeeds",
       Some(6,
            [](log::v1::BanditTuple* tuple) {
              tuple->mutable_decision()->set_seed(1);
            }),
       kOk, ReasonText(kSeeded), 6},
  };
}

class NoModelTest : public testing::Test {
 protected:
  NoModelTest() {
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.mutable_poem()->add_lambda(0.5);
    options_.mutable_poem()->add_l2(1e-4);
    EXPECT_OK(store_.Publish(LoggingModel({}), nullptr, {}));
  }

  TempDir dir_;
  ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
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
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("no tuple of model 'default' in ")));
  options_.set_tuples(dir_.Sub("tuples") + "/missing");
  EXPECT_THAT(Train(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("missing")));
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
  EXPECT_THAT(report.evaluation().verdict(),
              testing::AllOf(
                  testing::StartsWith("Not published: no interval of this log"),
                  HasSubstr("The logged propensities cannot be right")));
  options_.set_force(true);
  ASSERT_OK_AND_ASSIGN(const auto forced, Train(options_));
  EXPECT_FALSE(forced.gate_passed());
  EXPECT_EQ(forced.version(), 2);
}

}  // namespace
}  // namespace sortition
