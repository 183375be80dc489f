#pragma once
// A policy of independent labels [SwaminathanJoachims15, sec. 5.2]. With
// φ(x, y) = x ⊗ y,
//   h_w(y|x) = Π_l σ(s_l)^{y_l} (1 - σ(s_l))^{1 - y_l},  s_l = w_l · x,
//   log Z(x) = Σ_l log(1 + exp(s_l)),
//   ∇_{w_l} log h_w(y|x) = (y_l - σ(s_l)) x.
// The parameters are w as a p × q matrix by rows: w[j q + l] is the weight of
// feature j for label l.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/counterfactual/tuple_policy.h"
#include "core/learners/multilabel/context_rows.h"
#include "core/learners/multilabel/label_tuples.h"

namespace sortition {

// Computes s = w·x for rows of contexts. Stores them densely if few values are
// 0.
class LabelScorer {
 public:
  using Matrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

  // `contexts` must outlive this.
  explicit LabelScorer(const LabelContexts& contexts);

  void SetParameters(const Eigen::VectorXd& parameters);
  // Writes the scores of the contexts `rows` (rows × q). Thread-safe.
  void Score(std::span<const uint32_t> rows, std::span<double> scores) const;
  // Prefetches a context for a call of Score() that comes soon.
  void Prefetch(uint32_t row) const {
    if (!dense_.empty()) dense_.Prefetch(row);
  }
  // Computes gradient += Σ_r x_r ⊗ factors[r q …] over the contexts r of
  // `rows`.
  void AddOuterProducts(std::span<const uint32_t> rows,
                        std::span<const double> factors,
                        const ParallelFor& parallel_for,
                        Eigen::VectorXd* gradient);

  // Returns the scores of all contexts.
  Matrix Scores(const Eigen::VectorXd& parameters);

  // Returns the features that are not 0 in some of `rows`, each once,
  // ascending. Valid until the next call.
  std::span<const uint32_t> Features(std::span<const uint32_t> rows);

  bool is_dense() const { return !dense_.empty(); }
  Eigen::Index dimension() const {
    return static_cast<Eigen::Index>(contexts_.num_features) *
           contexts_.num_labels;
  }

 private:
  // For a sparse row.
  void PrefetchColumns(uint32_t row) const;

  const LabelContexts& contexts_;
  ContextRows dense_;         // Empty if the rows are sparse.
  const double* parameters_;  // From SetParameters(); for sparse rows.
  // Workspace of Features():
  std::vector<uint32_t> features_;
  // One bit for each feature; all 0 between calls.
  std::vector<uint64_t> is_found_;
};

class LabelsPolicy : public TuplePolicy {
 public:
  // `contexts` and `tuples` must outlive this. InvalidArgument if a tuple's
  // context does not exist, a label is not 0 or 1, or sizes disagree. Results
  // do not depend on `parallel_for`.
  static absl::StatusOr<LabelsPolicy> Create(
      const LabelContexts& contexts, const LabelTuples& tuples,
      ParallelFor parallel_for = SerialFor);

  size_t num_tuples() const override { return tuples_->size(); }
  Eigen::Index dimension() const override { return scorer_.dimension(); }
  double loss(size_t i) const override { return tuples_->losses[i]; }
  double log_propensity(size_t i) const override {
    return tuples_->log_propensities[i];
  }
  // Tuples of the same context share its scores, its partition and its part of
  // the gradient.
  void LogProbabilities(const Eigen::VectorXd& parameters,
                        std::span<const uint32_t> tuples,
                        std::span<double> log_probabilities) override;
  double weight(size_t i) const override {
    return tuples_->weights.empty() ? 1 : tuples_->weights[i];
  }
  // Replays of a context are one unit.
  std::optional<uint64_t> unit(size_t i) const override {
    return tuples_->contexts[i];
  }
  void Prefetch(std::span<const uint32_t> tuples) const override;
  void AddGradient(std::span<const double> factors,
                   Eigen::VectorXd* gradient) override;
  std::optional<EntryGroups> Entries(std::span<const uint32_t> tuples) override;
  size_t block_size() const override { return size_t{1} << 20; }
  // Few tuples stay in the caches. Many share what contexts have in common.
  size_t value_block_size() const override {
    return num_tuples() > contexts_->size() ? block_size() : 4096;
  }

 private:
  LabelsPolicy(const LabelContexts& contexts, const LabelTuples& tuples,
               ParallelFor parallel_for);

  // Writes the distinct contexts of `tuples` to rows_, and where each is to
  // place_.
  void FindContexts(std::span<const uint32_t> tuples);
  // Computes scores, probabilities and log-partitions of rows_[begin, end).
  void ScoreRows(size_t begin, size_t end);

  const LabelContexts* contexts_;
  const LabelTuples* tuples_;
  ParallelFor parallel_for_;
  LabelScorer scorer_;
  // State of the last LogProbabilities():
  std::vector<uint32_t> block_;  // Its tuples.
  std::vector<uint32_t> rows_;   // Their contexts, each once.
  std::vector<uint32_t> place_;  // The index of each tuple's context in rows_.
  std::vector<uint32_t> place_of_context_;
  // Rows × q:
  std::vector<double> scores_;
  std::vector<double> probabilities_;   // σ(s)
  std::vector<double> factors_;         // For AddGradient().
  std::vector<double> log_partitions_;  // For each row.
};

}  // namespace sortition
