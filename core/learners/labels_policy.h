#pragma once
// Independent labels [SwaminathanJoachims15, sec. 5.2]: with φ(x, y) = x ⊗ y,
//   h_w(y|x) = Π_l σ(s_l)^{y_l} (1 - σ(s_l))^{1 - y_l},  s_l = w_l · x,
//   log Z(x) = Σ_l log(1 + exp(s_l)),
//   ∇_{w_l} log h_w(y|x) = (y_l - σ(s_l)) x.
// Parameters: w as a p × q matrix by rows, w[j q + l] of feature j for label l.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/learners/label_tuples.h"

namespace sortition {

// s = w·x for rows of contexts; dense inside where few values are zero.
class LabelScorer {
 public:
  using Matrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  // `contexts` must outlive this.
  explicit LabelScorer(const LabelContexts& contexts);

  // Scores of the contexts `rows`, one row each, into `scores` (rows × q).
  void Score(const Eigen::VectorXd& parameters, std::span<const uint32_t> rows,
             Matrix* scores);
  // gradient += Σ_r x_r ⊗ factors.row(r), r over the rows of the last Score().
  void AddOuterProducts(const Matrix& factors, Eigen::VectorXd* gradient) const;

  Eigen::Index dimension() const {
    return static_cast<Eigen::Index>(contexts_.num_features) *
           contexts_.num_labels;
  }

 private:
  const LabelContexts& contexts_;
  Matrix dense_;  // n × p; empty where the rows are sparse.
  // Of the last Score():
  std::vector<uint32_t> rows_;
  Matrix gathered_;  // Their dense rows.
};

class LabelsPolicy : public TuplePolicy {
 public:
  // Both must outlive this. InvalidArgument where a tuple names no context, a
  // label is not 0 or 1, or sizes do not fit.
  static absl::StatusOr<LabelsPolicy> Create(const LabelContexts& contexts,
                                             const LabelTuples& tuples);

  size_t num_tuples() const override { return tuples_->size(); }
  Eigen::Index dimension() const override { return scorer_.dimension(); }
  double loss(size_t i) const override { return tuples_->losses[i]; }
  double log_propensity(size_t i) const override {
    return tuples_->log_propensities[i];
  }
  // Tuples of one context share its scores, its partition and its part of the
  // gradient.
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  size_t block_size() const override { return size_t{1} << 20; }

 private:
  LabelsPolicy(const LabelContexts& contexts, const LabelTuples& tuples);

  const LabelContexts* contexts_;
  const LabelTuples* tuples_;
  LabelScorer scorer_;
  // Of the last LogProbabilities():
  std::vector<uint32_t> block_;  // Its tuples.
  std::vector<uint32_t> rows_;   // Their contexts, each once.
  std::vector<uint32_t> place_;  // Of each tuple's context in rows_.
  std::vector<uint32_t> place_of_context_;
  LabelScorer::Matrix scores_;
  LabelScorer::Matrix probabilities_;  // σ(s)
  LabelScorer::Matrix factors_;
};

}  // namespace sortition
