#include "server/decisions/entropy_sample.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/decisions/ranking_service_fixture.h"

namespace sortition {
namespace {

using EntropySampleTest = RankingServiceTest;

const MetricSample& EntropyMetric(const MetricSamples& samples,
                                  const std::string& model) {
  static const MetricSample kNone;
  for (const MetricSample& sample :
       samples.at("sortition_version_entropy_nats")) {
    if (sample.labels.at("model") == model) return sample;
  }
  ADD_FAILURE() << model;
  return kNone;
}

uint64_t CountOf(const MetricSample& sample) {
  uint64_t count = 0;
  for (const uint64_t bin : sample.counts) count += bin;
  return count;
}

TEST_F(EntropySampleTest, EntropyByHand) {
  EXPECT_DOUBLE_EQ(EntropyOf(std::vector<double>{0.5, 0.25}, 0.25),
                   1.5 * std::log(2));
  EXPECT_EQ(EntropyOf(std::vector<double>{1, 0}, 0), 0);
}

// Of 4,000 decisions 15.6 are expected, with a standard deviation of 3.9; the
// salts and ids are fixed, and so is the number.
TEST_F(EntropySampleTest, OneDecisionIn256HasTheEntropyOfItsVersion) {
  for (int i = 0; i < 4000; ++i) {
    v1::SelectRequest select = GoodSelect();
    select.mutable_context()->set_decision_id(absl::StrCat("s", i));
    ASSERT_OK(Select(select));
    v1::RankRequest rank = GoodRank();
    rank.mutable_context()->set_decision_id(absl::StrCat("r", i));
    ASSERT_OK(Rank(rank));
  }
  const MetricSamples samples = metrics_.Read();
  // Scores 1, 2 and 3; abstaining, which only "pick" can, has the score 0.
  const auto entropy = [](bool can_abstain) {
    double all = can_abstain ? 1 : 0;
    for (const double score : {1, 2, 3}) all += std::exp(score);
    double sum = can_abstain ? std::log(all) / all : 0;
    for (const double score : {1, 2, 3}) {
      const double p = std::exp(score) / all;
      sum -= p * std::log(p);
    }
    return sum;
  };
  for (const bool is_select : {true, false}) {
    const MetricSample& sample =
        EntropyMetric(samples, is_select ? "pick" : "order");
    const uint64_t count = CountOf(sample);
    EXPECT_GE(count, 2u);
    EXPECT_LE(count, 36u);
    EXPECT_NEAR(sample.value / static_cast<double>(count), entropy(is_select),
                1e-9);
  }
}

// The draw is the same, whether or not its entropy was measured: verification
// would say so, and here the propensity does.
TEST_F(EntropySampleTest, PropensitiesByVersionAreThoseOfTheAnswers) {
  double sum = 0;
  for (int i = 0; i < 600; ++i) {
    v1::SelectRequest select = GoodSelect();
    select.mutable_context()->set_decision_id(absl::StrCat("s", i));
    ASSERT_OK(Select(select));
    sum += std::exp(select_.result().log_propensity());
  }
  const MetricSamples samples = metrics_.Read();
  for (const MetricSample& sample :
       samples.at("sortition_version_propensity")) {
    if (sample.labels.at("model") != "pick") continue;
    EXPECT_NEAR(sample.value, sum, 1e-9);
    EXPECT_EQ(CountOf(sample), 600u);
  }
}

TEST_F(EntropySampleTest, TheUniformPolicyIsCountedToo) {
  v1::SelectRequest select = GoodSelect();
  select.mutable_context()->set_model("default");
  ASSERT_OK(Select(select));
  EXPECT_EQ(
      metrics_
          .Counter("sortition_version_answers_total", "",
                   {{"model", "default"}, {"version", "0"}, {"code", "OK"}})
          ->value(),
      1);
}

}  // namespace
}  // namespace sortition
