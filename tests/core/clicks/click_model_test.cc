#include "core/clicks/click_model.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/core/invalid.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

constexpr size_t kRanks = 5;
const std::vector<double> kAttractions = {.3, .8, .05, .6, .45};
const std::vector<double> kSatisfactions = {.2, .7, .5, .9, .4};
const ShownList kList = {kAttractions, kSatisfactions};

std::vector<uint8_t> Pattern(size_t bits, size_t ranks = kRanks) {
  std::vector<uint8_t> clicks(ranks);
  for (size_t r = 0; r < ranks; ++r) clicks[r] = (bits >> r) & 1;
  return clicks;
}

// P(clicks) of users who read on, by the sum over where they stop reading: the
// definition, without recursions.
double ByStoppingRank(const ClickModel& model,
                      const std::vector<uint8_t>& clicks) {
  const auto goes_on = [&](size_t r) -> double {
    switch (model.kind) {
      case ClickModelKind::kCascade:
        return clicks[r] != 0 ? 0 : 1;
      case ClickModelKind::kDependentClick:
        return clicks[r] != 0 ? model.continuations[r] : 1;
      default:
        return model.perseverance *
               (clicks[r] != 0 ? 1 - kSatisfactions[r] : 1);
    }
  };
  double sum = 0;
  for (size_t last = 0; last < clicks.size(); ++last) {
    double p = 1;
    for (size_t r = 0; r < clicks.size(); ++r) {
      if (r > last) {
        p *= clicks[r] != 0 ? 0 : 1;
        continue;
      }
      p *= clicks[r] != 0 ? kAttractions[r] : 1 - kAttractions[r];
      if (r < last) p *= goes_on(r);
    }
    if (last + 1 < clicks.size()) p *= 1 - goes_on(last);
    sum += p;
  }
  return sum;
}

double ByDefinition(const ClickModel& model,
                    const std::vector<uint8_t>& clicks) {
  if (model.kind != ClickModelKind::kPositionBased &&
      model.kind != ClickModelKind::kTrustBias) {
    return ByStoppingRank(model, clicks);
  }
  double p = 1;
  for (size_t r = 0; r < clicks.size(); ++r) {
    const double click =
        model.kind == ClickModelKind::kPositionBased
            ? model.examination[r] * kAttractions[r]
            : model.slopes[r] * kAttractions[r] + model.offsets[r];
    p *= clicks[r] != 0 ? click : 1 - click;
  }
  return p;
}

class ClickModelTest : public ::testing::TestWithParam<ClickModelKind> {
 protected:
  const ClickModel model_ = ExampleModel(GetParam());
};

TEST_P(ClickModelTest, LikelihoodIsThatOfTheDefinitionAndSumsToOne) {
  double sum = 0;
  for (size_t bits = 0; bits < 1u << kRanks; ++bits) {
    const double p = std::exp(ClickLogLikelihood(model_, kList, Pattern(bits)));
    EXPECT_NEAR(p, ByDefinition(model_, Pattern(bits)), 1e-14) << bits;
    sum += p;
  }
  EXPECT_NEAR(sum, 1, 1e-14);
}

TEST_P(ClickModelTest, MarginalsAreSumsOverPatterns) {
  std::vector<double> clicks(kRanks);
  std::vector<double> examinations(kRanks);
  MarginalClickProbabilities(model_, kList, clicks, examinations);
  for (size_t r = 0; r < kRanks; ++r) {
    double sum = 0;
    for (size_t bits = 0; bits < 1u << kRanks; ++bits) {
      if (((bits >> r) & 1) != 0) sum += ByDefinition(model_, Pattern(bits));
    }
    EXPECT_NEAR(clicks[r], sum, 1e-14) << r;
    if (GetParam() == ClickModelKind::kTrustBias) continue;
    EXPECT_NEAR(examinations[r] * kAttractions[r], sum, 1e-14) << r;
  }
}

TEST_P(ClickModelTest, ConditionalsAreQuotientsOfSumsAndMultiply) {
  for (size_t bits = 0; bits < 1u << kRanks; ++bits) {
    const std::vector<uint8_t> clicks = Pattern(bits);
    if (ByDefinition(model_, clicks) == 0) continue;
    std::vector<double> conditionals(kRanks);
    ConditionalClickProbabilities(model_, kList, clicks, conditionals);
    double product = 1;
    for (size_t r = 0; r < kRanks; ++r) {
      product *= clicks[r] != 0 ? conditionals[r] : 1 - conditionals[r];
      double above = 0;
      double with_click = 0;
      for (size_t other = 0; other < 1u << kRanks; ++other) {
        if (((other ^ bits) & ((1u << r) - 1)) != 0) continue;
        const double p = ByDefinition(model_, Pattern(other));
        above += p;
        if (((other >> r) & 1) != 0) with_click += p;
      }
      EXPECT_NEAR(conditionals[r], with_click / above, 1e-13) << bits;
    }
    EXPECT_NEAR(product, ByDefinition(model_, clicks), 1e-14) << bits;
  }
}

TEST_P(ClickModelTest, SimulatedClicksHaveTheirProbabilities) {
  std::vector<uint64_t> counts(1u << kRanks, 0);
  std::vector<double> probabilities;
  for (size_t bits = 0; bits < counts.size(); ++bits) {
    probabilities.push_back(ByDefinition(model_, Pattern(bits)));
  }
  std::vector<uint8_t> clicks(kRanks);
  for (uint32_t draw = 0; draw < 20000; ++draw) {
    SimulateClicks(model_, kList, CounterRandom(SeedKey(3), draw), clicks);
    size_t bits = 0;
    for (size_t r = 0; r < kRanks; ++r) bits |= size_t{clicks[r]} << r;
    ++counts[bits];
  }
  EXPECT_GT(ChiSquarePValue(counts, probabilities), 1e-4);
}

TEST_P(ClickModelTest, HasItsName) {
  EXPECT_THAT(ParseClickModelKind(ClickModelName(GetParam())), IsOk());
  EXPECT_EQ(*ParseClickModelKind(ClickModelName(GetParam())), GetParam());
  EXPECT_OK(CheckClickModel(model_));
}

INSTANTIATE_TEST_SUITE_P(All, ClickModelTest,
                         ::testing::Values(ClickModelKind::kPositionBased,
                                           ClickModelKind::kTrustBias,
                                           ClickModelKind::kCascade,
                                           ClickModelKind::kDependentClick,
                                           ClickModelKind::kBayesianNetwork),
                         [](const auto& test) {
                           return std::string(ClickModelName(test.param));
                         });

TEST(ClickModelEdgeTest, RanksBeyondTheEndHaveTheLastValue) {
  ClickModel model;
  model.examination = {1, .5};
  std::vector<double> clicks(kRanks);
  std::vector<double> examinations(kRanks);
  MarginalClickProbabilities(model, kList, clicks, examinations);
  EXPECT_EQ(examinations[4], .5);
  EXPECT_EQ(clicks[4], .5 * kAttractions[4]);
}

TEST(ClickModelEdgeTest, ASecondClickIsImpossibleInACascade) {
  ClickModel model;
  model.kind = ClickModelKind::kCascade;
  EXPECT_EQ(ClickLogLikelihood(model, kList, Pattern(0b101)),
            -std::numeric_limits<double>::infinity());
}

TEST(ClickModelEdgeTest, ExaminationOfTrustBiasIsItsLeastWhereNotStated) {
  ClickModel model = ExampleModel(ClickModelKind::kTrustBias);
  EXPECT_DOUBLE_EQ(model.Examination(1), .77);
  model.examination = {1, .9};
  EXPECT_EQ(model.Examination(1), .9);
  EXPECT_OK(CheckClickModel(model));
}

TEST(ClickModelEdgeTest, CheckNamesFieldValueAndRange) {
  const auto invalid = [](const std::string& text) {
    return IsInvalid(HasSubstr(text));
  };
  ClickModel model;
  EXPECT_THAT(CheckClickModel(model), invalid("examination is empty"));
  model.examination = {1, 1.5};
  EXPECT_THAT(CheckClickModel(model),
              invalid("examination[1] is 1.5, must be in [0, 1]"));
  model = ExampleModel(ClickModelKind::kTrustBias);
  model.slopes[1] = .9;
  EXPECT_THAT(CheckClickModel(model),
              invalid("slopes + offsets at rank 1 is 1.02, must be in [0, 1]"));
  model = ExampleModel(ClickModelKind::kTrustBias);
  model.examination = {1, .5};
  EXPECT_THAT(CheckClickModel(model),
              invalid("examination at rank 1 is 0.5, must be at least 0.77"));
  model = ExampleModel(ClickModelKind::kDependentClick);
  model.continuations[2] = -.1;
  EXPECT_THAT(CheckClickModel(model), invalid("continuations[2] is -0.1"));
  model = ExampleModel(ClickModelKind::kBayesianNetwork);
  model.perseverance = std::nan("");
  EXPECT_THAT(CheckClickModel(model), invalid("perseverance is nan"));
  EXPECT_THAT(ParseClickModelKind("ubm"),
              invalid("click model is \"ubm\", must be one of "
                      "position_based, trust_bias"));
}

}  // namespace
}  // namespace sortition
