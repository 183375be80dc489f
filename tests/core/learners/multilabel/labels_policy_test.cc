#include "core/learners/multilabel/labels_policy.h"

#include <cmath>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/risk_objective.h"
#include "core/learners/counterfactual/poem.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr uint32_t kContextFeatures = 5;
constexpr uint32_t kContextLabels = 3;

// 12 contexts; a share `density` of the values is present.
LabelContexts RandomContexts(double density, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  LabelContexts contexts;
  contexts.num_features = kContextFeatures;
  contexts.num_labels = kContextLabels;
  for (int row = 0; row < 12; ++row) {
    for (uint32_t j = 0; j < kContextFeatures; ++j) {
      if (random.Uniform() >= density) continue;
      contexts.columns.push_back(j);
      contexts.values.push_back(static_cast<float>(random.Normal()));
    }
    contexts.row_offsets.push_back(contexts.values.size());
  }
  return contexts;
}

// Some contexts occur several times, some never.
LabelTuples RandomTuples(size_t n, uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  LabelTuples tuples;
  for (size_t i = 0; i < n; ++i) {
    tuples.contexts.push_back(static_cast<uint32_t>(random.Below(10)));
    for (uint32_t l = 0; l < kContextLabels; ++l) {
      tuples.labels.push_back(static_cast<uint8_t>(random.Below(2)));
    }
    tuples.log_propensities.push_back(std::log(0.05 + 0.4 * random.Uniform()));
    tuples.losses.push_back(-random.Uniform());
  }
  return tuples;
}

Eigen::VectorXd RandomPoint(uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  Eigen::VectorXd point(kContextFeatures * kContextLabels);
  for (double& entry : point) entry = random.Normal();
  return point;
}

double Score(const LabelContexts& contexts, const Eigen::VectorXd& w,
             uint32_t context, uint32_t label) {
  double score = 0;
  for (uint64_t k = contexts.row_offsets[context];
       k < contexts.row_offsets[context + 1]; ++k) {
    score +=
        contexts.values[k] * w[contexts.columns[k] * kContextLabels + label];
  }
  return score;
}

class LabelsPolicyTest : public testing::TestWithParam<double> {};

INSTANTIATE_TEST_SUITE_P(DenseAndSparse, LabelsPolicyTest,
                         testing::Values(1.0, 0.15));

// exp(w·φ(x,y)) / Z(x), Z by summing over all 2³ sets of labels.
TEST_P(LabelsPolicyTest, ProbabilityIsTheSoftmaxOverAllSets) {
  const LabelContexts contexts = RandomContexts(GetParam(), 1);
  const LabelTuples tuples = RandomTuples(40, 2);
  const Eigen::VectorXd w = 2 * RandomPoint(3);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy policy,
                       LabelsPolicy::Create(contexts, tuples));
  std::vector<uint32_t> order(40);
  std::iota(order.rbegin(), order.rend(), 0u);
  std::vector<double> values(40);
  policy.LogProbabilities(w, order, values);
  for (size_t k = 0; k < 40; ++k) {
    const uint32_t i = order[k];
    double partition = 0;
    for (uint32_t set = 0; set < 1u << kContextLabels; ++set) {
      double exponent = 0;
      for (uint32_t l = 0; l < kContextLabels; ++l) {
        if (set >> l & 1) exponent += Score(contexts, w, tuples.contexts[i], l);
      }
      partition += std::exp(exponent);
    }
    double exponent = 0;
    for (uint32_t l = 0; l < kContextLabels; ++l) {
      if (tuples.labels[i * kContextLabels + l] == 1) {
        exponent += Score(contexts, w, tuples.contexts[i], l);
      }
    }
    EXPECT_NEAR(values[k], exponent - std::log(partition), 1e-12);
    EXPECT_NEAR(policy.LogProbability(w, i), values[k], 1e-14);
  }
}

TEST_P(LabelsPolicyTest, GradientsOfAllRisksAreThoseOfCentralDifferences) {
  const LabelContexts contexts = RandomContexts(GetParam(), 4);
  const LabelTuples tuples = RandomTuples(60, 5);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy policy,
                       LabelsPolicy::Create(contexts, tuples));
  const CrmRisk crm = *CrmRisk::Create(1.5, 2);
  const SelfNormalisedRisk normalised = *SelfNormalisedRisk::Create(1);
  const LogSmoothingRisk smoothed = *LogSmoothingRisk::Create(0.5);
  for (const Risk* risk :
       {static_cast<const Risk*>(&crm), static_cast<const Risk*>(&normalised),
        static_cast<const Risk*>(&smoothed)}) {
    ASSERT_OK_AND_ASSIGN(const RiskObjective objective,
                         RiskObjective::Create(&policy, risk, 0.01));
    for (uint64_t seed = 10; seed < 15; ++seed) {
      const Eigen::VectorXd point = RandomPoint(seed);
      Eigen::VectorXd gradient(point.size());
      objective.Evaluate(point, &gradient);
      const Eigen::VectorXd differences = CentralDifferences(objective, point);
      EXPECT_LT((gradient - differences).norm(), 1e-6 * gradient.norm());
    }
  }
}

TEST_P(LabelsPolicyTest, LargeScoresStayFinite) {
  const LabelContexts contexts = RandomContexts(GetParam(), 6);
  const LabelTuples tuples = RandomTuples(10, 7);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy policy,
                       LabelsPolicy::Create(contexts, tuples));
  const Eigen::VectorXd w = 1e6 * RandomPoint(8);
  std::vector<uint32_t> order(10);
  std::iota(order.begin(), order.end(), 0u);
  std::vector<double> values(10), ones(10, 1);
  policy.LogProbabilities(w, order, values);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(w.size());
  policy.AddGradient(ones, &gradient);
  EXPECT_TRUE(gradient.allFinite());
  for (const double value : values) {
    EXPECT_LE(value, 0);
    EXPECT_TRUE(std::isfinite(value));
  }
}

// Runs parts of even index on one thread, the others on another.
void TwoThreads(size_t count, const std::function<void(size_t)>& body) {
  std::thread other([&] {
    for (size_t i = 1; i < count; i += 2) body(i);
  });
  for (size_t i = 0; i < count; i += 2) body(i);
  other.join();
}

// Makes n contexts with one tuple each, in which a `share` of the values is
// set.
LabelContexts ManyContexts(size_t n, double share) {
  RandomSequence random(SeedKey(11));
  LabelContexts contexts;
  contexts.num_features = kContextFeatures;
  contexts.num_labels = kContextLabels;
  for (size_t row = 0; row < n; ++row) {
    for (uint32_t j = 0; j < kContextFeatures; ++j) {
      if (random.Uniform() >= share) continue;
      contexts.columns.push_back(j);
      contexts.values.push_back(static_cast<float>(random.Normal()));
    }
    contexts.row_offsets.push_back(contexts.values.size());
  }
  return contexts;
}

LabelTuples ManyTuples(size_t n) {
  LabelTuples tuples = RandomTuples(n, 12);
  for (uint32_t i = 0; i < n; ++i) tuples.contexts[i] = i;
  return tuples;
}

TEST(LabelsPolicyThreadsTest, TrainingHasTheSameBitsForOneAndTwo) {
  // Above 2048 contexts the gradient is divided among threads, too.
  const LabelContexts contexts = ManyContexts(5000, 1);
  const LabelTuples tuples = ManyTuples(5000);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy one,
                       LabelsPolicy::Create(contexts, tuples));
  ASSERT_OK_AND_ASSIGN(LabelsPolicy two,
                       LabelsPolicy::Create(contexts, tuples, TwoThreads));
  PoemRun run;
  run.crm = {.clip = 20, .lambda = 1, .l2 = 1e-4};
  run.adagrad.set_max_epochs(2);
  run.adagrad.set_batch_size(3000);
  ASSERT_OK_AND_ASSIGN(const PoemResult a, TrainPoem(&one, run));
  ASSERT_OK_AND_ASSIGN(const PoemResult b, TrainPoem(&two, run));
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.objective, b.objective);
}

// More labels than one block of the kernel, and not a multiple of it:
// log h = Σ_l y_l s_l - log(1 + exp(s_l)); its gradient by w_l is (y_l - σ) x.
TEST(LabelsPolicyManyLabelsTest, EveryLabelCountsOnce) {
  constexpr uint32_t kMany = 11;
  LabelContexts contexts;
  contexts.num_features = 1;
  contexts.num_labels = kMany;
  contexts.row_offsets = {0, 1};
  contexts.columns = {0};
  contexts.values = {2};
  LabelTuples tuples;
  tuples.contexts = {0};
  tuples.losses = {-1};
  tuples.log_propensities = {-1};
  Eigen::VectorXd w(kMany);
  Eigen::VectorXd expected_gradient(kMany);
  double expected = 0;
  for (uint32_t l = 0; l < kMany; ++l) {
    w[l] = 0.3 * l - 1.4;
    const uint8_t label = l % 3 == 0 ? 1 : 0;
    tuples.labels.push_back(label);
    const double score = 2 * w[l];
    expected += label * score - std::log1p(std::exp(score));
    expected_gradient[l] = 2 * (label - 1 / (1 + std::exp(-score)));
  }
  ASSERT_OK_AND_ASSIGN(LabelsPolicy policy,
                       LabelsPolicy::Create(contexts, tuples));
  const std::vector<uint32_t> all = {0};
  policy.Prefetch(all);  // Only a hint.
  EXPECT_NEAR(policy.LogProbability(w, 0), expected, 1e-13);
  Eigen::VectorXd gradient = Eigen::VectorXd::Zero(kMany);
  policy.AddGradient(std::vector<double>{1}, &gradient);
  EXPECT_LT((gradient - expected_gradient).cwiseAbs().maxCoeff(), 1e-14);
}

class LabelsPolicySparseTest : public testing::Test {
 protected:
  LabelsPolicySparseTest() {
    // Explicit zeros turn the same rows into dense ones.
    dense_ = sparse_;
    dense_.row_offsets = {0};
    dense_.columns.clear();
    dense_.values.clear();
    for (uint32_t row = 0; row < 300; ++row) {
      uint64_t k = sparse_.row_offsets[row];
      for (uint32_t j = 0; j < kContextFeatures; ++j) {
        const bool is_there =
            k < sparse_.row_offsets[row + 1] && sparse_.columns[k] == j;
        dense_.columns.push_back(j);
        dense_.values.push_back(is_there ? sparse_.values[k++] : 0);
      }
      dense_.row_offsets.push_back(dense_.values.size());
    }
  }

  const LabelContexts sparse_ = ManyContexts(300, 0.2);
  LabelContexts dense_;
};

TEST_F(LabelsPolicySparseTest, TrainsAsOnDenseRows) {
  const LabelTuples tuples = ManyTuples(300);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy a, LabelsPolicy::Create(sparse_, tuples));
  ASSERT_OK_AND_ASSIGN(LabelsPolicy b, LabelsPolicy::Create(dense_, tuples));
  for (const double l2 : {0.0, 1e-6, 2e-6, 1e-3, 0.1}) {
    PoemRun run;
    run.crm = {.clip = 20, .lambda = 1, .l2 = l2};
    // Where the penalty is large, the run would end at a start of 0.
    run.start = Eigen::VectorXd::Constant(a.dimension(), 0.5);
    run.adagrad.set_max_epochs(3);
    run.adagrad.set_batch_size(2);  // Most features are not in a batch.
    ASSERT_OK_AND_ASSIGN(const PoemResult of_sparse, TrainPoem(&a, run));
    ASSERT_OK_AND_ASSIGN(const PoemResult of_dense, TrainPoem(&b, run));
    constexpr uint32_t kFirst[] = {0};
    EXPECT_TRUE(a.Entries(kFirst).has_value());
    EXPECT_FALSE(b.Entries(kFirst).has_value());
    EXPECT_GT((of_dense.parameters - run.start).norm(), 0.1);
    EXPECT_LT((of_sparse.parameters - of_dense.parameters).norm(), 1e-10)
        << "l2 " << l2;
  }
}

TEST_F(LabelsPolicySparseTest, EndsAsOnDenseRows) {
  // Without losses only the penalty moves parameters: all of them are idle.
  LabelTuples tuples = ManyTuples(300);
  std::fill(tuples.losses.begin(), tuples.losses.end(), 0);
  ASSERT_OK_AND_ASSIGN(LabelsPolicy a, LabelsPolicy::Create(sparse_, tuples));
  ASSERT_OK_AND_ASSIGN(LabelsPolicy b, LabelsPolicy::Create(dense_, tuples));
  PoemRun run;
  run.crm = {.clip = 20, .lambda = 1, .l2 = 2e-6};
  run.start = Eigen::VectorXd::Constant(a.dimension(), 0.5);
  run.adagrad.set_batch_size(2);
  run.adagrad.set_max_epochs(1000);
  // At the start it is 2 μ ‖w‖ = 7.7e-6; an epoch takes 0.06 % off.
  run.adagrad.set_gradient_tolerance(6e-6);
  ASSERT_OK_AND_ASSIGN(const PoemResult of_sparse, TrainPoem(&a, run));
  ASSERT_OK_AND_ASSIGN(const PoemResult of_dense, TrainPoem(&b, run));
  EXPECT_EQ(of_sparse.termination, PoemTermination::kGradient);
  EXPECT_EQ(of_dense.termination, PoemTermination::kGradient);
  // The norm is taken at the end of an epoch instead of where it is largest.
  EXPECT_GT(of_dense.epochs, 10);
  EXPECT_NEAR(of_sparse.epochs, of_dense.epochs, 1);
}

TEST(LabelsPolicyErrorsTest, NamesWhatDoesNotFit) {
  const LabelContexts contexts = RandomContexts(1, 9);
  const auto invalid = [](const char* text) { return IsInvalidArgument(text); };
  LabelTuples tuples = RandomTuples(4, 9);
  tuples.contexts[2] = 12;
  EXPECT_THAT(LabelsPolicy::Create(contexts, tuples).status(),
              invalid("context of tuple 2 is 12, must be below 12"));
  tuples = RandomTuples(4, 9);
  tuples.labels[7] = 2;
  EXPECT_THAT(LabelsPolicy::Create(contexts, tuples).status(),
              invalid("label 1 of tuple 2 is 2, must be 0 or 1"));
  tuples = RandomTuples(4, 9);
  tuples.losses.pop_back();
  EXPECT_THAT(LabelsPolicy::Create(contexts, tuples).status(),
              invalid("4 tuples have 12 labels, 3 losses"));
}

}  // namespace
}  // namespace sortition
