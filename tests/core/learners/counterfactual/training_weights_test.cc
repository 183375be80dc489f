// How tuples enter training: weights, units of losses and features, and where
// the penalty pulls.
#include "core/learners/counterfactual/training_weights.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/crm.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/counterfactual/counterfactual_learner.h"
#include "core/learners/counterfactual/linear_grid_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Random selections; the larger the first feature, the better.
std::vector<BanditTuple> MakeTuples(size_t n, uint64_t seed) {
  std::vector<BanditTuple> tuples = RandomTuples(kSelectionsOrNone, n, seed);
  const std::vector<double> first = {1, 0, 0, 0};
  for (BanditTuple& tuple : tuples) {
    const Candidates candidates = tuple.candidates();
    tuple.log_propensity = -std::log(candidates.num_candidates() + 1.0);
    if (tuple.action[0] == kAbstain) continue;
    const double x =
        candidates.Score(static_cast<uint32_t>(tuple.action[0]), first);
    tuple.loss = 0.5 * tuple.loss - 0.5 / (1 + std::exp(-2 * x));
  }
  return tuples;
}

struct WeightedCase {
  PoemOptions::Objective objective;
  PoemOptions::Optimiser optimiser;
};

std::vector<WeightedCase> AllCases() {
  std::vector<WeightedCase> cases;
  for (const auto objective :
       {PoemOptions::CRM, PoemOptions::IPS, PoemOptions::CLIPPED_IPS,
        PoemOptions::SELF_NORMALISED, PoemOptions::DOUBLY_ROBUST,
        PoemOptions::LOG_SMOOTHING}) {
    cases.push_back({objective, PoemOptions::BATCH});
    if (objective != PoemOptions::SELF_NORMALISED) {
      cases.push_back({objective, PoemOptions::STOCHASTIC});
    }
  }
  return cases;
}

class TrainingOfEveryObjectiveTest
    : public testing::TestWithParam<WeightedCase> {
 protected:
  CounterfactualRun MakeRun() const {
    const auto& [objective, optimiser] = GetParam();
    const bool has_lambda =
        objective != PoemOptions::IPS && objective != PoemOptions::CLIPPED_IPS;
    CounterfactualRun run{
        .clip = 20, .lambda = has_lambda ? 0.5 : 0, .l2 = 0.01};
    run.options.set_objective(objective);
    run.options.set_optimiser(optimiser);
    run.options.set_standardise(true);
    run.options.mutable_adagrad()->set_max_epochs(10);
    return run;
  }

  // Trains as a grid does at one point.
  Eigen::VectorXd Train(const std::vector<BanditTuple>& tuples,
                        const std::vector<double>& weights,
                        CounterfactualRun run) const {
    auto policy = *LinearTuplePolicy::Create(
        kSelectionsOrNone, tuples, HiddenActions::kImpossible, weights);
    const std::vector<double> counts =
        weights.empty() ? std::vector<double>(tuples.size(), 1) : weights;
    run.scales = FeatureScales(kSelectionsOrNone, tuples, counts);
    std::unique_ptr<LossModel> model;
    if (run.options.objective() == PoemOptions::DOUBLY_ROBUST) {
      std::vector<double> losses;
      for (const BanditTuple& tuple : tuples) losses.push_back(tuple.loss);
      model = std::make_unique<CandidateLossModel>(
          *CandidateLossModel::Fit(kSelectionsOrNone, tuples, losses,
                                   {.weights = counts, .scales = run.scales}));
    }
    return TrainCounterfactual(&policy, model.get(), run)->parameters;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Objectives, TrainingOfEveryObjectiveTest, testing::ValuesIn(AllCases()),
    [](const auto& instance) {
      return PoemOptions::Objective_Name(instance.param.objective) + "_" +
             PoemOptions::Optimiser_Name(instance.param.optimiser);
    });

// Returns the probabilities of what was logged.
std::vector<double> Probabilities(const Eigen::VectorXd& parameters,
                                  const std::vector<BanditTuple>& tuples) {
  auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples);
  std::vector<double> probabilities;
  for (size_t i = 0; i < tuples.size(); ++i) {
    probabilities.push_back(std::exp(policy.LogProbability(parameters, i)));
  }
  return probabilities;
}

void ExpectSamePolicy(const std::vector<double>& one,
                      const std::vector<double>& two, double tolerance) {
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_NEAR(one[i], two[i], tolerance) << i;
  }
}

// Factors are powers of two, so that features stay exact as floats.
TEST_P(TrainingOfEveryObjectiveTest, UnitsOfFeaturesDoNotMatter) {
  const std::vector<BanditTuple> tuples = MakeTuples(300, 1);
  std::vector<BanditTuple> scaled = tuples;
  constexpr float kFactors[] = {1024, 1.0f / 4096, 1, 32};
  for (BanditTuple& tuple : scaled) {
    for (size_t k = 0; k < tuple.values.size(); ++k) {
      tuple.values[k] *=
          kFactors[tuple.columns.empty() ? k % 4 : tuple.columns[k]];
    }
  }
  const Eigen::VectorXd one = Train(tuples, {}, MakeRun());
  const Eigen::VectorXd two = Train(scaled, {}, MakeRun());
  EXPECT_GT(one.head(4).norm(), 0.1);  // Something was learned.
  ExpectSamePolicy(Probabilities(one, tuples), Probabilities(two, scaled),
                   1e-6);
  CounterfactualRun plain = MakeRun();
  plain.options.set_standardise(false);
  const Eigen::VectorXd other = Train(scaled, {}, plain);
  double largest = 0;
  const auto a = Probabilities(one, tuples);
  const auto b = Probabilities(other, scaled);
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
  }
  EXPECT_GT(largest, 0.01);
}

// As if the reward had a range that is four times as large as need be. The
// loss model is cut to that range, and λ of LOG_SMOOTHING is in its unit: for
// these two only rewards and range together may change their unit, which
// RewardToLoss() undoes.
TEST_P(TrainingOfEveryObjectiveTest, TheRangeOfRewardsDoesNotMatter) {
  if (GetParam().objective == PoemOptions::DOUBLY_ROBUST ||
      GetParam().objective == PoemOptions::LOG_SMOOTHING) {
    return;
  }
  const std::vector<BanditTuple> tuples = MakeTuples(300, 2);
  std::vector<BanditTuple> scaled = tuples;
  for (BanditTuple& tuple : scaled) tuple.loss /= 4;
  ExpectSamePolicy(Probabilities(Train(tuples, {}, MakeRun()), tuples),
                   Probabilities(Train(scaled, {}, MakeRun()), tuples), 1e-6);
}

// One mini-batch has all tuples, so that both see the same gradients.
TEST_P(TrainingOfEveryObjectiveTest, WeightsAreCopies) {
  const std::vector<BanditTuple> tuples = MakeTuples(120, 3);
  std::vector<double> weights;
  std::vector<BanditTuple> copies;
  for (size_t i = 0; i < tuples.size(); ++i) {
    weights.push_back(1 + static_cast<double>(i % 3));
    copies.insert(copies.end(), 1 + i % 3, tuples[i]);
  }
  CounterfactualRun run = MakeRun();
  run.options.mutable_adagrad()->set_batch_size(1000);
  ExpectSamePolicy(Probabilities(Train(tuples, weights, run), tuples),
                   Probabilities(Train(copies, {}, run), tuples), 1e-6);
}

TEST_P(TrainingOfEveryObjectiveTest, WeightsOfOneChangeNoBit) {
  const std::vector<BanditTuple> tuples = MakeTuples(150, 4);
  EXPECT_EQ(Train(tuples, std::vector<double>(150, 1), MakeRun()),
            Train(tuples, {}, MakeRun()));
}

// The parent prefers small first features, which training does not.
TEST_P(TrainingOfEveryObjectiveTest, AGrowingPenaltyLeadsToTheParent) {
  std::vector<BanditTuple> tuples = MakeTuples(2000, 5);
  const Eigen::VectorXd parent =
      (Eigen::VectorXd(5) << -1, 0.5, 0, 0, 0.3).finished();
  // The parent logged: its draws, with its propensities.
  RandomSequence random(SeedKey(6));
  for (BanditTuple& tuple : tuples) {
    double u = random.Uniform();
    const auto rows = static_cast<int32_t>(tuple.num_candidates());
    for (int32_t row = kAbstain; row < rows; ++row) {
      tuple.action = {row};
      auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, {&tuple, 1});
      tuple.log_propensity = policy.LogProbability(parent, 0);
      u -= std::exp(tuple.log_propensity);
      if (u < 0) break;
    }
  }
  auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples);
  for (const auto penalty : {PoemOptions::PROXIMAL, PoemOptions::KL}) {
    double last = HUGE_VAL;
    for (const double l2 : {0.0, 0.1, 1.0, 100.0}) {
      CounterfactualRun run = MakeRun();
      run.options.set_penalty(penalty);
      run.options.mutable_adagrad()->set_max_epochs(60);
      run.l2 = l2;
      run.prior = parent;
      const Eigen::VectorXd learned = Train(tuples, {}, run);
      // Mean KL(parent ‖ learned), exact over actions.
      double divergence = 0;
      const auto one = Probabilities(parent, tuples);
      for (size_t i = 0; i < tuples.size(); ++i) {
        divergence += std::log(one[i]) - policy.LogProbability(learned, i);
      }
      divergence /= static_cast<double>(tuples.size());
      EXPECT_LT(divergence, last + 5e-3)
          << PoemOptions::Penalty_Name(penalty) << " " << l2;
      last = divergence;
      if (l2 == 0) {
        EXPECT_GT(divergence, 0.02);
      }
      if (l2 == 100) {
        EXPECT_LT(std::abs(divergence), 0.01);
      }
      if (l2 == 100 && penalty == PoemOptions::PROXIMAL) {
        EXPECT_LT((learned - parent).norm(), 0.1);
      }
    }
  }
}

// What logged was uniform, as the start is.
TEST(KlPenaltyTest, NoWeightLeadsAwayFromWhatLogged) {
  const std::vector<BanditTuple> tuples = MakeTuples(2000, 8);
  for (const auto optimiser : {PoemOptions::STOCHASTIC, PoemOptions::BATCH}) {
    double last = HUGE_VAL;
    for (const double l2 : {1.0, 10.0, 100.0, 1000.0}) {
      CounterfactualRun run{.clip = 20, .lambda = 0, .l2 = l2};
      run.options.set_objective(PoemOptions::CLIPPED_IPS);
      run.options.set_optimiser(optimiser);
      run.options.set_penalty(PoemOptions::KL);
      auto trained = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples);
      ASSERT_OK_AND_ASSIGN(const auto result,
                           TrainCounterfactual(&trained, nullptr, run));
      double distance = 0;  // Mean squared log ρ.
      double loss = 0;
      for (size_t i = 0; i < tuples.size(); ++i) {
        distance += std::pow(trained.LogProbability(result.parameters, i) -
                                 tuples[i].log_propensity,
                             2);
        loss += tuples[i].loss;
      }
      const auto n = static_cast<double>(tuples.size());
      distance /= n;
      // At the start all weights are 1, and the penalty is 0.
      EXPECT_LE(result.objective, loss / n + 1e-12)
          << PoemOptions::Optimiser_Name(optimiser) << " " << l2;
      EXPECT_LE(distance, last + 1e-3)
          << PoemOptions::Optimiser_Name(optimiser) << " " << l2;
      last = distance;
    }
    EXPECT_LT(last, 1e-3) << PoemOptions::Optimiser_Name(optimiser);
  }
}

TEST(TrainingWeightsTest, AreRecencyTimesTheShareOfTheUnit) {
  std::vector<BanditTuple> tuples = RandomTuples(kSelectionsOrNone, 20, 7);
  for (size_t i = 0; i < 4; ++i) tuples[i].unit = tuples[0].unit;
  tuples[9].recency = 0.25;
  // 17 units: √17 / 2 decisions of the unit with four.
  const std::vector<double> weights = TrainingWeights(tuples);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_DOUBLE_EQ(weights[i],
                     i < 4 ? std::sqrt(17) / 8 : (i == 9 ? 0.25 : 1));
  }
}

TEST(TrainingWeightsTest, AreNeverZero) {
  std::vector<BanditTuple> tuples = RandomTuples(kSelectionsOrNone, 3, 8);
  tuples[1].recency = 0;  // 2^-age underflows.
  const std::vector<double> weights = TrainingWeights(tuples);
  auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples,
                                           HiddenActions::kImpossible, weights);
  EXPECT_OK(ValidateCrm(policy, {}));
  EXPECT_LT(weights[1], 1e-9);
}

TEST(FeatureScalesTest, AreThoseOfTheRowsAndWeights) {
  const LinearFamily family{ActionKind::kSelect, 2, true, 0};
  std::vector<BanditTuple> tuples(2);
  for (BanditTuple& tuple : tuples) tuple.num_features = 2;
  tuples[0].values = {3, 0, 0, 2};  // Rows (3, 0) and (0, 2).
  tuples[1].values = {1, 4};        // Rows (1, -), (-, 4), sparse.
  tuples[1].columns = {0, 1};
  tuples[1].row_offsets = {0, 1, 2};
  // Weights 1 and 2: (9 + 2 · 1) / 3 and (4 + 2 · 16) / 3; one value in a row.
  const Eigen::VectorXd scales =
      FeatureScales(family, tuples, std::vector<double>{1, 2});
  EXPECT_DOUBLE_EQ(scales[0], std::sqrt(3 / 11.0));
  EXPECT_DOUBLE_EQ(scales[1], std::sqrt(3 / 36.0));
  EXPECT_EQ(scales[2], 1);  // The score of abstaining.
}

// One account made 3,000 decisions and likes the opposite of the 300 others.
TEST(LinearGridDataTest, AUnitWithMostDecisionsDoesNotDecideWhatIsLearned) {
  std::vector<BanditTuple> train = MakeTuples(3300, 8);
  for (size_t i = 0; i < 3000; ++i) {
    train[i].unit = 1;
    train[i].loss = -1 - train[i].loss;
  }
  const std::vector<BanditTuple> validation = MakeTuples(100, 9);
  const LinearGridData data(kSelectionsOrNone, train, validation,
                            PoemOptions::CRM);
  ASSERT_OK_AND_ASSIGN(const auto policy, data.TrainPolicy());
  CounterfactualRun run{.clip = 20, .l2 = 1e-3};
  run.options.set_optimiser(PoemOptions::BATCH);
  ASSERT_OK_AND_ASSIGN(const auto weighted,
                       TrainCounterfactual(policy.get(), nullptr, run));
  EXPECT_GT(weighted.parameters[0], 0.3);
  auto plain = *LinearTuplePolicy::Create(kSelectionsOrNone, train);
  ASSERT_OK_AND_ASSIGN(const auto misled,
                       TrainCounterfactual(&plain, nullptr, run));
  EXPECT_LT(misled.parameters[0], -0.3);
}

// With 1 % of clicks all losses are small. Mini-batches learn nonetheless.
TEST(ScaleLossesTest, RareRewardsAreLearnedInAFewEpochs) {
  std::vector<BanditTuple> tuples = MakeTuples(4000, 10);
  RandomSequence random(SeedKey(11));
  for (BanditTuple& tuple : tuples) {
    tuple.loss = random.Uniform() < 0.02 * -tuple.loss ? -1 : 0;
  }
  auto policy = *LinearTuplePolicy::Create(kSelectionsOrNone, tuples);
  CounterfactualRun run{.clip = 20, .l2 = 1e-6};
  run.options.mutable_adagrad()->set_max_epochs(5);
  ASSERT_OK_AND_ASSIGN(const auto scaled,
                       TrainCounterfactual(&policy, nullptr, run));
  run.options.set_scale_losses(false);
  ASSERT_OK_AND_ASSIGN(const auto plain,
                       TrainCounterfactual(&policy, nullptr, run));
  EXPECT_GT(scaled.parameters[0], 3 * plain.parameters[0]);
  EXPECT_GT(scaled.parameters[0], 0.3);
  EXPECT_LT(scaled.objective, plain.objective);
}

}  // namespace
}  // namespace sortition
