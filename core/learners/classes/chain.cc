#include "core/learners/classes/chain.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/data/labelled_items.h"
#include "core/data/labelled_queries.h"
#include "core/optim/lbfgs.h"

namespace sortition {
namespace {

using config::v1::ChainOptions;
using Eigen::Index;
using RowMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Term = ChainData::Term;

constexpr uint32_t kMaxLabels = 1000;
// The number of groups in which sequences are summed. It is fixed, so that
// results do not depend on the number of threads.
constexpr size_t kGroups = 16;

// Adds `weight` times Ψ(x, y) to the slopes.
void AddLabelling(std::span<const uint32_t> labels, double weight, Term* term) {
  for (size_t j = 0; j < labels.size(); ++j) {
    term->unary_slope(static_cast<Index>(j), labels[j]) += weight;
    if (j > 0) term->transition_slope(labels[j - 1], labels[j]) += weight;
  }
}

double NegativeLogLikelihood(LabelChain* chain, Term term) {
  const double log_sum = chain->Sum(term.unary, term.transitions);
  term.unary_slope = chain->marginals();
  term.transition_slope += chain->transition_counts();
  AddLabelling(term.truth, -1, &term);
  return log_sum - ChainScore(term.unary, term.transitions, term.truth);
}

// Returns max_y [r Δ(y, y_i) + S(y) - S(y_i)] / r.
double Hinge(LabelChain* chain, Term term) {
  const auto r = static_cast<double>(term.truth.size());
  std::vector<uint32_t> worst;
  const double most =
      chain->Maximise(term.unary, term.transitions, term.truth, r, &worst);
  AddLabelling(worst, 1 / r, &term);
  AddLabelling(term.truth, -1 / r, &term);
  return (most - ChainScore(term.unary, term.transitions, term.truth)) / r;
}

}  // namespace

absl::StatusOr<ChainData> ChainData::Create(
    std::span<const LabelledItems> sequences, uint32_t num_labels,
    ParallelFor parallel_for) {
  if (num_labels < 2 || num_labels > kMaxLabels) {
    return absl::InvalidArgumentError(absl::StrCat("num_labels is ", num_labels,
                                                   ", must be within [2, ",
                                                   kMaxLabels, "]"));
  }
  RETURN_IF_ERROR(CheckQueries(sequences, num_labels - 1));
  ChainData data;
  data.q_ = num_labels;
  data.parallel_for_ = std::move(parallel_for);
  data.begins_ = {0};
  for (const LabelledItems& sequence : sequences) {
    data.begins_.push_back(data.begins_.back() + sequence.relevances.size());
    data.labels_.insert(data.labels_.end(), sequence.relevances.begin(),
                        sequence.relevances.end());
  }
  const uint32_t d = sequences[0].items.num_features();
  data.items_.setZero(static_cast<Index>(data.labels_.size()), d);
  double* row = data.items_.data();
  for (const LabelledItems& sequence : sequences) {
    for (uint32_t i = 0; i < sequence.items.num_candidates(); ++i) {
      sequence.items.AddRow(i, 1, {row, d});
      row += d;
    }
  }
  return data;
}

double ChainData::Mean(const Eigen::VectorXd& parameters,
                       const TermFunction& term, Eigen::VectorXd* slope) const {
  const Index d = items_.cols();
  const Eigen::Map<const RowMatrix> weights(parameters.data(), d, q_);
  const Eigen::MatrixXd transitions =
      Eigen::Map<const RowMatrix>(parameters.data() + d * q_, q_, q_);
  const Eigen::MatrixXd unary = items_ * weights;
  Eigen::MatrixXd unary_slope = Eigen::MatrixXd::Zero(unary.rows(), q_);
  const size_t num_groups = std::min(kGroups, num_sequences());
  std::vector<double> values(num_groups);
  std::vector<Eigen::MatrixXd> slopes(num_groups,
                                      Eigen::MatrixXd::Zero(q_, q_));
  parallel_for_(num_groups, [&](size_t g) {
    LabelChain chain;
    for (size_t i = g; i < num_sequences(); i += num_groups) {
      const auto begin = static_cast<Index>(begins_[i]);
      const auto r = static_cast<Index>(begins_[i + 1]) - begin;
      const Eigen::MatrixXd own = unary.middleRows(begin, r);
      values[g] += term(
          &chain, {.truth = {labels_.data() + begin, static_cast<size_t>(r)},
                   .unary = own,
                   .transitions = transitions,
                   .unary_slope = unary_slope.middleRows(begin, r),
                   .transition_slope = slopes[g]});
    }
  });
  const double share = 1 / static_cast<double>(num_sequences());
  slope->resize(dimension());
  Eigen::Map<RowMatrix>(slope->data(), d, q_) =
      share * (items_.transpose() * unary_slope);
  Eigen::Map<RowMatrix> transition_slope(slope->data() + d * q_, q_, q_);
  transition_slope.setZero();
  double sum = 0;
  for (size_t g = 0; g < num_groups; ++g) {
    transition_slope += share * slopes[g];
    sum += values[g];
  }
  return share * sum;
}

double ChainLikelihood::Evaluate(const Eigen::VectorXd& point,
                                 Eigen::VectorXd* gradient) const {
  Eigen::VectorXd slope;
  const double mean = data_.Mean(point, &NegativeLogLikelihood, &slope);
  if (gradient != nullptr) *gradient = slope + lambda_ * point;
  return mean + lambda_ / 2 * point.squaredNorm();
}

absl::StatusOr<std::unique_ptr<ChainTrainer>> ChainTrainer::Create(
    std::span<const LabelledItems> sequences, uint32_t num_labels,
    const ChainOptions& options, const ParallelFor& parallel_for) {
  ASSIGN_OR_RETURN(ChainData data,
                   ChainData::Create(sequences, num_labels, parallel_for));
  return std::unique_ptr<ChainTrainer>(
      new ChainTrainer(std::move(data), options));
}

ChainTrainer::ChainTrainer(ChainData data, const ChainOptions& options)
    : data_(std::move(data)),
      options_(options),
      hinge_(
          [this](const Eigen::VectorXd& w, double, RiskPlane* plane) {
            if (on_step_) on_step_();
            plane->value = data_.Mean(w, &Hinge, &plane->slope);
            plane->offset = plane->value - plane->slope.dot(w);
            return absl::OkStatus();
          },
          data_.dimension(), options.one_slack()),
      start_(Eigen::VectorXd::Zero(data_.dimension())) {}

absl::StatusOr<ChainFit> ChainTrainer::Train(
    double lambda, const std::function<void()>& on_step) {
  if (!(lambda > 0 && lambda < HUGE_VAL)) {
    return absl::InvalidArgumentError(
        absl::StrCat("lambda is ", lambda, ", must be above 0 and finite"));
  }
  on_step_ = on_step;
  ASSIGN_OR_RETURN(ChainFit fit, options_.objective() == ChainOptions::HINGE
                                     ? TrainHinge(lambda)
                                     : TrainLikelihood(lambda));
  on_step_ = nullptr;
  start_ = fit.parameters;
  return fit;
}

absl::StatusOr<ChainFit> ChainTrainer::TrainLikelihood(double lambda) {
  const ChainLikelihood objective(&data_, lambda);
  ASSIGN_OR_RETURN(
      const LbfgsResult result,
      MinimizeByLbfgs(objective, start_, options_.lbfgs(), [this](uint32_t) {
        if (on_step_) on_step_();
      }));
  Eigen::VectorXd gradient;
  ChainFit fit{
      .parameters = result.point,
      .evaluations = result.evaluations,
      .termination = std::string(LbfgsTerminationName(result.termination))};
  fit.objective = objective.Evaluate(result.point, &gradient);
  fit.dual_bound = fit.objective - gradient.squaredNorm() / (2 * lambda);
  return fit;
}

absl::StatusOr<ChainFit> ChainTrainer::TrainHinge(double lambda) {
  ASSIGN_OR_RETURN(const OneSlackResult result,
                   hinge_.Minimise(lambda, start_));
  return ChainFit{
      .parameters = result.weights,
      .objective = result.objective,
      .dual_bound = result.dual_bound,
      .evaluations = result.evaluations,
      .termination = std::string(OneSlackTerminationName(result.termination))};
}

}  // namespace sortition
