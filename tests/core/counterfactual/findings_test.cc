#include "core/counterfactual/findings.h"

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

// A log with weights themselves, not their logarithms.
struct Log {
  std::vector<double> weights;
  std::vector<double> propensities;
  std::vector<double> uniform;  // q
  uint64_t shown_otherwise = 0;
  uint64_t without_full_support = 0;
  uint64_t impossible = 0;
  double clip = 1000;

  Overlap Measure() const {
    const auto logs = [](const std::vector<double>& values) {
      std::vector<double> result;
      for (const double value : values) result.push_back(std::log(value));
      return result;
    };
    const auto w = logs(weights);
    const auto p = logs(propensities);
    const auto q = logs(uniform);
    return MeasureOverlap({.log_weights = w,
                           .log_propensities = p,
                           .log_uniform = q,
                           .shown_otherwise = shown_otherwise,
                           .without_full_support = without_full_support,
                           .impossible = impossible,
                           .clip = clip});
  }
};

// Four actions with p = q = 1/4 and a policy that gives 0.3 or 0.2 to the
// logged action: there is nothing to find.
Log Healthy(size_t n) {
  Log log;
  for (size_t i = 0; i < n; ++i) {
    log.weights.push_back(i % 2 == 0 ? 1.2 : 0.8);
    log.propensities.push_back(0.25);
    log.uniform.push_back(0.25);
  }
  return log;
}

std::vector<std::string> Kinds(const Log& log, TupleUse use) {
  std::vector<std::string> kinds;
  for (const Finding& finding : JudgeOverlap(log.Measure(), use)) {
    kinds.emplace_back(FindingKindName(finding.kind));
  }
  return kinds;
}

// Weights 8, 4, 2, 1 and 1 of 5 tuples: Σ = 16, Σ² = 86, mean 3.2.
TEST(MeasureOverlapTest, NumbersByHand) {
  Log log;
  log.weights = {1, 8, 1, 4, 2};
  log.propensities = {0.5, 0.125, 1, 0.25, 0.5};
  log.uniform = {0.5, 0.5, 1, 0.25, 0.25};
  log.clip = 3;
  log.shown_otherwise = 1;
  const Overlap overlap = log.Measure();
  EXPECT_EQ(overlap.num_tuples, 5);
  EXPECT_DOUBLE_EQ(overlap.weight.value, 3.2);
  // Σ (ρ - 3.2)² = 86 - 5 · 3.2² = 34.8, over 4 · 5.
  EXPECT_NEAR(overlap.weight.error, std::sqrt(34.8 / 20), 1e-12);
  EXPECT_NEAR(overlap.effective_sample_size, 256 / 86.0, 1e-12);
  EXPECT_NEAR(overlap.largest_share, 0.5, 1e-12);
  EXPECT_EQ(overlap.half_weight_tuples, 1);
  EXPECT_DOUBLE_EQ(overlap.clipped_fraction, 0.4);
  EXPECT_NEAR(overlap.clipped_mass, (5 + 1) / 16.0, 1e-12);
  EXPECT_NEAR(overlap.median_weight, 2, 1e-12);  // ⌈2.5⌉ = third smallest.
  EXPECT_NEAR(overlap.weight_p90, 8, 1e-12);
  EXPECT_NEAR(overlap.weight_p99, 8, 1e-12);
  EXPECT_NEAR(overlap.largest_weight, 8, 1e-12);
  EXPECT_NEAR(overlap.smallest_propensity, 0.125, 1e-12);
  EXPECT_DOUBLE_EQ(overlap.deterministic_fraction, 0.2);
  EXPECT_DOUBLE_EQ(overlap.shown_otherwise_fraction, 0.2);
  // q/p = 1, 4, 1, 1, 1/2.
  EXPECT_NEAR(overlap.uniform_weight.value, 1.5, 1e-12);
  EXPECT_NEAR(overlap.largest_uniform_weight, 4, 1e-12);
}

TEST(MeasureOverlapTest, ExtremesStayFinite) {
  EXPECT_EQ(Log().Measure().num_tuples, 0);
  EXPECT_THAT(JudgeOverlap(Log().Measure(), TupleUse::kHeldOut), IsEmpty());
  Log log = Healthy(3);
  log.weights = {0, 0, 0};
  const Overlap none = log.Measure();
  EXPECT_EQ(none.effective_sample_size, 0);
  EXPECT_EQ(none.half_weight_tuples, 0);
  EXPECT_EQ(none.clipped_mass, 0);
  log.weights = {1e-320, 1e-320, std::numeric_limits<double>::infinity()};
  const Overlap huge = log.Measure();
  EXPECT_TRUE(std::isfinite(huge.weight.error));
  EXPECT_NEAR(huge.effective_sample_size, 1, 1e-12);
  EXPECT_NEAR(huge.clipped_mass, 1, 1e-12);
}

TEST(JudgeOverlapTest, SaysNothingWhereAllIsWell) {
  EXPECT_THAT(Kinds(Healthy(400), TupleUse::kHeldOut), IsEmpty());
  EXPECT_THAT(Kinds(Healthy(400), TupleUse::kTraining), IsEmpty());
}

// Data that has exactly one trouble, and the sentence for it.
struct Trouble {
  std::string name;
  std::string sentence;  // Part of the message.
  Gravity gravity;
  std::function<void(Log*)> make;  // Changes Healthy(2000).
  TupleUse use = TupleUse::kHeldOut;
};

std::vector<Trouble> Troubles() {
  return {
      // p = 1/8 for half of the tuples, q = 1/4: mean q/p is 1.5.
      {"wrong_propensities",
       "the mean weight of the uniform policy is 1.5 ± 0.011, but it cannot "
       "exceed 1.",
       Gravity::kContradiction,
       [](Log* log) {
         for (size_t i = 0; i < log->weights.size(); i += 2) {
           log->propensities[i] = 0.125;
         }
       }},
      // One action of p = 1e-11 in 2000 draws: 2.5e10 > 2000 · 1e6.
      {"wrong_propensities",
       "an action was drawn that was 2.5e+10 times less probable than under "
       "the uniform policy",
       Gravity::kContradiction, [](Log* log) { log->propensities[7] = 1e-11; }},
      {"wrong_propensities",
       "the mean weight of the policy is 1.5 ± 0.0067, but it cannot exceed 1",
       Gravity::kContradiction,
       [](Log* log) {
         for (double& weight : log->weights) weight *= 1.5;
       }},
      {"deterministic_log",
       "in 95 % of the tuples the logged action had propensity 1, and nothing "
       "is known about any other action.",
       Gravity::kUnsupported,
       [](Log* log) {
         for (size_t i = 0; i < 1900; ++i) log->propensities[i] = 1;
       }},
      // 3 weights of 335 and 1995 of 0.5: both halves are 1000.
      {"few_tuples_decide", "3 of 2,000 tuples carry half of the weight.",
       Gravity::kUnsupported,
       [](Log* log) {
         for (double& weight : log->weights) weight = 0.5;
         for (size_t i = 0; i < 3; ++i) log->weights[i] = 335;
       }},
      // 60 tuples of weight 2000/60: each is worth as much as one drawn by the
      // policy.
      {"few_effective_tuples",
       "its 2,000 tuples are worth 60 drawn from the policy itself; at least "
       "100 are needed.",
       Gravity::kUnsupported,
       [](Log* log) {
         for (size_t i = 0; i < 2000; ++i) {
           log->weights[i] = i < 60 ? 2000 / 60.0 : 0;
         }
       }},
      {"missing_support", "the mean weight is 0.4 ± 0.0018 where 1 is expected",
       Gravity::kUnsupported,
       [](Log* log) {
         for (double& weight : log->weights) weight *= 0.4;
       }},
      {"rarely_tried", "The mean weight is 0.7 ± 0.0031 where 1 is expected",
       Gravity::kCaution,
       [](Log* log) {
         for (double& weight : log->weights) weight *= 0.7;
       }},
      // All propensities were written down 10 % too large.
      {"rarely_tried", "or the logged propensities are too large",
       Gravity::kCaution,
       [](Log* log) {
         for (double& weight : log->weights) weight /= 1.1;
       }},
      // A quarter was not shown; the rest has the mean 1.
      {"shown_otherwise",
       "In 25 % of the tuples something other than the action was shown",
       Gravity::kCaution,
       [](Log* log) {
         for (size_t i = 0; i < 500; ++i) log->weights[i] = 0;
         log->shown_otherwise = 500;
       }},
      // 100 weights of 10.5 and 1900 of 0.5: clipping at 5 takes 100 · 5.5 of
      // 2000.
      {"clipped_mass", "Clipping at 5 removes 27.5 % of the weight",
       Gravity::kCaution,
       [](Log* log) {
         for (size_t i = 0; i < 2000; ++i) {
           log->weights[i] = i < 100 ? 10.5 : 0.5;
         }
         log->clip = 5;
       }},
      {"partly_deterministic",
       "In 40 % of the tuples the logged action had propensity 1: they say "
       "nothing about any other action.",
       Gravity::kCaution,
       [](Log* log) {
         for (size_t i = 0; i < 800; ++i) log->propensities[i] = 1;
       }},
      // 110 + 1999 · 0.95 ≈ 2009; effective 2009² / (12100 + 1804) = 290.
      {"one_large_weight", "One of 2,000 tuples carries 5.48 % of the weight",
       Gravity::kCaution,
       [](Log* log) {
         for (double& weight : log->weights) weight = 0.95;
         log->weights[99] = 110;
       }},
      {"no_full_support",
       "In 40 % of the tuples the logging policy gave some actions probability "
       "0",
       Gravity::kCaution, [](Log* log) { log->without_full_support = 800; }},
      {"repeats_the_log",
       "the mean weight of the training tuples is 1.5 ± 0.0067 where 1 is",
       Gravity::kCaution,
       [](Log* log) {
         for (double& weight : log->weights) weight *= 1.5;
       },
       TupleUse::kTraining},
  };
}

TEST(JudgeOverlapTest, EachTroubleHasItsSentenceAndNoOther) {
  for (const Trouble& trouble : Troubles()) {
    Log log = Healthy(2000);
    trouble.make(&log);
    const std::vector<Finding> findings =
        JudgeOverlap(log.Measure(), trouble.use);
    ASSERT_EQ(findings.size(), 1)
        << trouble.name << ": "
        << testing::PrintToString(Kinds(log, trouble.use));
    EXPECT_EQ(FindingKindName(findings[0].kind), trouble.name);
    EXPECT_THAT(findings[0].sentence, HasSubstr(trouble.sentence));
    EXPECT_EQ(findings[0].gravity, trouble.gravity) << trouble.name;
    const bool supports = trouble.gravity != Gravity::kUnsupported;
    EXPECT_EQ(findings[0].sentence.find("cannot support") == std::string::npos,
              supports)
        << trouble.name;
  }
}

// Weights have the mean 1 if the policy keeps to actions that could be logged.
// Below 0.8 something is missing; with few tuples that does not invalidate the
// estimate.
TEST(JudgeOverlapTest, GravityOfMissingSupportIsThatOfWhatIsMissing) {
  const auto gravity = [](double mean, uint64_t without) {
    Log log = Healthy(2000);
    for (double& weight : log.weights) weight *= mean;
    log.without_full_support = without;
    for (const Finding& finding :
         JudgeOverlap(log.Measure(), TupleUse::kHeldOut)) {
      if (finding.kind == FindingKind::kNoFullSupport) return finding.gravity;
    }
    return Gravity::kContradiction;  // No such finding.
  };
  EXPECT_EQ(gravity(1, 2000), Gravity::kCaution);
  EXPECT_EQ(gravity(0.7, 2000), Gravity::kUnsupported);
  EXPECT_EQ(gravity(0.7, 1000), Gravity::kUnsupported);
  EXPECT_EQ(gravity(0.7, 999), Gravity::kCaution);
  EXPECT_EQ(gravity(0.7, 19), Gravity::kContradiction);
  // Listed before findings that are only cautions by their kind.
  Log log = Healthy(2000);
  for (double& weight : log.weights) weight *= 0.7;
  log.without_full_support = 2000;
  EXPECT_THAT(Kinds(log, TupleUse::kHeldOut),
              ElementsAre("no_full_support", "rarely_tried"));
}

// The policy cannot abstain, and a third of the log did: without that third the
// mean of the rest would be 1.5.
TEST(JudgeOverlapTest, WhatNeitherPolicyCanDoCountsInTheMeans) {
  Log log = Healthy(1000);
  for (size_t i = 0; i < 1000; ++i) {
    log.weights[i] *= 1.5;
    log.propensities[i] = 1 / 6.0;
  }
  EXPECT_THAT(Kinds(log, TupleUse::kHeldOut),
              ElementsAre("wrong_propensities"));
  log.impossible = 500;
  EXPECT_NEAR(log.Measure().weight.value, 1, 1e-9);
  EXPECT_NEAR(log.Measure().uniform_weight.value, 1, 1e-9);
  EXPECT_THAT(Kinds(log, TupleUse::kHeldOut), IsEmpty());
}

TEST(JudgeOverlapTest, GravestFirst) {
  Log log = Healthy(2000);
  for (double& weight : log.weights) weight *= 0.7;
  log.weights[99] = 1000;  // 42 % of the weight.
  log.clip = 5;
  for (size_t i = 0; i < 600; ++i) log.propensities[i] = 1;
  EXPECT_THAT(Kinds(log, TupleUse::kHeldOut),
              ElementsAre("few_effective_tuples", "clipped_mass",
                          "partly_deterministic"));
}

TEST(JudgeOverlapTest, ASmallLogIsJudgedByItsSizeAlone) {
  // The only finding about 20 equal weights and their mean is that they are
  // few.
  Log log = Healthy(20);
  for (double& weight : log.weights) weight = 0.3;
  const auto findings = JudgeOverlap(log.Measure(), TupleUse::kTraining);
  ASSERT_EQ(findings.size(), 1);
  EXPECT_THAT(findings[0].sentence,
              StartsWith("The log cannot support what was learned: its 20 "
                         "tuples are worth 20 "));
}

// Ten actions drawn from a geometric policy, mixed with a tenth of uniform:
// right propensities are never called wrong, and a wrong temperature is.
TEST(JudgeOverlapTest, PropensitiesOfAnotherTemperatureAreCalledWrong) {
  constexpr int kActions = 10;
  const auto policy = [](double alpha) {
    std::vector<double> p(kActions);
    double total = 0;
    for (int y = 0; y < kActions; ++y) total += p[y] = std::exp(-alpha * y);
    for (double& value : p) value = 0.9 * value / total + 0.1 / kActions;
    return p;
  };
  const std::vector<double> drawn = policy(0.5);
  const std::vector<double> other = policy(1);
  RandomSequence random(SeedKey(8));
  int wrong_found = 0;
  for (int repetition = 0; repetition < 100; ++repetition) {
    Log right = Healthy(1000);
    Log wrong = Healthy(1000);
    for (size_t i = 0; i < 1000; ++i) {
      double u = random.Uniform();
      int y = 0;
      while (y + 1 < kActions && u >= drawn[y]) u -= drawn[y++];
      right.propensities[i] = drawn[y];
      wrong.propensities[i] = other[y];
      right.uniform[i] = wrong.uniform[i] = 1.0 / kActions;
    }
    EXPECT_THAT(Kinds(right, TupleUse::kHeldOut), IsEmpty());
    wrong_found += Kinds(wrong, TupleUse::kHeldOut).size() == 1 ? 1 : 0;
  }
  EXPECT_EQ(wrong_found, 100);
}

}  // namespace
}  // namespace sortition
