#include "core/learners/labels_policy.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace sortition {
namespace {

constexpr uint32_t kNoPlace = std::numeric_limits<uint32_t>::max();

// Rows with more of their values than this are faster as dense ones.
constexpr double kDenseShare = 0.25;

}  // namespace

LabelScorer::LabelScorer(const LabelContexts& contexts) : contexts_(contexts) {
  const double entries = static_cast<double>(contexts.size()) *
                         static_cast<double>(contexts.num_features);
  if (static_cast<double>(contexts.values.size()) < kDenseShare * entries) {
    return;
  }
  dense_ = Matrix::Zero(static_cast<Eigen::Index>(contexts.size()),
                        contexts.num_features);
  for (size_t row = 0; row < contexts.size(); ++row) {
    for (uint64_t k = contexts.row_offsets[row];
         k < contexts.row_offsets[row + 1]; ++k) {
      dense_(static_cast<Eigen::Index>(row), contexts.columns[k]) =
          contexts.values[k];
    }
  }
}

void LabelScorer::Score(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> rows, Matrix* scores) {
  DCHECK(parameters.size() == dimension());
  rows_.assign(rows.begin(), rows.end());
  const auto count = static_cast<Eigen::Index>(rows.size());
  const Eigen::Map<const Matrix> weights(
      parameters.data(), contexts_.num_features, contexts_.num_labels);
  scores->resize(count, contexts_.num_labels);
  if (dense_.size() > 0) {
    gathered_.resize(count, dense_.cols());
    for (size_t r = 0; r < rows.size(); ++r) {
      gathered_.row(static_cast<Eigen::Index>(r)) = dense_.row(rows[r]);
    }
    scores->noalias() = gathered_ * weights;
    return;
  }
  scores->setZero();
  for (size_t r = 0; r < rows.size(); ++r) {
    for (uint64_t k = contexts_.row_offsets[rows[r]];
         k < contexts_.row_offsets[rows[r] + 1]; ++k) {
      scores->row(static_cast<Eigen::Index>(r)) +=
          static_cast<double>(contexts_.values[k]) *
          weights.row(contexts_.columns[k]);
    }
  }
}

void LabelScorer::AddOuterProducts(const Matrix& factors,
                                   Eigen::VectorXd* gradient) const {
  DCHECK(gradient->size() == dimension());
  DCHECK(factors.rows() == static_cast<Eigen::Index>(rows_.size()));
  Eigen::Map<Matrix> sum(gradient->data(), contexts_.num_features,
                         contexts_.num_labels);
  if (dense_.size() > 0) {
    sum.noalias() += gathered_.transpose() * factors;
    return;
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    for (uint64_t k = contexts_.row_offsets[rows_[r]];
         k < contexts_.row_offsets[rows_[r] + 1]; ++k) {
      sum.row(contexts_.columns[k]) +=
          static_cast<double>(contexts_.values[k]) *
          factors.row(static_cast<Eigen::Index>(r));
    }
  }
}

absl::StatusOr<LabelsPolicy> LabelsPolicy::Create(const LabelContexts& contexts,
                                                  const LabelTuples& tuples) {
  const size_t n = tuples.size();
  if (tuples.labels.size() != n * contexts.num_labels ||
      tuples.losses.size() != n || tuples.log_propensities.size() != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        n, " tuples have ", tuples.labels.size(), " labels, ",
        tuples.losses.size(), " losses and ", tuples.log_propensities.size(),
        " propensities, must have ", n * contexts.num_labels, ", ", n, " and ",
        n));
  }
  for (size_t i = 0; i < n; ++i) {
    if (tuples.contexts[i] >= contexts.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("context of tuple ", i, " is ", tuples.contexts[i],
                       ", must be below ", contexts.size()));
    }
  }
  for (size_t k = 0; k < tuples.labels.size(); ++k) {
    if (tuples.labels[k] > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("label ", k % contexts.num_labels, " of tuple ",
                       k / contexts.num_labels, " is ", tuples.labels[k],
                       ", must be 0 or 1"));
    }
  }
  return LabelsPolicy(contexts, tuples);
}

LabelsPolicy::LabelsPolicy(const LabelContexts& contexts,
                           const LabelTuples& tuples)
    : contexts_(&contexts),
      tuples_(&tuples),
      scorer_(contexts),
      place_of_context_(contexts.size(), kNoPlace) {}

void LabelsPolicy::LogProbabilities(const Eigen::VectorXd& parameters,
                                    std::span<const uint32_t> tuples,
                                    std::span<double> log_probabilities) {
  DCHECK(tuples.size() == log_probabilities.size());
  block_.assign(tuples.begin(), tuples.end());
  rows_.clear();
  place_.clear();
  for (const uint32_t tuple : tuples) {
    uint32_t& place = place_of_context_[tuples_->contexts[tuple]];
    if (place == kNoPlace) {
      place = static_cast<uint32_t>(rows_.size());
      rows_.push_back(tuples_->contexts[tuple]);
    }
    place_.push_back(place);
  }
  for (const uint32_t row : rows_) place_of_context_[row] = kNoPlace;
  scorer_.Score(parameters, rows_, &scores_);
  // e = exp(-|s|): σ = 1 / (1 + e) or e / (1 + e), log(1 + exp(s)) = max(s, 0)
  // + log(1 + e).
  const auto scores = scores_.array();
  factors_ = (-scores.abs()).exp();
  const auto e = factors_.array();
  probabilities_ = (scores >= 0).select(1.0 / (1.0 + e), e / (1.0 + e));
  const Eigen::VectorXd log_partitions =
      (scores.max(0.0) + e.log1p()).rowwise().sum();
  const uint32_t q = contexts_->num_labels;
  for (size_t k = 0; k < tuples.size(); ++k) {
    const double* row = scores_.data() + size_t{place_[k]} * q;
    const uint8_t* labels = tuples_->labels.data() + size_t{tuples[k]} * q;
    double score = 0;
    for (uint32_t l = 0; l < q; ++l) score += labels[l] * row[l];
    log_probabilities[k] = score - log_partitions[place_[k]];
  }
}

void LabelsPolicy::AddGradient(std::span<const double> factors,
                               Eigen::VectorXd* gradient) {
  DCHECK(factors.size() == block_.size());
  const uint32_t q = contexts_->num_labels;
  factors_.setZero(static_cast<Eigen::Index>(rows_.size()), q);
  for (size_t k = 0; k < block_.size(); ++k) {
    if (factors[k] == 0) continue;
    double* row = factors_.data() + size_t{place_[k]} * q;
    const double* probabilities = probabilities_.data() + size_t{place_[k]} * q;
    const uint8_t* labels = tuples_->labels.data() + size_t{block_[k]} * q;
    for (uint32_t l = 0; l < q; ++l) {
      row[l] += factors[k] * (labels[l] - probabilities[l]);
    }
  }
  scorer_.AddOuterProducts(factors_, gradient);
}

}  // namespace sortition
