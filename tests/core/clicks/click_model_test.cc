#include "core/clicks/click_model.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/clicks/click_evaluation.h"
#include "core/clicks/click_fitter.h"
#include "core/clicks/click_sessions.h"
#include "core/clicks/click_user.h"
#include "gtest/gtest.h"
#include "tests/core/clicks/click_world.h"
#include "tests/testing/chi_square.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::DoubleNear;

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
                         ::testing::ValuesIn(AllClickModelKinds()), NameOfKind);

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
  ClickModel model;
  EXPECT_THAT(CheckClickModel(model),
              IsInvalidArgument("examination is empty"));
  model.examination = {1, 1.5};
  EXPECT_THAT(CheckClickModel(model),
              IsInvalidArgument("examination[1] is 1.5, must be in [0, 1]"));
  model = ExampleModel(ClickModelKind::kTrustBias);
  model.slopes[1] = .9;
  EXPECT_THAT(CheckClickModel(model),
              IsInvalidArgument(
                  "slopes + offsets at rank 1 is 1.02, must be in [0, 1]"));
  model = ExampleModel(ClickModelKind::kTrustBias);
  model.examination = {1, .5};
  EXPECT_THAT(
      CheckClickModel(model),
      IsInvalidArgument("examination at rank 1 is 0.5, must be at least 0.77"));
  model = ExampleModel(ClickModelKind::kDependentClick);
  model.continuations[2] = -.1;
  EXPECT_THAT(CheckClickModel(model),
              IsInvalidArgument("continuations[2] is -0.1"));
  model = ExampleModel(ClickModelKind::kBayesianNetwork);
  model.perseverance = std::nan("");
  EXPECT_THAT(CheckClickModel(model), IsInvalidArgument("perseverance is nan"));
  EXPECT_THAT(ParseClickModelKind("ubm"),
              IsInvalidArgument("click model is \"ubm\", must be one of "
                                "position_based, trust_bias"));
}

TEST(ClickSessionsTest, GivesBackWhatWasAdded) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(9));
  ASSERT_OK(sessions.Add(Items{8, 0}, Clicks{1, 0}));
  ASSERT_OK(sessions.Add(Items{3, 2, 1}, Clicks{0, 2, 0}, 2.5));
  ASSERT_OK(sessions.Add(Items{5, 6, 7, 8}, Clicks{0, 1, 0, 0}, 1, 2));
  ASSERT_EQ(sessions.size(), 3u);
  EXPECT_EQ(sessions.num_impressions(), 9u);
  EXPECT_EQ(sessions.num_ranks(), 3u);
  EXPECT_EQ(sessions.total_weight(), 4.5);
  EXPECT_EQ(sessions[0].item(0), 8u);
  EXPECT_TRUE(sessions[0].clicked(0));
  EXPECT_FALSE(sessions[0].clicked(1));
  EXPECT_EQ(sessions[0].weight(), 1);
  EXPECT_EQ(sessions[0].size(), 2u);
  EXPECT_EQ(sessions[1].weight(), 2.5);
  EXPECT_TRUE(sessions[1].clicked(1));
  EXPECT_EQ(sessions[1].size(), 3u);
  EXPECT_EQ(sessions[2].size(), 2u);
  EXPECT_EQ(sessions[2].num_shown(), 4u);
  EXPECT_EQ(sessions[2].item(3), 8u);
  EXPECT_EQ(sessions[2].weight(), 1);
  EXPECT_EQ(sessions.first_impression(2), 5u);
}

TEST(ClickSessionsTest, TakesFiveAndAHalfBytesAnImpression) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(10));
  const Items items = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  const Clicks clicks(10, 0);
  constexpr size_t kSessions = 1000;
  for (size_t s = 0; s < kSessions; ++s) {
    ASSERT_OK(sessions.Add(items, clicks, 2, 9));
  }
  // (40 + 8 + 4 + 2) bytes a session, and one begin more.
  EXPECT_EQ(sessions.memory_bytes(), 54 * kSessions + 8);
}

TEST(ClickSessionsTest, UntilFirstClickHidesWhatIsBelow) {
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(4));
  ASSERT_OK(sessions.Add(Items{0, 1, 2, 3}, Clicks{0, 1, 0, 1}, 3));
  ASSERT_OK(sessions.Add(Items{3, 2}, Clicks{0, 0}));
  const ClickSessions cut = UntilFirstClick(sessions);
  ASSERT_EQ(cut.size(), 2u);
  EXPECT_EQ(cut[0].size(), 2u);
  EXPECT_EQ(cut[0].num_shown(), 4u);
  EXPECT_EQ(cut[0].weight(), 3);
  EXPECT_TRUE(cut[0].clicked(1));
  EXPECT_EQ(cut[1].size(), 2u);
}

TEST(ClickSessionsTest, RefusesWhatIsWrong) {
  EXPECT_THAT(ClickSessions::Create(0),
              IsInvalidArgument("num_items is 0, must be in [1, 2147483648]"));
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(3));
  EXPECT_THAT(sessions.Add(Items{}, Clicks{}),
              IsInvalidArgument("items.size is 0, must be in [1, 1000]"));
  EXPECT_THAT(sessions.Add(Items{0, 1}, Clicks{0}),
              IsInvalidArgument("clicks.size is 1, must be items.size = 2"));
  EXPECT_THAT(sessions.Add(Items{0, 3}, Clicks{0, 0}),
              IsInvalidArgument("items[1] is 3, must be in [0, 2]"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0}, 0),
              IsInvalidArgument("weight is 0, must be positive and finite"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0},
                           std::numeric_limits<double>::quiet_NaN()),
              IsInvalidArgument("weight is nan"));
  EXPECT_THAT(sessions.Add(Items{0}, Clicks{0}, 1, 2),
              IsInvalidArgument("num_seen is 2, must be in [1, 1]"));
  EXPECT_THAT(
      sessions.Add(Items{0, 1}, Clicks{0, 1}, 1, 1),
      IsInvalidArgument("clicks[1] is 1, must be 0, since only 1 ranks"));
  EXPECT_EQ(sessions.size(), 0u);
  EXPECT_EQ(sessions.num_impressions(), 0u);
}

auto Near(double value) { return DoubleNear(value, 1e-12); }

TEST(ClickUserTest, UltraHasItsPublishedNumbers) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("ultra_pbm"));
  EXPECT_THAT(user.attractions,
              ElementsAre(Near(.1), Near(.16), Near(.28), Near(.52), Near(1)));
  EXPECT_THAT(user.model.examination,
              ElementsAre(.68, .61, .48, .34, .28, .20, .11, .10, .08, .06));
  // ULTRA repeats the last one.
  EXPECT_EQ(user.model.Examination(50), .06);
  ClickUserOptions options;
  options.eta = 2;
  options.noise = 0;
  options.max_relevance = 2;
  ASSERT_OK_AND_ASSIGN(const ClickUser other,
                       MakeClickUser("ultra_pbm", options));
  EXPECT_THAT(other.attractions, ElementsAre(0, Near(1. / 3), Near(1)));
  EXPECT_NEAR(other.model.Examination(1), .61 * .61, 1e-15);
}

// Rank 2 of ULTRA: θ = .48, ε⁺ = 1 - 4/100, ε⁻ = .65 / 3.
TEST(ClickUserTest, UltraTrustIsAffine) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("ultra_trust"));
  EXPECT_NEAR(user.model.Offset(2), .48 * .65 / 3, 1e-15);
  EXPECT_NEAR(user.model.Slope(2), .48 * (.96 - .65 / 3), 1e-15);
}

// [Oosterhuis23] prints α = .35 .53 .55 .54 .52, β = .65 .26 .15 .11 .08 for
// his five ranks, to two decimals.
TEST(ClickUserTest, OosterhuisHasHisPublishedNumbers) {
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("oosterhuis_trust"));
  const double slopes[] = {.35, .53, .55, .54, .52};
  const double offsets[] = {.65, .26, .15, .11, .08};
  for (size_t r = 0; r < 5; ++r) {
    EXPECT_NEAR(user.model.Slope(r), slopes[r], .005) << r;
    EXPECT_NEAR(user.model.Offset(r), offsets[r], .005) << r;
  }
  EXPECT_THAT(user.attractions, ElementsAre(0, .25, .5, .75, 1));
}

TEST(ClickUserTest, EveryUserIsAModel) {
  for (const absl::string_view name : ClickUserNames()) {
    for (const uint32_t max_relevance : {1, 2, 4, 5}) {
      ClickUserOptions options;
      options.max_relevance = max_relevance;
      ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser(name, options));
      EXPECT_OK(CheckClickModel(user.model));
      EXPECT_EQ(user.attractions.size(), max_relevance + 1) << name;
      for (uint32_t g = 0; g < max_relevance; ++g) {
        EXPECT_LE(user.attractions[g], user.attractions[g + 1]) << name;
      }
      EXPECT_GE(user.attractions[0], 0) << name;
      EXPECT_LE(user.attractions.back(), 1 + 1e-15) << name;
    }
  }
}

TEST(ClickUserTest, NoiseIsTheAttractionOfGradeZero) {
  for (const absl::string_view name : ClickUserNames()) {
    ClickUserOptions options;
    options.noise = .3;
    ASSERT_OK_AND_ASSIGN(const ClickUser noisy, MakeClickUser(name, options));
    options.noise = 0;
    ASSERT_OK_AND_ASSIGN(const ClickUser quiet, MakeClickUser(name, options));
    for (size_t g = 0; g < 5; ++g) {
      EXPECT_NEAR(noisy.attractions[g], .3 + .7 * quiet.attractions[g], 1e-12);
    }
  }
}

// The expected utility of the network is ERR with R = a s, with noise too: R_1
// = 1/16, R_0 = 0, R_3 = 7/16, R_2 = 3/16, R_4 = 15/16 [Chapelle09, eq. 5].
TEST(ClickUserTest, ExpectedReciprocalRankIsThatOfGrades) {
  const std::vector<uint32_t> grades = {1, 0, 3, 2, 4};
  const double expected =
      1. / 16 +
      15. / 16 *
          (7. / 16 / 3 + 9. / 16 * (3. / 16 / 4 + 13. / 16 * 15. / 16 / 5));
  for (const double noise : {0.0, 0.2}) {
    ClickUserOptions options;
    options.noise = noise;
    ASSERT_OK_AND_ASSIGN(const ClickUser user,
                         MakeClickUser("expected_reciprocal_rank", options));
    const GradedList graded(user, grades);
    EXPECT_NEAR(ExpectedReciprocalRank(user.model, graded.list()), expected,
                1e-12);
  }
}

TEST(ClickUserTest, ClicksAreAFunctionOfSeedAndDecision) {
  const std::vector<uint32_t> grades = {2, 2, 2, 2, 2, 2, 2, 2};
  ASSERT_OK_AND_ASSIGN(const ClickUser user, MakeClickUser("near_random"));
  int other_seeds = 0;
  int other_decisions = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string id = absl::StrCat("d", i);
    const std::vector<uint8_t> clicks = ClicksOf(user, grades, 1, id);
    EXPECT_EQ(clicks, ClicksOf(user, grades, 1, id));
    other_seeds += clicks != ClicksOf(user, grades, 2, id);
    other_decisions += clicks != ClicksOf(user, grades, 1, id + "x");
  }
  // Rank 0 alone differs with probability 1/2; Binomial(100, 1/2) is below 20
  // with probability under 1e-9.
  EXPECT_GT(other_seeds, 20);
  EXPECT_GT(other_decisions, 20);
}

TEST(ClickUserTest, RefusesWhatIsWrong) {
  EXPECT_THAT(MakeClickUser("pbm"),
              IsInvalidArgument("user is \"pbm\", must be one of ultra_pbm, "));
  ClickUserOptions options;
  options.max_relevance = 0;
  EXPECT_THAT(MakeClickUser("perfect", options),
              IsInvalidArgument("max_relevance is 0, must be in [1, 31]"));
  options = {};
  options.eta = -1;
  EXPECT_THAT(MakeClickUser("perfect", options),
              IsInvalidArgument("eta is -1, must be in [0, 10]"));
  options = {};
  options.noise = 1.5;
  EXPECT_THAT(MakeClickUser("perfect", options),
              IsInvalidArgument("noise is 1.5, must be in [0, 1]"));
}

TEST(ClickEvaluationTest, PerplexityIsThatOfTheDefinition) {
  FittedClicks fitted;
  fitted.model.kind = ClickModelKind::kCascade;
  fitted.attractions = {.5, .25};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(2));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{0, 1}));
  ASSERT_OK(sessions.Add(Items{1, 0}, Clicks{1, 0}, 3));
  ASSERT_OK(sessions.Add(Items{0, 1}, Clicks{1, 0}, 2, 1));
  const ClickEvaluation evaluation = EvaluateClicks(fitted, sessions);
  EXPECT_EQ(evaluation.total_weight, 6);
  // P = 1/2 · 1/4; 1/4; 1/2 for the first rank alone.
  EXPECT_NEAR(evaluation.log_likelihood,
              (std::log(.125) + 3 * std::log(.25) + 2 * std::log(.5)) / 6,
              1e-12);
  // Rank 0: 1, 2 and 1 bits with weights 1, 3 and 2.
  EXPECT_NEAR(evaluation.perplexity[0], std::exp2(9. / 6), 1e-12);
  // Rank 1, weights 1 and 3: q = 1/2 · 1/4 clicked, q = 3/4 · 1/2 not.
  EXPECT_NEAR(evaluation.perplexity[1],
              std::exp2((3 - 3 * std::log2(1 - .375)) / 4), 1e-12);
  // Given the clicks above: 1/4 clicked; 0 not clicked.
  EXPECT_NEAR(evaluation.conditional_perplexity[1], std::exp2(2. / 4), 1e-12);
  EXPECT_NEAR(evaluation.mean_perplexity,
              (evaluation.perplexity[0] + evaluation.perplexity[1]) / 2, 1e-12);
}

TEST(ClickEvaluationTest, ImpossibleClicksAreInfinitelyBad) {
  FittedClicks none;
  none.model.kind = ClickModelKind::kCascade;
  none.attractions = {0};
  FittedClicks some = none;
  some.attractions = {.5};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(1));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{1}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(EvaluateClicks(none, sessions).log_likelihood, -kInfinity);
  EXPECT_EQ(EvaluateClicks(none, sessions).perplexity[0], kInfinity);
  EXPECT_EQ(CompareClicks(some, none, sessions).difference, kInfinity);
  EXPECT_EQ(CompareClicks(none, none, sessions).difference, 0);
}

TEST(ClickEvaluationTest, ComparisonIsTheMeanOfDifferences) {
  FittedClicks a;
  a.model.kind = ClickModelKind::kCascade;
  a.attractions = {.5};
  FittedClicks b = a;
  b.attractions = {.25};
  ASSERT_OK_AND_ASSIGN(ClickSessions sessions, ClickSessions::Create(1));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{1}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  ASSERT_OK(sessions.Add(Items{0}, Clicks{0}));
  // log 2 once, log 2/3 twice.
  const double x = std::log(2.);
  const double y = std::log(2. / 3);
  const double mean = (x + 2 * y) / 3;
  const ClickComparison comparison = CompareClicks(a, b, sessions);
  EXPECT_NEAR(comparison.difference, mean, 1e-12);
  const double variance =
      ((x - mean) * (x - mean) + 2 * (y - mean) * (y - mean)) / 2;
  EXPECT_NEAR(comparison.standard_error, std::sqrt(variance / 3), 1e-12);
}

class TrueModelTest : public ::testing::TestWithParam<ClickModelKind> {};

// On sessions that no model has seen, the kind of the world is best. A kind
// that contains it (λ = 0 is a cascade, β = 0 is position-based) comes within
// what its additional parameters, at most 60, cost: each half a nat over the
// training sessions, so 30/10000 nats a session, plus chance.
TEST_P(TrueModelTest, PredictsBestInItsWorld) {
  const ClickWorld world = MakeClickWorld(ExampleModel(GetParam()), 5);
  const ClickSessions training = DrawSessions(world, 10000, 8, 21);
  const ClickSessions held_out = DrawSessions(world, 10000, 8, 22);
  const auto fit = [](const ClickSessions& sessions, ClickModelKind kind) {
    ClickFitOptions options = OptionsFor(kind);
    options.prior_hits = .5;
    options.prior_misses = .5;
    return FitClicks(sessions, options);
  };
  const FittedClicks right = fit(training, GetParam());
  for (const ClickModelKind kind : AllClickModelKinds()) {
    if (kind == GetParam()) continue;
    const bool cuts = kind == ClickModelKind::kCascade;
    const FittedClicks wrong =
        fit(cuts ? UntilFirstClick(training) : training, kind);
    const ClickComparison comparison = CompareClicks(right, wrong, held_out);
    if (cuts) {
      EXPECT_EQ(comparison.difference, std::numeric_limits<double>::infinity());
      continue;
    }
    const bool contains = GetParam() == ClickModelKind::kCascade &&
                          (kind == ClickModelKind::kDependentClick ||
                           kind == ClickModelKind::kBayesianNetwork);
    if (contains) {
      EXPECT_GT(comparison.difference, -4 * comparison.standard_error - 1e-6);
      EXPECT_LT(comparison.difference, .003 + 4 * comparison.standard_error);
    } else {
      EXPECT_GT(comparison.difference, 4 * comparison.standard_error)
          << ClickModelName(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TrueModelTest,
                         ::testing::ValuesIn(AllClickModelKinds()), NameOfKind);

}  // namespace
}  // namespace sortition
