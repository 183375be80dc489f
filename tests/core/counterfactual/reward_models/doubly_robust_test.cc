// Doubly robust estimates with models of other units, and of the same units.
#include <cmath>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/reward_models/toy_examples.h"

namespace sortition {
namespace {

using namespace testing_reward_models;  // NOLINT

// Ten contexts with four actions each. The features of an action in a context
// are an indicator of both: nothing of one action carries over to another. One
// action of each context, another for each, earns 0.9, the others 0.2. The log
// chooses the good one with probability 0.1, the policy with 0.85.
constexpr size_t kContexts = 10;
constexpr size_t kActions = 4;
constexpr double kValue = 0.85 * 0.9 + 0.15 * 0.2;

size_t GoodAction(size_t context) { return context * 7 % kActions; }
double Logging(bool good) { return good ? 0.1 : 0.3; }
double Policy(bool good) { return good ? 0.85 : 0.05; }
double Reward(bool good) { return good ? 0.9 : 0.2; }

std::vector<float> FeaturesOf(size_t context, size_t action) {
  std::vector<float> features(kContexts * kActions);
  features[context * kActions + action] = 1;
  return features;
}

struct LoggedDecision {
  ToyExample example;
  size_t context = 0;
  bool good = false;
};

std::vector<LoggedDecision> DrawLog(size_t size, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<LoggedDecision> log(size);
  for (size_t i = 0; i < size; ++i) {
    LoggedDecision& decision = log[i];
    decision.context = random.Below(kContexts);
    decision.good = random.Uniform() < Logging(true);
    const size_t action =
        decision.good
            ? GoodAction(decision.context)
            : (GoodAction(decision.context) + 1 + random.Below(kActions - 1)) %
                  kActions;
    decision.example.features = FeaturesOf(decision.context, action);
    decision.example.reward = Reward(decision.good);
    decision.example.unit_hash = UnitKey(std::to_string(i), "");
  }
  return log;
}

// The estimate where unit u is judged by the model of fold (FoldOf(u) + shift):
// shift 0 is a model of other units, shift 1 one that has seen u's rewards.
double DoublyRobust(const std::vector<LoggedDecision>& log,
                    const CrossFittedModel& model, uint32_t shift) {
  double sum = 0;
  for (const LoggedDecision& decision : log) {
    const uint32_t folds = model.num_folds();
    const RewardModel& judge = model.OfFold(
        (FoldOf(decision.example.unit_hash, folds) + shift) % folds);
    for (size_t a = 0; a < kActions; ++a) {
      sum += Policy(a == GoodAction(decision.context)) *
             judge.Predict(FeaturesOf(decision.context, a));
    }
    sum += Policy(decision.good) / Logging(decision.good) *
           (decision.example.reward - judge.Predict(decision.example.features));
  }
  return sum / static_cast<double>(log.size());
}

struct Errors {
  double mean = 0;
  double standard_error = 0;
};

Errors ErrorsOver(size_t num_logs, uint32_t shift) {
  double sum = 0;
  double squares = 0;
  for (uint64_t seed = 0; seed < num_logs; ++seed) {
    const std::vector<LoggedDecision> log = DrawLog(120, seed);
    std::vector<ToyExample> examples;
    for (const LoggedDecision& decision : log) {
      examples.push_back(decision.example);
    }
    const double error =
        DoublyRobust(log, FitTo(examples, RewardModelKind::kRidge), shift) -
        kValue;
    sum += error;
    squares += error * error;
  }
  const double n = static_cast<double>(num_logs);
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / (n - 1))};
}

// With 120 decisions a context has 1.2 with its good action, so three of ten
// have none, in which a model knows nothing of it. A model of the same units
// leaves no residual on those that it has seen, and nothing corrects the rest:
// its error is some 0.3 · 0.85 · 0.6 below. The mean error of an unbiased
// estimate is beyond 4 standard errors with probability 6e-5.
TEST(DoublyRobustTest, IsUnbiasedWithModelsOfOtherUnitsOnly) {
  const Errors cross_fitted = ErrorsOver(200, 0);
  EXPECT_LT(std::fabs(cross_fitted.mean), 4 * cross_fitted.standard_error);
  EXPECT_LT(cross_fitted.standard_error, 0.02);
  const Errors in_sample = ErrorsOver(200, 1);
  EXPECT_LT(in_sample.mean, -10 * in_sample.standard_error);
  EXPECT_LT(in_sample.mean, -0.05);
}

// The model takes away variance where it is good: rewards that depend on the
// context through features, judged in 40 logs.
TEST(DoublyRobustTest, AGoodModelTakesAwayVariance) {
  double squares_without = 0;
  double squares_with = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<LoggedDecision> log = DrawLog(2000, 1000 + seed);
    std::vector<ToyExample> examples;
    for (const LoggedDecision& decision : log) {
      examples.push_back(decision.example);
    }
    const auto error = [&](RewardModelKind kind) {
      return DoublyRobust(log, FitTo(examples, kind), 0) - kValue;
    };
    squares_without += std::pow(error(RewardModelKind::kNone), 2);
    squares_with += std::pow(error(RewardModelKind::kRidge), 2);
  }
  EXPECT_LT(squares_with, 0.1 * squares_without);
}

}  // namespace
}  // namespace sortition
