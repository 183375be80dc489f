#include "bench/ope/class_bandit.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/reward_models/reward_model_sums.h"
#include "core/learners/classes/logistic.h"

namespace sortition {
namespace {

constexpr double kLoggingShare = 0.05;  // Of the training items.
constexpr double kFloor = 0.05;         // Uniform share of the logging policy.
constexpr size_t kMostDraws = 3000;
constexpr size_t kGroups = 2048;
constexpr uint32_t kFolds = 5;

// Returns the logits of the test items by classifiers of the training items
// [begin, end).
absl::StatusOr<Eigen::MatrixXd> FitLogits(const ClassProblem& problem,
                                          size_t begin, size_t end) {
  const ClassItems& train = problem.train;
  const ClassItems& test = problem.test;
  Eigen::MatrixXd logits(test.size(), test.num_classes);
  for (uint32_t k = 0; k < train.num_classes; ++k) {
    std::vector<uint8_t> labels;
    for (size_t i = begin; i < end; ++i) {
      labels.push_back(train.reward(i, k) > 0 ? 1 : 0);
    }
    const size_t d = train.num_features;
    ASSIGN_OR_RETURN(
        const LogisticResult fit,
        FitLogistic({.features = std::span(train.features)
                                     .subspan(begin * d, (end - begin) * d),
                     .labels = labels,
                     .num_features = train.num_features,
                     .has_intercept = false},
                    config::v1::LogisticOptions()));
    for (size_t i = 0; i < test.size(); ++i) {
      double logit = 0;
      for (size_t j = 0; j < d; ++j) logit += fit.weights[j] * test.row(i)[j];
      logits(static_cast<Eigen::Index>(i), k) = logit;
    }
  }
  return logits;
}

Eigen::MatrixXd Softmax(const Eigen::MatrixXd& logits) {
  Eigen::MatrixXd shifted = logits.colwise() - logits.rowwise().maxCoeff();
  Eigen::MatrixXd powers = shifted.array().exp();
  return powers.array().colwise() / powers.rowwise().sum().array();
}

double ValueOf(const ClassItems& items, const Eigen::MatrixXd& policy) {
  double sum = 0;
  for (Eigen::Index i = 0; i < policy.rows(); ++i) {
    for (Eigen::Index k = 0; k < policy.cols(); ++k) {
      sum += policy(i, k) *
             items.reward(static_cast<size_t>(i), static_cast<size_t>(k));
    }
  }
  return sum / static_cast<double>(policy.rows());
}

struct ClassDraw {
  Eigen::Index item;
  Eigen::Index action;
  uint64_t unit;
};

std::vector<ClassDraw> DrawLog(const Eigen::MatrixXd& logging, size_t num_draws,
                               uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<ClassDraw> draws;
  for (size_t n = 0; n < num_draws; ++n) {
    const auto item = static_cast<Eigen::Index>(
        random.Below(static_cast<uint64_t>(logging.rows())));
    double left = random.Uniform();
    Eigen::Index action = 0;
    while (action + 1 < logging.cols() && left >= logging(item, action)) {
      left -= logging(item, action++);
    }
    draws.push_back({item, action, UnitKey(absl::StrCat(item), "")});
  }
  return draws;
}

// A cross-fitted model for each class, of the features of the items: what one
// model of the blocks of MultiVectorFeatures() would be, at less cost.
class ClassModels {
 public:
  static absl::StatusOr<ClassModels> Fit(const ClassItems& items,
                                         std::span<const ClassDraw> draws,
                                         RewardModelKind kind) {
    ClassModels models(items);
    const uint32_t features = items.num_features - 1;
    std::vector<RewardModelSums> sums;
    for (uint32_t k = 0; k < items.num_classes; ++k) {
      sums.emplace_back(kind, features, kFolds);
    }
    for (const ClassDraw& draw : draws) {
      const auto item = static_cast<size_t>(draw.item);
      const auto action = static_cast<size_t>(draw.action);
      sums[action].Add({.features = items.row(item).first(features),
                        .abstained = false,
                        .reward = items.reward(item, action),
                        .unit_hash = draw.unit});
    }
    for (const RewardModelSums& class_sums : sums) {
      ASSIGN_OR_RETURN(CrossFittedModel model, class_sums.Fit());
      models.models_.push_back(std::move(model));
    }
    return models;
  }

  // Returns the expected reward of an action.
  double Predict(const ClassDraw& draw, Eigen::Index action) const {
    return models_[static_cast<size_t>(action)].For(draw.unit).Predict(
        items_->row(static_cast<size_t>(draw.item))
            .first(items_->num_features - 1));
  }

 private:
  explicit ClassModels(const ClassItems& items) : items_(&items) {}

  const ClassItems* items_;
  std::vector<CrossFittedModel> models_;
};

}  // namespace

absl::StatusOr<ClassBandit> ClassBandit::Create(const ClassProblem& problem) {
  const size_t n = problem.train.size();
  const auto few = static_cast<size_t>(kLoggingShare * static_cast<double>(n));
  ClassBandit bandit(problem);
  ASSIGN_OR_RETURN(bandit.logging_logits_, FitLogits(problem, 0, few));
  ASSIGN_OR_RETURN(bandit.target_logits_, FitLogits(problem, few, n));
  return bandit;
}

BanditPolicies ClassBandit::PoliciesAt(double inverse_temperature) const {
  BanditPolicies policies;
  policies.target = Softmax(target_logits_);
  policies.logging =
      (1 - kFloor) * Softmax(inverse_temperature * logging_logits_).array() +
      kFloor / problem_->test.num_classes;
  policies.value = ValueOf(problem_->test, policies.target);
  policies.logged_value = ValueOf(problem_->test, policies.logging);
  return policies;
}

size_t ClassBandit::num_draws() const {
  return std::min(problem_->test.size(), kMostDraws);
}

absl::StatusOr<PolicySums> ClassBandit::DrawSums(const BanditPolicies& policies,
                                                 RewardModelKind kind,
                                                 uint64_t seed) const {
  const ClassItems& items = problem_->test;
  const std::vector<ClassDraw> draws =
      DrawLog(policies.logging, num_draws(), seed);
  ASSIGN_OR_RETURN(const ClassModels models,
                   ClassModels::Fit(items, draws, kind));
  PolicySums sums(1, kGroups);
  for (const ClassDraw& draw : draws) {
    JudgedDecision judged;
    for (Eigen::Index k = 0; k < policies.target.cols(); ++k) {
      const double expected = models.Predict(draw, k);
      judged.modelled_policy += policies.target(draw.item, k) * expected;
      if (k == draw.action) judged.modelled_logged = expected;
    }
    judged.log_weight = std::log(policies.target(draw.item, draw.action) /
                                 policies.logging(draw.item, draw.action));
    const double reward = items.reward(static_cast<size_t>(draw.item),
                                       static_cast<size_t>(draw.action));
    constexpr double kWhole = 1;
    sums.Add(draw.unit, kWhole, reward, {&judged, 1});
  }
  return sums;
}

}  // namespace sortition
