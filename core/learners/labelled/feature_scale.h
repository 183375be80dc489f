#pragma once
// Standardises features for learners whose result depends on the scale of the
// features: a penalty λ/2 ‖w‖² or a step size treats all weights alike, so a
// feature that is 1000 times larger would be penalised 10^6 times less. Such a
// learner trains on x_j / s_j, where s_j is the standard deviation of feature j
// over the training candidates. Its weights, divided by s_j, give the same
// scores for the original features, so models and serving do not change.
//
// Features are not centred: a shift adds the same amount to all scores of a
// query, which changes no order, and sparse rows stay sparse.
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "core/data/labelled_items.h"
#include "core/learners/labelled/labelled_learner.h"
#include "core/learners/labelled/trusted_orders.h"

namespace sortition {

class FeatureScale {
 public:
  // Measures s_j. For a feature that is constant up to the precision of floats
  // it is the absolute value of the constant, or 1 if that is 0. A feature that
  // fewer than ten rows have, and fewer than a hundredth of all, has about the
  // scale of one that so many have: a word of a single row would otherwise be
  // the least penalised of all. Requires valid queries.
  explicit FeatureScale(std::span<const LabelledItems> queries);

  const std::vector<double>& scales() const { return scales_; }

  // Divides dense rows by the scales.
  void Divide(std::span<float> rows) const;
  // Divides weights that were learned for scaled features by the scales.
  // weights[i] multiplies feature (i / `consecutive`) % d.
  void ToOriginalUnits(size_t consecutive, std::span<double> weights) const;

 private:
  std::vector<double> scales_;
};

// Owns copies of queries with scaled features. Views of the relevances remain
// views of the original.
class ScaledQueries {
 public:
  ScaledQueries(std::span<const LabelledItems> queries,
                const FeatureScale& scale);
  ScaledQueries(const ScaledQueries&) = delete;
  ScaledQueries& operator=(const ScaledQueries&) = delete;

  std::span<const LabelledItems> views() const { return views_; }

 private:
  std::deque<std::vector<float>> values_;  // Elements are never moved.
  std::vector<LabelledItems> views_;
};

// A task of a learner with scaled features, which are copied. The original task
// and its data must outlive it.
class ScaledTask {
 public:
  // Requires a task with valid queries.
  explicit ScaledTask(const LabelledTask& task);

  const LabelledTask& task() const { return task_; }
  const FeatureScale& scale() const { return scale_; }

 private:
  const FeatureScale scale_;
  const ScaledQueries training_;
  const ScaledQueries validation_;
  std::optional<TrustedOrders> trusted_orders_;
  LabelledTask task_;
};

}  // namespace sortition
