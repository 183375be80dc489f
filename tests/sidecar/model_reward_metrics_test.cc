#include "sidecar/model_reward_metrics.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::Not;

class ModelRewardMetricsTest : public testing::Test {
 protected:
  double Tuples(const std::string& model, const std::string& version,
                bool has_feedback) {
    return metrics_
        .Counter("sortition_sidecar_tuples_total", "",
                 Labels(model, version, has_feedback))
        ->value();
  }
  double Sum(const std::string& model, const std::string& version,
             bool has_feedback, const std::string& sign = "positive") {
    MetricLabels labels = Labels(model, version, has_feedback);
    labels["sign"] = sign;
    return metrics_.Counter("sortition_sidecar_reward_total", "", labels)
        ->value();
  }
  double SquareSum(const std::string& model, const std::string& version,
                   bool has_feedback) {
    return metrics_
        .Counter("sortition_sidecar_reward_squares_total", "",
                 Labels(model, version, has_feedback))
        ->value();
  }
  double Mean(const std::string& of) {
    return metrics_
        .Gauge("sortition_sidecar_mean_reward", "",
               {{"model", "m"}, {"of", of}})
        ->value();
  }
  double Error(const std::string& of) {
    return metrics_
        .Gauge("sortition_sidecar_mean_reward_error", "",
               {{"model", "m"}, {"of", of}})
        ->value();
  }
  // Adds `count` tuples of model "m" with the reward 0, and as many with 1.
  void AddHalves(uint64_t version, int count) {
    for (int i = 0; i < count; ++i) {
      rewards_.Add("m", version, true, 0);
      rewards_.Add("m", version, true, 1);
    }
  }
  static MetricLabels Labels(const std::string& model,
                             const std::string& version, bool has_feedback) {
    return {{"model", model},
            {"version", version},
            {"has_feedback", has_feedback ? "true" : "false"}};
  }

  Metrics metrics_;
  ModelRewardMetrics rewards_{&metrics_};
};

TEST_F(ModelRewardMetricsTest, CountsAndSumsByModelVersionAndFeedback) {
  rewards_.Add("m", 1, true, 2);
  rewards_.Add("m", 1, true, -3.5);
  rewards_.Add("m", 1, false, 0.25);
  rewards_.Add("m", 2, true, 8);
  rewards_.Add("n", 1, true, 16);
  EXPECT_EQ(Tuples("m", "1", true), 2);
  EXPECT_EQ(Sum("m", "1", true), 2);
  EXPECT_EQ(Sum("m", "1", true, "negative"), 3.5);
  EXPECT_EQ(SquareSum("m", "1", true), 4 + 12.25);
  EXPECT_EQ(Tuples("m", "1", false), 1);
  EXPECT_EQ(Sum("m", "1", false), 0.25);
  EXPECT_EQ(SquareSum("m", "1", false), 0.0625);
  EXPECT_EQ(Sum("m", "2", true), 8);
  EXPECT_EQ(Sum("n", "1", true), 16);
}

// With four versions to keep, version 5 displaces version 1.
TEST_F(ModelRewardMetricsTest, OlderVersionsAreCountedTogether) {
  for (uint64_t version = 1; version <= 5; ++version) {
    rewards_.Add("m", version, true, 1);
  }
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("version=\"1\"")));
  EXPECT_THAT(metrics_.Text(), HasSubstr("version=\"2\""));
  rewards_.Add("m", 1, true, 4);
  rewards_.Add("m", 0, false, 8);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("version=\"1\"")));
  EXPECT_EQ(Tuples("m", "other", true), 1);
  EXPECT_EQ(Sum("m", "other", true), 4);
  EXPECT_EQ(Sum("m", "other", false), 8);
}

// Aggregate logs under any name that a caller gives.
TEST_F(ModelRewardMetricsTest, ModelsAreBounded) {
  for (size_t i = 0; i < ModelRewardMetrics::kMaxModels; ++i) {
    rewards_.Add(absl::StrCat("m", i), 1, true, 1);
  }
  rewards_.Add("one more", 1, true, 2);
  rewards_.Add("and another", 7, true, 4);
  rewards_.Add("m0", 1, true, 1);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("one more")));
  EXPECT_EQ(Sum("other", "other", true), 6);
  EXPECT_EQ(Sum("m0", "1", true), 2);
}

// Of n zeros and n ones the variance is n / (2 (2 n - 1)), and the square of
// the standard error 1 / (4 (2 n - 1)).
TEST_F(ModelRewardMetricsTest, TellsTheMeansOfTheTwoNewestVersions) {
  AddHalves(1, 100);
  AddHalves(3, 50);
  for (int i = 0; i < 100; ++i) rewards_.Add("m", 4, false, -2);
  EXPECT_DOUBLE_EQ(Mean("newest"), -2);
  EXPECT_DOUBLE_EQ(Error("newest"), 0);
  EXPECT_DOUBLE_EQ(Mean("previous"), 0.5);
  EXPECT_DOUBLE_EQ(Error("previous"), std::sqrt(1.0 / (4 * 99)));
}

TEST_F(ModelRewardMetricsTest, AMeanOfFewTuplesIsNotTold) {
  AddHalves(1, 60);
  EXPECT_EQ(Mean("newest"), 0.5);
  EXPECT_THAT(metrics_.Text(), Not(HasSubstr("of=\"previous\"")));
  AddHalves(2, 49);
  rewards_.Add("m", 2, true, 1);
  EXPECT_TRUE(std::isnan(Mean("newest")));
  EXPECT_TRUE(std::isnan(Error("newest")));
  EXPECT_EQ(Mean("previous"), 0.5);
  rewards_.Add("m", 2, true, 0);
  EXPECT_EQ(Mean("newest"), 0.5);
}

}  // namespace
}  // namespace sortition
