#include "core/learners/counterfactual/candidate_loss_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/moments.h"
#include "core/optim/ridge.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

// The tuples that one model is fitted to.
struct Sample {
  std::vector<uint32_t> answered;  // Those that did not abstain.
  std::vector<double> roots;       // Of their weights.
  std::vector<double> targets;     // Losses times roots.
  Moments abstained;               // Losses of the others.
};

// Leaves out the fold `fold`, unless there is only one.
Sample SampleWithout(uint32_t fold, std::span<const BanditTuple> tuples,
                     std::span<const double> losses, const LossModelFit& fit) {
  Sample sample;
  for (size_t i = 0; i < tuples.size(); ++i) {
    if (fit.folds > 1 && tuples[i].unit % fit.folds == fold) continue;
    const double weight = fit.weights.empty() ? 1 : fit.weights[i];
    if (tuples[i].action[0] == kAbstain) {
      sample.abstained.Add(losses[i], weight);
      continue;
    }
    sample.answered.push_back(static_cast<uint32_t>(i));
    sample.roots.push_back(std::sqrt(weight));
    sample.targets.push_back(losses[i] * sample.roots.back());
  }
  return sample;
}

// The rows of the regression: for each tuple of the sample, the first chosen
// candidate followed by a 1, times the root of its weight.
class ChosenRows : public RidgeRows {
 public:
  ChosenRows(std::span<const BanditTuple> tuples, const Sample& sample,
             uint32_t num_features)
      : tuples_(tuples), sample_(sample), num_features_(num_features) {}

  Eigen::Index rows() const override {
    return static_cast<Eigen::Index>(sample_.answered.size());
  }
  Eigen::Index columns() const override { return num_features_ + 1; }
  void Multiply(const Eigen::VectorXd& v,
                Eigen::VectorXd* products) const override {
    products->resize(rows());
    const std::span<const double> weights(v.data(), num_features_);
    for (size_t k = 0; k < sample_.roots.size(); ++k) {
      const auto [candidates, row] = ChosenRow(k);
      (*products)[static_cast<Eigen::Index>(k)] =
          sample_.roots[k] *
          (candidates.Score(row, weights) + v[num_features_]);
    }
  }
  void AddTransposed(const Eigen::VectorXd& factors,
                     Eigen::VectorXd* sum) const override {
    const std::span<double> weights(sum->data(), num_features_);
    for (size_t k = 0; k < sample_.roots.size(); ++k) {
      const double factor =
          sample_.roots[k] * factors[static_cast<Eigen::Index>(k)];
      const auto [candidates, row] = ChosenRow(k);
      candidates.AddRow(row, factor, weights);
      (*sum)[num_features_] += factor;
    }
  }
  void AddSquares(Eigen::VectorXd* sum) const override {
    Eigen::VectorXd entries(num_features_);
    for (size_t k = 0; k < sample_.roots.size(); ++k) {
      entries.setZero();
      const auto [candidates, row] = ChosenRow(k);
      candidates.AddRow(row, sample_.roots[k], {entries.data(), num_features_});
      sum->head(num_features_) += entries.cwiseAbs2();
      (*sum)[num_features_] += sample_.roots[k] * sample_.roots[k];
    }
  }

 private:
  FeatureBlock::Row ChosenRow(size_t k) const {
    const BanditTuple& tuple = tuples_[sample_.answered[k]];
    return features_.LoadRow(tuple, static_cast<uint32_t>(tuple.action[0]));
  }

  std::span<const BanditTuple> tuples_;
  const Sample& sample_;
  uint32_t num_features_;
  mutable FeatureBlock features_;
};

// Returns the penalty of each coefficient; the intercept has none.
Eigen::VectorXd Penalties(const LossModelFit& fit, uint32_t num_features) {
  Eigen::VectorXd penalties =
      Eigen::VectorXd::Constant(num_features + 1, fit.l2);
  if (fit.scales.size() > 0) {
    penalties.head(num_features).array() /=
        fit.scales.head(num_features).array().square();
  }
  penalties[num_features] = 0;
  return penalties;
}

absl::StatusOr<std::shared_ptr<const ActionDistribution>> WithoutMixture(
    LinearFamily family) {
  family.uniform_mixture = 0;
  return MakeActionDistribution(
      PolicyAt(family, Eigen::VectorXd::Zero(family.dimension())));
}

absl::Status Validate(const LinearFamily& family, const LossModelFit& fit) {
  if (family.action_kind == ActionKind::kSubset) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, which models the loss of one "
        "candidate, must be another for subsets");
  }
  if (family.boltzmann) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, which follows the softmax of the "
        "first rank, must be another for boltzmann_ranking");
  }
  if (!family.rank_factors.empty()) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, which follows the softmax of the "
        "first rank, must be another for plackett_luce with rank_factors");
  }
  return ValidateLossModelFit(fit);
}

}  // namespace

absl::StatusOr<CandidateLossModel> CandidateLossModel::Fit(
    const LinearFamily& family, std::span<const BanditTuple> tuples,
    std::span<const double> losses, const LossModelFit& fit) {
  CHECK(losses.size() == tuples.size());
  RETURN_IF_ERROR(Validate(family, fit));
  ASSIGN_OR_RETURN(std::shared_ptr<const ActionDistribution> distribution,
                   WithoutMixture(family));
  CandidateLossModel model(family, tuples, std::move(distribution));
  const Eigen::VectorXd penalties = Penalties(fit, family.num_features);
  auto coefficients = std::make_shared<Coefficients>();
  for (uint32_t fold = 0; fold < fit.folds; ++fold) {
    const Sample sample = SampleWithout(fold, tuples, losses, fit);
    const ChosenRows rows(tuples, sample, family.num_features);
    const Eigen::Map<const Eigen::VectorXd> targets(sample.targets.data(),
                                                    rows.rows());
    coefficients->of_candidates.push_back(SolveRidge(rows, targets, penalties));
    coefficients->abstain_losses.push_back(sample.abstained.mean());
  }
  model.coefficients_ = std::move(coefficients);
  model.Predict();
  return model;
}

void CandidateLossModel::Predict() {
  std::vector<double> losses;
  std::vector<uint64_t> offsets;
  offsets.reserve(tuples_.size() + 1);
  size_t num_candidates = 0;
  for (const BanditTuple& tuple : tuples_) {
    num_candidates += tuple.num_candidates();
  }
  losses.reserve(num_candidates);
  for (size_t i = 0; i < tuples_.size(); ++i) {
    offsets.push_back(losses.size());
    const Eigen::VectorXd& line = coefficients_->of_candidates[FoldOf(i)];
    const std::span<const double> weights(line.data(), family_.num_features);
    const Candidates& candidates = features_.Load(tuples_[i]);
    for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
      // A loss beyond its range is an error of the linear model. Without the
      // clamp it would draw the policy to candidates with large features.
      losses.push_back(std::clamp(
          candidates.Score(row, weights) + line[family_.num_features], -1.0,
          0.0));
    }
  }
  offsets.push_back(losses.size());
  candidate_losses_ =
      std::make_shared<const std::vector<double>>(std::move(losses));
  offsets_ = std::make_shared<const std::vector<uint64_t>>(std::move(offsets));
}

std::span<const double> CandidateLossModel::CandidateLosses(size_t i) const {
  return std::span(*candidate_losses_)
      .subspan((*offsets_)[i], (*offsets_)[i + 1] - (*offsets_)[i]);
}

double CandidateLossModel::LoggedLoss(size_t i) const {
  const int32_t first = tuples_[i].action[0];
  return first == kAbstain ? AbstainLoss(i)
                           : CandidateLosses(i)[static_cast<size_t>(first)];
}

// For the policy part p and m actions: E = (1-ε) Σ p δ̂ + (ε/m) Σ δ̂,
// ∂E/∂s_j = (1-ε) p_j (δ̂_j - Σ p δ̂).
void CandidateLossModel::ExpectedLosses(const Eigen::VectorXd& parameters,
                                        std::span<const uint32_t> tuples,
                                        std::span<double> losses) {
  DCHECK(parameters.size() == family_.dimension());
  const double epsilon = family_.uniform_mixture;
  const std::span<const double> weights(parameters.data(),
                                        family_.num_features);
  block_.assign(tuples.begin(), tuples.end());
  features_.Assign(tuples_, block_);
  score_slopes_.clear();
  abstain_slopes_.clear();
  for (size_t k = 0; k < tuples.size(); ++k) {
    const Candidates& candidates = features_[k];
    const std::span<const double> modelled = CandidateLosses(tuples[k]);
    scores_.resize(modelled.size());
    probabilities_.resize(modelled.size());
    for (uint32_t row = 0; row < modelled.size(); ++row) {
      scores_[row] = candidates.Score(row, weights);
    }
    ScoredCandidates scored;
    scored.scores = scores_;
    scored.scratch = &scratch_;
    if (family_.can_abstain) {
      scored.abstain_score = parameters[family_.num_features];
    }
    // 0 if the policy cannot abstain.
    const double abstain =
        distribution_->FirstProbabilities(scored, probabilities_);
    const double abstain_loss = AbstainLoss(tuples[k]);
    double mean = abstain * abstain_loss;
    double sum = family_.can_abstain ? abstain_loss : 0;
    for (size_t row = 0; row < modelled.size(); ++row) {
      mean += probabilities_[row] * modelled[row];
      sum += modelled[row];
    }
    const size_t num_actions = modelled.size() + (family_.can_abstain ? 1 : 0);
    losses[k] =
        (1 - epsilon) * mean + epsilon * sum / static_cast<double>(num_actions);
    for (size_t row = 0; row < modelled.size(); ++row) {
      score_slopes_.push_back((1 - epsilon) * probabilities_[row] *
                              (modelled[row] - mean));
    }
    abstain_slopes_.push_back((1 - epsilon) * abstain * (abstain_loss - mean));
  }
}

void CandidateLossModel::AddGradient(std::span<const double> factors,
                                     Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == block_.size());
  const std::span<double> weights_gradient(gradient->data(),
                                           family_.num_features);
  size_t next = 0;
  for (size_t k = 0; k < block_.size(); ++k) {
    const Candidates& candidates = features_[k];
    for (uint32_t row = 0; row < candidates.num_candidates(); ++row) {
      candidates.AddRow(row, factors[k] * score_slopes_[next++],
                        weights_gradient);
    }
    if (family_.can_abstain) {
      (*gradient)[family_.num_features] += factors[k] * abstain_slopes_[k];
    }
  }
}

}  // namespace sortition
