#include "core/learners/labelled/label_accuracy.h"

#include <cmath>
#include <limits>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/label_measure.h"
#include "core/losses/label_chain.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

using Eigen::Index;

constexpr uint32_t kMaxLabels = 1000;

absl::StatusOr<uint32_t> NumLabels(const model::v1::Policy& policy,
                                   size_t num_weights, uint32_t num_features) {
  const bool chain = policy.has_label_chain();
  const size_t q = chain              ? policy.label_chain().num_labels()
                   : num_features > 0 ? num_weights / num_features
                                      : 0;
  if (q > 0 && q <= kMaxLabels && q * num_features == num_weights) {
    return static_cast<uint32_t>(q);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there are ", num_weights, " weights, must be ", num_features,
      " features times ",
      chain ? absl::StrCat(q)
            : absl::StrCat("a number of labels within [1, ", kMaxLabels, "]")));
}

// Returns the scores w_l·x_i, items × labels, without α.
absl::StatusOr<Eigen::MatrixXd> LabelScores(const model::v1::Policy& policy,
                                            std::span<const double> weights,
                                            const Candidates& items) {
  RETURN_IF_ERROR(CheckLabelPolicy(policy));
  const uint32_t d = items.num_features();
  ASSIGN_OR_RETURN(const uint32_t q, NumLabels(policy, weights.size(), d));
  if (items.num_candidates() == 0) {
    return absl::InvalidArgumentError("there are 0 items, must be at least 1");
  }
  Eigen::MatrixXd scores(items.num_candidates(), q);
  std::vector<double> of_label(d);
  for (uint32_t l = 0; l < q; ++l) {
    for (size_t j = 0; j < d; ++j) {
      of_label[j] =
          weights[policy.has_label_chain() ? j * q + l : size_t{l} * d + j];
    }
    ScoreAll(items, of_label,
             {scores.col(l).data(), static_cast<size_t>(scores.rows())});
  }
  if (scores.allFinite()) return scores;
  return absl::InvalidArgumentError("a score is not finite, must be finite");
}

Eigen::MatrixXd TransitionsOf(const model::v1::LabelChain& chain) {
  const Index q = chain.num_labels();
  if (chain.transitions().empty()) return Eigen::MatrixXd::Zero(q, q);
  return Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic,
                                        Eigen::RowMajor>>(
      chain.transitions().data(), q, q);
}

double AbstainScore(const model::v1::Policy& policy) {
  return policy.softmax_selection().has_abstain_score()
             ? policy.softmax_selection().abstain_score()
             : -std::numeric_limits<double>::infinity();
}

double NumActions(const model::v1::Policy& policy,
                  const Eigen::MatrixXd& scores) {
  return static_cast<double>(
      scores.cols() + (policy.softmax_selection().has_abstain_score() ? 1 : 0));
}

// Returns P(label l for item i), items × labels. If the policy can abstain,
// rows add up to less than 1.
Eigen::MatrixXd SelectionProbabilities(const model::v1::Policy& policy,
                                       const Eigen::MatrixXd& scores) {
  const double alpha = policy.inverse_temperature();
  const double epsilon = policy.uniform_mixture();
  const double abstain = AbstainScore(policy);
  Eigen::MatrixXd probabilities(scores.rows(), scores.cols());
  for (Index i = 0; i < scores.rows(); ++i) {
    const double best = std::fmax(scores.row(i).maxCoeff(), abstain);
    const Eigen::RowVectorXd odds =
        (alpha * (scores.row(i).array() - best)).exp();
    const double total = odds.sum() + std::exp(alpha * (abstain - best));
    probabilities.row(i) = ((1 - epsilon) / total * odds).array() +
                           epsilon / NumActions(policy, scores);
  }
  return probabilities;
}

Eigen::MatrixXd ChainProbabilities(const model::v1::Policy& policy,
                                   const Eigen::MatrixXd& scores) {
  LabelChain chain;
  const double alpha = policy.inverse_temperature();
  chain.Sum(alpha * scores, alpha * TransitionsOf(policy.label_chain()));
  return chain.marginals();
}

std::vector<int32_t> BestLabels(const model::v1::Policy& policy,
                                const Eigen::MatrixXd& scores) {
  if (policy.has_label_chain()) {
    LabelChain chain;
    std::vector<uint32_t> labels;
    chain.Maximise(scores, TransitionsOf(policy.label_chain()), {}, 0, &labels);
    return {labels.begin(), labels.end()};
  }
  std::vector<int32_t> labels;
  for (Index i = 0; i < scores.rows(); ++i) {
    Index best = 0;
    const double score = scores.row(i).maxCoeff(&best);
    labels.push_back(score < AbstainScore(policy) ? kAbstain
                                                  : static_cast<int32_t>(best));
  }
  return labels;
}

double EntropyOf(double p) { return p > 0 ? -p * std::log(p) : 0; }

}  // namespace

absl::Status CheckLabelPolicy(const model::v1::Policy& policy) {
  if (policy.has_label_chain() || policy.has_softmax_selection()) {
    return ValidatePolicy(policy);
  }
  return absl::FailedPreconditionError(
      "the policy gives items no labels, must be softmax_selection or "
      "label_chain: it has no accuracy");
}

absl::StatusOr<LabelFigures> LabelFiguresOf(const model::v1::Policy& policy,
                                            std::span<const double> weights,
                                            const LabelledItems& query) {
  ASSIGN_OR_RETURN(const Eigen::MatrixXd scores,
                   LabelScores(policy, weights, query.items));
  const Eigen::MatrixXd probabilities =
      policy.has_label_chain() ? ChainProbabilities(policy, scores)
                               : SelectionProbabilities(policy, scores);
  const double share = 1 / static_cast<double>(scores.rows());
  LabelFigures figures;
  figures.by_score =
      EvaluateAction({.kind = LabelMeasure::Kind::kAccuracy}, query.relevances,
                     BestLabels(policy, scores));
  for (Index i = 0; i < scores.rows(); ++i) {
    for (const double p : probabilities.row(i)) {
      figures.entropy += share * EntropyOf(p);
    }
    if (policy.softmax_selection().has_abstain_score()) {
      figures.entropy += share * EntropyOf(1 - probabilities.row(i).sum());
    }
    const uint32_t label = query.relevances[static_cast<size_t>(i)];
    if (label >= scores.cols()) continue;
    figures.expected += share * probabilities(i, label);
    figures.by_chance += share / NumActions(policy, scores);
  }
  return figures;
}

absl::StatusOr<std::vector<int32_t>> MostProbableLabels(
    const model::v1::Policy& policy, std::span<const double> weights,
    const Candidates& items) {
  ASSIGN_OR_RETURN(const Eigen::MatrixXd scores,
                   LabelScores(policy, weights, items));
  return BestLabels(policy, scores);
}

}  // namespace sortition
