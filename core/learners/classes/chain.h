#pragma once
// Labels of sequences (seed 001, sec. 17.3). The score of a labelling y of the
// sequence x_1 .. x_r is
//   S(y) = Σ_j U_(y_j)·x_j + Σ_{j>1} T(y_{j-1}, y_j),
// where U has a weight vector for each of q labels, and T a weight for each
// pair of adjacent labels. With w = (U, T), training solves one of
//
//   min_w  λ/2 ‖w‖² + (1/N) Σ_i [log Σ_y exp(S_i(y)) - S_i(y_i)]
//   min_w  λ/2 ‖w‖² + (1/N) Σ_i max_y [Δ(y, y_i) + (S_i(y) - S_i(y_i)) / r_i].
//
// The first is the likelihood of a conditional random field, minimised by
// L-BFGS. The second is the structured hinge of Δ, the share of wrong labels,
// minimised by cutting planes (one_slack.h). As in the lecture, the hinge's
// features are means over the sequence, so that each wrong label asks for the
// same margin however long the sequence is. An evaluation costs O(n q (d + q))
// for n items.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/data/labelled_items.h"
#include "core/losses/label_chain.h"
#include "core/optim/objective.h"
#include "core/optim/one_slack.h"
#include "sortition/config/v1/classes.pb.h"

namespace sortition {

// Sequences. The features of all items form one dense matrix. Immutable,
// thread-safe.
class ChainData {
 public:
  // Labels are the relevances. InvalidArgument where q is not within [2, 1000],
  // there is no sequence, a sequence is empty, features differ in number or are
  // not finite, or a label is not below q.
  static absl::StatusOr<ChainData> Create(
      std::span<const LabelledItems> sequences, uint32_t num_labels,
      ParallelFor parallel_for = SerialFor);

  // Returns (d + q) q, the size of U as d × q by rows and then T as q × q by
  // rows.
  Eigen::Index dimension() const { return (items_.cols() + q_) * q_; }
  Eigen::Index num_unary() const { return items_.cols() * q_; }
  size_t num_sequences() const { return begins_.size() - 1; }

  // One sequence's term of the objective. A TermFunction returns its value and
  // writes its slopes, r × q and q × q, which the caller has set to 0.
  struct Term {
    std::span<const uint32_t> truth;
    const Eigen::MatrixXd& unary;  // r × q
    const Eigen::MatrixXd& transitions;
    Eigen::Ref<Eigen::MatrixXd> unary_slope;
    Eigen::Ref<Eigen::MatrixXd> transition_slope;
  };
  using TermFunction = std::function<double(LabelChain* chain, Term term)>;

  // Returns the mean of the term over the sequences, and overwrites `slope`
  // with its derivative. Bit-identical for any number of threads.
  double Mean(const Eigen::VectorXd& parameters, const TermFunction& term,
              Eigen::VectorXd* slope) const;

 private:
  ChainData() = default;

  Eigen::Index q_ = 0;
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> items_;
  std::vector<uint32_t> labels_;  // The label of each item.
  // Where each sequence begins; last: number of items.
  std::vector<size_t> begins_;
  ParallelFor parallel_for_;
};

// The sum of λ/2 ‖w‖² and the mean negative log-likelihood. `data` must outlive
// it.
class ChainLikelihood : public Objective {
 public:
  ChainLikelihood(const ChainData* data, double lambda)
      : data_(*data), lambda_(lambda) {}
  Eigen::Index dimension() const override { return data_.dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override;

 private:
  const ChainData& data_;
  double lambda_;
};

struct ChainFit {
  Eigen::VectorXd parameters;
  double objective = 0;
  // Lower bound of the minimum. For the likelihood it is J - ‖∇J‖² / (2 λ), by
  // strong convexity.
  double dual_bound = 0;
  uint32_t evaluations = 0;
  std::string termination;
};

// Trains for one λ after another. Each starts where the last ended, and the
// hinge keeps its planes.
class ChainTrainer {
 public:
  // Errors as ChainData::Create().
  static absl::StatusOr<std::unique_ptr<ChainTrainer>> Create(
      std::span<const LabelledItems> sequences, uint32_t num_labels,
      const config::v1::ChainOptions& options,
      const ParallelFor& parallel_for = SerialFor);

  // Deterministic. `on_step` may be empty. InvalidArgument where lambda is not
  // above 0 and finite; Internal where numbers overflow.
  absl::StatusOr<ChainFit> Train(double lambda,
                                 const std::function<void()>& on_step);

 private:
  ChainTrainer(ChainData data, const config::v1::ChainOptions& options);

  absl::StatusOr<ChainFit> TrainLikelihood(double lambda);
  absl::StatusOr<ChainFit> TrainHinge(double lambda);

  const ChainData data_;
  const config::v1::ChainOptions options_;
  std::function<void()> on_step_;  // The callback of the current call.
  OneSlackSolver hinge_;
  Eigen::VectorXd start_;
};

}  // namespace sortition
