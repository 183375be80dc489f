#include "core/clicks/click_features.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/optim/lbfgs.h"
#include "core/optim/objective.h"

namespace sortition {
namespace {

// EM comes back with better counts: a few steps are enough.
constexpr uint32_t kSteps = 4;

using Row = Eigen::Map<const Eigen::VectorXf>;

Row RowOf(const ClickFeatures& features, size_t item) {
  return Row(features.rows.data() + item * features.num_features,
             features.num_features);
}

double LogOdds(const Row& row, const Eigen::VectorXd& weights) {
  return row.cast<double>().dot(weights.head(row.size())) + weights[row.size()];
}

// log(1 + e^z)
double Softplus(double z) {
  return std::max(z, 0.0) + std::log1p(std::exp(-std::abs(z)));
}

double Logistic(double z) { return 1 / (1 + std::exp(-z)); }

// The negative sum of LogisticTask per unit of weight.
class LogisticLoss : public Objective {
 public:
  explicit LogisticLoss(const LogisticTask& task) : task_(task) {
    double total = 0;
    for (const double hits : task.outcomes.hits) total += hits;
    for (const double misses : task.outcomes.misses) total += misses;
    scale_ = total > 0 ? 1 / total : 1;
  }

  Eigen::Index dimension() const override {
    return Eigen::Index{task_.features.num_features} + 1;
  }

  double Evaluate(const Eigen::VectorXd& point,
                  Eigen::VectorXd* gradient) const override {
    const Eigen::Index d = task_.features.num_features;
    double loss = task_.l2 / 2 * point.head(d).squaredNorm();
    if (gradient != nullptr) {
      gradient->resize(d + 1);
      gradient->head(d) = task_.l2 * point.head(d);
      (*gradient)[d] = 0;
    }
    for (size_t i = 0; i < task_.outcomes.hits.size(); ++i) {
      const double hits = task_.outcomes.hits[i];
      const double total = hits + task_.outcomes.misses[i];
      if (!(total > 0)) continue;
      const Row row = RowOf(task_.features, i);
      const double z = LogOdds(row, point);
      loss += total * Softplus(z) - hits * z;
      if (gradient == nullptr) continue;
      const double slope = total * Logistic(z) - hits;
      gradient->head(d) += slope * row.cast<double>();
      (*gradient)[d] += slope;
    }
    if (gradient != nullptr) *gradient *= scale_;
    return loss * scale_;
  }

 private:
  const LogisticTask& task_;
  double scale_;
};

}  // namespace

absl::Status CheckClickFeatures(const ClickFeatures& features,
                                uint32_t num_items) {
  const size_t expected = size_t{num_items} * features.num_features;
  if (features.rows.size() != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "features.rows.size is ", features.rows.size(), ", must be ", expected,
        ", the number of items times that of features"));
  }
  for (size_t k = 0; k < features.rows.size(); ++k) {
    if (std::isfinite(features.rows[k])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("feature ", k % features.num_features, " of item ",
                     k / features.num_features, " is ", features.rows[k],
                     ", must be finite"));
  }
  return absl::OkStatus();
}

void LogisticProbabilities(const ClickFeatures& features,
                           const Eigen::VectorXd& weights,
                           std::span<double> probabilities) {
  for (size_t i = 0; i < probabilities.size(); ++i) {
    probabilities[i] = Logistic(LogOdds(RowOf(features, i), weights));
  }
}

absl::StatusOr<Eigen::VectorXd> ImproveLogisticWeights(
    const LogisticTask& task, const Eigen::VectorXd& start) {
  config::v1::LbfgsOptions options;
  options.set_max_iterations(kSteps);
  options.set_gradient_tolerance(1e-9);
  options.set_decrease_tolerance(0);
  ASSIGN_OR_RETURN(LbfgsResult result,
                   MinimizeByLbfgs(LogisticLoss(task), start, options, {}));
  return std::move(result.point);
}

}  // namespace sortition
