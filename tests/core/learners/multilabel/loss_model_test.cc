// Doubly robust terms with each kind of loss model.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/counterfactual/risk_objective.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/learners/counterfactual/candidate_loss_model.h"
#include "core/learners/multilabel/labels_loss_model.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/counterfactual/crm_risk.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr double kNoClip = HUGE_VAL;
constexpr uint32_t kFeatures = 4;
constexpr uint32_t kLabels = 3;

// Tuples of one kind of action, with a policy and a fitted model.
struct Problem {
  uint32_t folds = 1;  // Of the model.
  std::vector<BanditTuple> tuples;
  std::unique_ptr<RandomLabels> labels;
  std::unique_ptr<TuplePolicy> policy;
  std::unique_ptr<LossModel> model;

  size_t size() const { return policy->num_tuples(); }
  std::vector<uint32_t> All() const {
    std::vector<uint32_t> all(size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }
  std::vector<double> Expected(const Eigen::VectorXd& point) const {
    std::vector<double> losses(size());
    model->ExpectedLosses(point, All(), losses);
    return losses;
  }
  // Sets the propensity p of a tuple.
  void SetPropensity(size_t i, double log_propensity) {
    if (labels) {
      labels->tuples.log_propensities[i] = log_propensity;
    } else {
      tuples[i].log_propensity = log_propensity;
    }
  }
};

void FitCandidates(const LinearFamily& family, double l2, Problem* problem,
                   HiddenActions hidden = HiddenActions::kImpossible) {
  auto policy = LinearTuplePolicy::Create(family, problem->tuples, hidden);
  problem->policy = std::make_unique<LinearTuplePolicy>(*std::move(policy));
  std::vector<double> losses;
  for (size_t i = 0; i < problem->size(); ++i) {
    losses.push_back(problem->policy->loss(i));
  }
  problem->model = std::make_unique<CandidateLossModel>(
      *CandidateLossModel::Fit(family, problem->tuples, losses,
                               {.l2 = l2, .folds = problem->folds}));
}

void FitLabels(double l2, Problem* problem) {
  const RandomLabels& labels = *problem->labels;
  auto policy = LabelsPolicy::Create(labels.contexts, labels.tuples);
  problem->policy = std::make_unique<LabelsPolicy>(*std::move(policy));
  problem->model = LabelsLossModel::Fit(labels.contexts, labels.tuples,
                                        {.l2 = l2, .folds = problem->folds})
                       ->Clone();
}

struct Kind {
  std::string name;
  bool labels = false;
  LinearFamily family = {};
};

class LossModelTest : public testing::TestWithParam<Kind> {
 protected:
  Problem MakeProblem(uint64_t seed, uint32_t folds = 1) const {
    Problem problem;
    problem.folds = folds;
    if (GetParam().labels) {
      problem.labels =
          std::make_unique<RandomLabels>(kFeatures, kLabels, 20, 60, seed);
      FitLabels(0.5, &problem);
    } else {
      problem.tuples = RandomTuples(GetParam().family, 60, seed);
      FitCandidates(GetParam().family, 0.5, &problem);
    }
    return problem;
  }

  // Every action of one context once; the policy at `logging` logged them.
  Problem Enumerate(uint64_t seed, const Eigen::VectorXd& logging) const {
    Problem problem;
    RandomSequence random(SeedKey(seed));
    if (GetParam().labels) {
      problem.labels = std::make_unique<RandomLabels>(kFeatures, kLabels, 1,
                                                      1u << kLabels, seed);
      for (uint32_t k = 0; k < kLabels << kLabels; ++k) {
        problem.labels->tuples.labels[k] = k / kLabels >> k % kLabels & 1;
      }
      FitLabels(0.5, &problem);
    } else {
      const LinearFamily& family = GetParam().family;
      const BanditTuple first = RandomTuples(family, 1, seed)[0];
      const int rows = static_cast<int>(first.candidates().num_candidates());
      const auto add = [&](const Action& action) {
        problem.tuples.push_back(first);
        problem.tuples.back().action = action;
        problem.tuples.back().loss = -random.Uniform();
      };
      for (int row = family.can_abstain ? kAbstain : 0; row < rows; ++row) {
        if (family.action_kind == ActionKind::kSelect) {
          add({row});
          continue;
        }
        for (int next = 0; next < rows; ++next) {
          if (next != row) add({row, next});
        }
      }
      FitCandidates(family, 0.5, &problem);
    }
    for (size_t i = 0; i < problem.size(); ++i) {
      problem.SetPropensity(i, problem.policy->LogProbability(logging, i));
    }
    return problem;
  }

  Eigen::VectorXd RandomPoint(uint64_t seed) const {
    RandomSequence random(SeedKey(seed));
    Eigen::VectorXd point(GetParam().labels ? kFeatures * kLabels
                                            : GetParam().family.dimension());
    for (double& entry : point) entry = random.Normal();
    return point;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Kinds, LossModelTest,
    testing::Values(
        Kind{"Select", false, {ActionKind::kSelect, kFeatures, false, 0}},
        Kind{"Abstain", false, {ActionKind::kSelect, kFeatures, true, 0.2}},
        Kind{"Rank", false, {ActionKind::kRank, kFeatures, false, 0}},
        Kind{"RankMixture", false, {ActionKind::kRank, kFeatures, false, 0.2}},
        Kind{"Labels", true}),
    [](const auto& instance) { return instance.param.name; });

TEST_P(LossModelTest, DoublyRobustGradientIsThatOfCentralDifferences) {
  const Problem problem = MakeProblem(1, /*folds=*/3);
  for (const double clip : {1.5, kNoClip}) {
    ASSERT_OK_AND_ASSIGN(
        WeightedTerms terms,
        WeightedTerms::Create(problem.policy.get(), ClippedTerm(clip),
                              problem.model.get()));
    ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                         TermObjective::Create(&terms, 2, 0.01));
    for (uint64_t seed = 10; seed < 20; ++seed) {
      const Eigen::VectorXd point = RandomPoint(seed);
      Eigen::VectorXd gradient(point.size());
      objective.Evaluate(point, &gradient);
      EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
                1e-6 * gradient.norm())
          << "clip " << clip << " point " << point.transpose();
    }
  }
}

TEST_P(LossModelTest, ExpectationIsTheSumOverAllActions) {
  const Problem problem = Enumerate(2, RandomPoint(3));
  const Eigen::VectorXd point = 2 * RandomPoint(4);
  double probability = 0;
  double sum = 0;
  for (size_t i = 0; i < problem.size(); ++i) {
    const double h = std::exp(problem.policy->LogProbability(point, i));
    probability += h;
    sum += h * problem.model->LoggedLoss(i);
  }
  EXPECT_NEAR(probability, 1, 1e-12);  // No action is missing.
  EXPECT_NEAR(problem.Expected(point)[0], sum, 1e-12);
}

// Σ_y p(y) t(y) = Σ_y h(y) δ(y), even for a model that fits badly.
TEST_P(LossModelTest, DoublyRobustTermsAreUnbiasedWhateverTheModel) {
  const Problem problem = Enumerate(5, RandomPoint(6));
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(problem.policy.get(), ClippedTerm(kNoClip),
                            problem.model.get()));
  const Eigen::VectorXd point = RandomPoint(7);
  const std::vector<double> values = AllValues(point, &terms);
  double estimate = 0;
  double risk = 0;
  double misfit = 0;
  for (size_t i = 0; i < problem.size(); ++i) {
    estimate += std::exp(problem.policy->log_propensity(i)) * values[i];
    risk += std::exp(problem.policy->LogProbability(point, i)) *
            problem.policy->loss(i);
    misfit += std::abs(problem.policy->loss(i) - problem.model->LoggedLoss(i));
  }
  EXPECT_GT(misfit, 0.01 * static_cast<double>(problem.size()));
  EXPECT_NEAR(estimate, risk, 1e-12);
}

// Losses are linear, so the model fits them exactly, and a term is its
// expectation, whatever was drawn and with whatever propensity.
TEST_P(LossModelTest, APerfectModelLeavesTheCorrectionNothing) {
  Problem problem = MakeProblem(8);
  if (problem.labels) {
    LabelTuples& tuples = problem.labels->tuples;
    for (size_t i = 0; i < tuples.size(); ++i) {
      tuples.losses[i] = -0.5;
      for (uint32_t l = 0; l < kLabels; ++l) {
        const LabelContexts& contexts = problem.labels->contexts;
        for (uint64_t k = contexts.row_offsets[tuples.contexts[i]];
             k < contexts.row_offsets[tuples.contexts[i] + 1]; ++k) {
          tuples.losses[i] += tuples.labels[i * kLabels + l] *
                              (l == 1 ? -0.02 : 0.03) * contexts.values[k];
        }
      }
    }
    FitLabels(1e-9, &problem);
  } else {
    for (BanditTuple& tuple : problem.tuples) {
      tuple.loss = -0.4;
      if (tuple.action[0] == kAbstain) continue;
      const std::vector<double> weights = {0.05, -0.02, 0.01, 0.03};
      tuple.loss += tuple.candidates().Score(
          static_cast<uint32_t>(tuple.action[0]), weights);
    }
    FitCandidates(GetParam().family, 1e-9, &problem);
  }
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(problem.policy.get(), ClippedTerm(kNoClip),
                            problem.model.get()));
  const Eigen::VectorXd point = RandomPoint(9);
  const std::vector<double> values = AllValues(point, &terms);
  const std::vector<double> expected = problem.Expected(point);
  for (size_t i = 0; i < problem.size(); ++i) {
    const double weight = std::exp(problem.policy->LogProbability(point, i) -
                                   problem.policy->log_propensity(i));
    EXPECT_NEAR(values[i], expected[i], 1e-8 * (1 + weight)) << i;
  }
}

class ZeroLossModel : public LossModel {
 public:
  double LoggedLoss(size_t) const override { return 0; }
  void ExpectedLosses(const Eigen::VectorXd&, std::span<const uint32_t>,
                      std::span<double> losses) override {
    std::fill(losses.begin(), losses.end(), 0);
  }
  void AddGradient(std::span<const double>, Eigen::VectorXd*) override {}
};

TEST_P(LossModelTest, WithoutAModelledLossItIsCrm) {
  const Problem problem = MakeProblem(20);
  ZeroLossModel zero;
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(problem.policy.get(), ClippedTerm(2), &zero));
  ASSERT_OK_AND_ASSIGN(const TermObjective robust,
                       TermObjective::Create(&terms, 3, 0.1));
  ASSERT_OK_AND_ASSIGN(const CrmRisk risk, CrmRisk::Create(2, 3));
  ASSERT_OK_AND_ASSIGN(const RiskObjective crm,
                       RiskObjective::Create(problem.policy.get(), &risk, 0.1));
  const Eigen::VectorXd point = RandomPoint(21);
  Eigen::VectorXd gradient(point.size());
  Eigen::VectorXd crm_gradient(point.size());
  EXPECT_NEAR(robust.Evaluate(point, &gradient),
              crm.Evaluate(point, &crm_gradient), 1e-14);
  EXPECT_LT((gradient - crm_gradient).norm(), 1e-13 * crm_gradient.norm());
}

TEST_P(LossModelTest, RefusesAPenaltyThatIsNotPositive) {
  const Problem problem = MakeProblem(22);
  const std::vector<double> losses(problem.size(), -0.5);
  for (const double l2 : {0.0, -1.0, std::nan("")}) {
    const absl::Status status =
        problem.labels
            ? LabelsLossModel::Fit(problem.labels->contexts,
                                   problem.labels->tuples, {.l2 = l2})
                  .status()
            : CandidateLossModel::Fit(GetParam().family, problem.tuples, losses,
                                      {.l2 = l2})
                  .status();
    EXPECT_THAT(status, IsInvalidArgument("must be finite and positive"));
  }
}

// If something else was shown, the outcome is the worst loss, 0. With that as δ
// and the action's own weight, terms stay unbiased for E_h[shown · δ].
TEST(CandidateLossModelTest, HiddenActionsCorrectTheModel) {
  const LinearFamily family{ActionKind::kSelect, kFeatures, false, 0};
  Problem problem;
  const BanditTuple first = RandomTuples(family, 1, 30)[0];
  const auto rows = static_cast<int>(first.candidates().num_candidates());
  ASSERT_GE(rows, 3);
  for (int row = 0; row < rows; ++row) {
    problem.tuples.push_back(first);
    problem.tuples.back().action = {row};
    problem.tuples.back().loss = -0.1 * row;
    problem.tuples.back().action_shown = row != 2;
  }
  FitCandidates(family, 0.5, &problem, HiddenActions::kWeighed);
  RandomSequence random(SeedKey(31));
  const Eigen::VectorXd logging = RandomPoint(family, &random);
  for (int row = 0; row < rows; ++row) {
    problem.SetPropensity(row, problem.policy->LogProbability(logging, row));
  }
  ASSERT_OK_AND_ASSIGN(
      WeightedTerms terms,
      WeightedTerms::Create(problem.policy.get(), ClippedTerm(kNoClip),
                            problem.model.get()));
  const Eigen::VectorXd point = RandomPoint(family, &random);
  const std::vector<double> values = AllValues(point, &terms);
  double estimate = 0;
  double risk = 0;
  for (int row = 0; row < rows; ++row) {
    estimate += std::exp(problem.policy->log_propensity(row)) * values[row];
    if (row == 2) continue;
    risk += std::exp(problem.policy->LogProbability(point, row)) *
            problem.tuples[row].loss;
  }
  EXPECT_NEAR(estimate, risk, 1e-12);
}

TEST(CandidateLossModelTest, ModelledLossesStayInTheRangeOfLosses) {
  // Both tuples have two candidates of one feature. The chosen ones have 0
  // (loss 0) and 1 (loss -1), so the fitted line is -x. The others, at -3 and
  // 4, would get 3 and -4.
  const LinearFamily family{ActionKind::kSelect, 1, false, 0};
  std::vector<BanditTuple> tuples(2);
  for (BanditTuple& tuple : tuples) {
    tuple.num_features = 1;
    tuple.action = {0};
  }
  tuples[0].values = {0, -3};
  tuples[1].values = {1, 4};
  const std::vector<double> losses = {0, -1};
  ASSERT_OK_AND_ASSIGN(const CandidateLossModel model,
                       CandidateLossModel::Fit(family, tuples, losses,
                                               {.l2 = 1e-9, .folds = 1}));
  EXPECT_NEAR(model.CandidateLosses(0)[0], 0, 1e-7);
  EXPECT_EQ(model.CandidateLosses(0)[1], 0);
  EXPECT_NEAR(model.CandidateLosses(1)[0], -1, 1e-7);
  EXPECT_EQ(model.CandidateLosses(1)[1], -1);
}

TEST(CandidateLossModelTest, AbstainingHasTheMeanLossOfThoseThatAbstained) {
  const LossModelFit kOnce = {.folds = 1};
  const LinearFamily family{ActionKind::kSelect, kFeatures, true, 0};
  std::vector<BanditTuple> tuples = RandomTuples(family, 20, 40);
  std::vector<double> losses(tuples.size(), -0.7);
  for (BanditTuple& tuple : tuples) tuple.action = {0};
  ASSERT_OK_AND_ASSIGN(const auto never,
                       CandidateLossModel::Fit(family, tuples, losses, kOnce));
  EXPECT_EQ(never.AbstainLoss(0), 0);
  tuples[3].action = tuples[5].action = {kAbstain};
  losses[3] = -0.2;
  losses[5] = -0.4;
  ASSERT_OK_AND_ASSIGN(const auto twice,
                       CandidateLossModel::Fit(family, tuples, losses, kOnce));
  EXPECT_NEAR(twice.AbstainLoss(0), -0.3, 1e-15);
  // All abstained: the regression has no row, and the model is finite.
  for (BanditTuple& tuple : tuples) tuple.action = {kAbstain};
  ASSERT_OK_AND_ASSIGN(const auto always,
                       CandidateLossModel::Fit(family, tuples, losses, kOnce));
  for (const double loss : always.CandidateLosses(0)) EXPECT_EQ(loss, 0);
}

}  // namespace
}  // namespace sortition
