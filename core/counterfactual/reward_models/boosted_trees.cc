#include "core/counterfactual/reward_models/boosted_trees.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>

namespace sortition {
namespace {

// Quantiles of so many rows are good enough for 64 bins.
constexpr size_t kRowsForBins = 20'000;

// Examples as the trees see them, and what is left of their targets.
class Residuals {
 public:
  Residuals(const TreeExamples& examples, const FeatureBins& bins,
            double weight_factor, double mean)
      : num_columns_(bins.num_columns()),
        binned_(examples.rows.size() * num_columns_) {
    for (size_t i = 0; i < examples.rows.size(); ++i) {
      bins.Apply(examples.rows[i],
                 std::span(binned_).subspan(i * num_columns_, num_columns_));
      residuals_.push_back(examples.targets[i] - mean);
      weights_.push_back(examples.weights[i] * weight_factor);
    }
  }

  size_t size() const { return residuals_.size(); }
  std::span<const uint8_t> binned() const { return binned_; }
  std::span<const double> weights() const { return weights_; }

  void Gradients(std::span<double> gradients) const {
    for (size_t i = 0; i < size(); ++i) {
      gradients[i] = weights_[i] * residuals_[i];
    }
  }

  void Subtract(const RegressionTree& tree) {
    for (size_t i = 0; i < size(); ++i) {
      residuals_[i] -= tree.PredictBinned(
          std::span(binned_).subspan(i * num_columns_, num_columns_));
    }
  }

  // Σ w residual²
  double Error() const {
    double error = 0;
    for (size_t i = 0; i < size(); ++i) {
      error += weights_[i] * residuals_[i] * residuals_[i];
    }
    return error;
  }

 private:
  size_t num_columns_;
  std::vector<uint8_t> binned_;  // Row by row.
  std::vector<double> residuals_;
  std::vector<double> weights_;
};

// Writes the half of the examples that tree t is grown on: a window, which
// moves by the golden section so that windows overlap evenly.
void ChooseHalf(size_t t, size_t num_examples, std::vector<uint32_t>* half) {
  constexpr double kGoldenSection = 0.6180339887498949;
  const double place = static_cast<double>(t) * kGoldenSection;
  const auto begin = static_cast<size_t>(
      (place - static_cast<double>(static_cast<size_t>(place))) *
      static_cast<double>(num_examples));
  half->resize((num_examples + 1) / 2);
  for (size_t k = 0; k < half->size(); ++k) {
    (*half)[k] = static_cast<uint32_t>((begin + k) % num_examples);
  }
}

}  // namespace

BoostedTrees BoostedTrees::Fit(const TreeExamples& training,
                               const TreeExamples& stopping,
                               size_t num_columns) {
  if (training.rows.empty() && !stopping.rows.empty()) {
    return Fit(stopping, {}, num_columns);
  }
  BoostedTrees fitted;
  const size_t n = training.rows.size();
  const double weight =
      std::accumulate(training.weights.begin(), training.weights.end(), 0.0);
  if (!(weight > 0)) return fitted;
  fitted.mean_ =
      std::inner_product(training.targets.begin(), training.targets.end(),
                         training.weights.begin(), 0.0) /
      weight;
  const FeatureBins bins(
      std::span(training.rows).first(std::min(n, kRowsForBins)), num_columns);
  const double factor = static_cast<double>(n) / weight;
  Residuals left(training, bins, factor, fitted.mean_);
  Residuals stop(stopping, bins, factor, fitted.mean_);
  TreeGrower grower(bins, left.binned());
  const double first_error = stop.Error();
  double least_error = first_error;
  size_t num_best = 0;
  std::vector<double> gradients(n);
  std::vector<uint32_t> half;
  for (size_t t = 0; t < kMaxTrees && t < num_best + kPatience; ++t) {
    left.Gradients(gradients);
    ChooseHalf(t, n, &half);
    std::optional<RegressionTree> tree =
        grower.Grow(half, gradients, left.weights());
    if (!tree.has_value()) break;
    for (double& leaf : tree->leaves) leaf *= kLearningRate;
    left.Subtract(*tree);
    stop.Subtract(*tree);
    fitted.trees_.push_back(*tree);
    if (stop.Error() < least_error) {
      least_error = stop.Error();
      num_best = t + 1;
    }
  }
  fitted.trees_.resize(num_best);
  if (first_error > 0)
    fitted.stopping_r_squared_ = 1 - least_error / first_error;
  return fitted;
}

double BoostedTrees::Predict(std::span<const float> row) const {
  double sum = mean_;
  for (const RegressionTree& tree : trees_) sum += tree.Predict(row);
  return sum;
}

}  // namespace sortition
