#include "core/learners/multilabel/label_conversion.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/multilabel/labels_policy.h"
#include "core/optim/lbfgs.h"
#include "core/optim/objective.h"

namespace sortition {
namespace {

// The objective -(1/m) Σ log h_w(y*|x) + μ ‖w‖².
class NegativeLogLikelihood : public Objective {
 public:
  NegativeLogLikelihood(LabelsPolicy* policy, double l2)
      : policy_(policy), l2_(l2), tuples_(policy->num_tuples()) {
    std::iota(tuples_.begin(), tuples_.end(), 0u);
  }

  Eigen::Index dimension() const override { return policy_->dimension(); }
  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    std::vector<double> values(tuples_.size());
    policy_->LogProbabilities(point, tuples_, values);
    const double m = static_cast<double>(tuples_.size());
    const double sum = std::accumulate(values.begin(), values.end(), 0.0);
    if (gradient != nullptr) {
      *gradient = 2 * l2_ * point;
      values.assign(values.size(), -1 / m);
      policy_->AddGradient(values, gradient);
    }
    return -sum / m + l2_ * point.squaredNorm();
  }

 private:
  LabelsPolicy* policy_;
  double l2_;
  std::vector<uint32_t> tuples_;
};

// Returns log σ(s).
double LogSigmoid(double score) {
  return score < 0 ? score - std::log1p(std::exp(score))
                   : -std::log1p(std::exp(-score));
}

}  // namespace

LabelledContexts ToLabelledContexts(const MultilabelData& data,
                                    const ContextShape& shape) {
  LabelledContexts result;
  LabelContexts& contexts = result.contexts;
  contexts.num_features = shape.num_features + (shape.intercept ? 1 : 0);
  contexts.num_labels = shape.num_labels;
  result.labels.assign(data.size() * shape.num_labels, 0);
  for (size_t i = 0; i < data.size(); ++i) {
    for (uint64_t k = data.row_offsets[i]; k < data.row_offsets[i + 1]; ++k) {
      if (data.values[k] == 0 && !shape.keep_zeros) continue;
      contexts.columns.push_back(data.columns[k]);
      contexts.values.push_back(data.values[k]);
    }
    if (shape.intercept) {
      contexts.columns.push_back(shape.num_features);
      contexts.values.push_back(1);
    }
    contexts.row_offsets.push_back(contexts.values.size());
    for (const uint32_t label : data.labels[i]) {
      result.labels[i * shape.num_labels + label] = 1;
    }
  }
  return result;
}

absl::StatusOr<Eigen::VectorXd> FitLabels(
    const LabelledContexts& data, std::span<const uint32_t> rows, double l2,
    const config::v1::LbfgsOptions& options) {
  if (rows.empty()) {
    return absl::InvalidArgumentError("rows: there is none to fit to");
  }
  const uint32_t q = data.contexts.num_labels;
  LabelTuples tuples;
  for (const uint32_t row : rows) {
    if (row >= data.contexts.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "row is ", row, ", must be below ", data.contexts.size()));
    }
    tuples.contexts.push_back(row);
    const auto labels = data.labels.begin() + static_cast<ptrdiff_t>(row) * q;
    tuples.labels.insert(tuples.labels.end(), labels, labels + q);
  }
  tuples.losses.assign(rows.size(), 0);
  tuples.log_propensities.assign(rows.size(), 0);
  ASSIGN_OR_RETURN(LabelsPolicy policy,
                   LabelsPolicy::Create(data.contexts, tuples));
  const NegativeLogLikelihood objective(&policy, l2);
  ASSIGN_OR_RETURN(
      LbfgsResult result,
      MinimizeByLbfgs(objective, Eigen::VectorXd::Zero(policy.dimension()),
                      options, nullptr));
  return std::move(result.point);
}

LabelTuples DrawTuples(const LabelledContexts& data,
                       const Eigen::VectorXd& parameters,
                       const LabelConversion& conversion) {
  const LabelContexts& contexts = data.contexts;
  const uint32_t q = contexts.num_labels;
  LabelScorer scorer(contexts);
  const LabelScorer::Matrix scores =
      scorer.Scores(conversion.inverse_temperature * parameters);
  LabelTuples tuples;
  RandomSequence random(StableHash(HashDomain::kSimulation,
                                   {"labels", absl::StrCat(conversion.seed)}));
  for (uint32_t replay = 0; replay < conversion.replays; ++replay) {
    for (uint32_t row = 0; row < contexts.size(); ++row) {
      double log_propensity = 0;
      uint32_t wrong = 0;
      for (uint32_t l = 0; l < q; ++l) {
        const double score = scores(row, l);
        const double log_probability = LogSigmoid(score);
        const bool drawn = random.Uniform() < std::exp(log_probability);
        log_propensity += drawn ? log_probability : LogSigmoid(-score);
        tuples.labels.push_back(drawn ? 1 : 0);
        wrong += tuples.labels.back() != data.labels[size_t{row} * q + l];
      }
      tuples.contexts.push_back(row);
      tuples.log_propensities.push_back(log_propensity);
      tuples.losses.push_back(static_cast<double>(wrong) / q - 1);
    }
  }
  return tuples;
}

HammingLosses MeanHammingLosses(const LabelledContexts& data,
                                const Eigen::VectorXd& parameters) {
  LabelScorer scorer(data.contexts);
  const LabelScorer::Matrix scores = scorer.Scores(parameters);
  HammingLosses losses;
  for (Eigen::Index k = 0; k < scores.size(); ++k) {
    const double score = scores.data()[k];
    const bool right = data.labels[static_cast<size_t>(k)] == 1;
    losses.expected += std::exp(LogSigmoid(right ? -score : score));
    losses.map += (score > 0) != right ? 1 : 0;
  }
  const double n = static_cast<double>(data.contexts.size());
  return {losses.expected / n, losses.map / n};
}

}  // namespace sortition
