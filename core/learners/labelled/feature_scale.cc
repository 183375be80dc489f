#include "core/learners/labelled/feature_scale.h"

#include <cmath>

namespace sortition {
namespace {

// A feature whose standard deviation is below this share of its root mean
// square is constant. The relative precision of floats is 2^-24.
constexpr double kConstant = 1e-6;

// Returns from how many of `n` rows with a feature on its standard deviation is
// its scale.
double FewestRows(double n) {
  constexpr double kFewest = 10;
  constexpr double kShare = 0.01;
  return std::fmin(kFewest, kShare * n);
}

// Calls visit(feature, value) for each feature of each candidate, zeros of
// sparse rows left out.
template <typename Visit>
void ForEachValue(std::span<const LabelledItems> queries, const Visit& visit) {
  for (const LabelledItems& query : queries) {
    const auto values = query.items.values();
    const uint32_t d = query.items.num_features();
    for (size_t i = 0; i < values.size(); ++i) {
      visit(query.items.sparse() ? query.items.columns()[i] : i % d,
            static_cast<double>(values[i]));
    }
  }
}

}  // namespace

FeatureScale::FeatureScale(std::span<const LabelledItems> queries)
    : scales_(queries[0].items.num_features()) {
  double n = 0;
  for (const LabelledItems& query : queries) n += query.items.num_candidates();
  const size_t d = scales_.size();
  std::vector<double> means(d), squares(d), deviations(d), present(d),
      nonzero(d);
  ForEachValue(queries, [&](size_t j, double value) {
    means[j] += value / n;
    squares[j] += value * value / n;
    ++present[j];
    nonzero[j] += value != 0 ? 1 : 0;
  });
  ForEachValue(queries, [&](size_t j, double value) {
    deviations[j] += (value - means[j]) * (value - means[j]) / n;
  });
  const double fewest = FewestRows(n);
  for (size_t j = 0; j < d; ++j) {
    deviations[j] += (n - present[j]) / n * means[j] * means[j];
    const double size = std::sqrt(squares[j]);
    double deviation = std::sqrt(deviations[j]);
    if (nonzero[j] > 0 && nonzero[j] < fewest) {
      deviation = std::fmax(deviation, size * std::sqrt(fewest / nonzero[j]));
    }
    scales_[j] = deviation > kConstant * size ? deviation : size > 0 ? size : 1;
  }
}

void FeatureScale::Divide(std::span<float> rows) const {
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i] = static_cast<float>(rows[i] / scales_[i % scales_.size()]);
  }
}

void FeatureScale::ToOriginalUnits(size_t consecutive,
                                   std::span<double> weights) const {
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] /= scales_[i / consecutive % scales_.size()];
  }
}

ScaledQueries::ScaledQueries(std::span<const LabelledItems> queries,
                             const FeatureScale& scale) {
  for (const LabelledItems& query : queries) {
    const Candidates& items = query.items;
    std::vector<float>& values =
        values_.emplace_back(items.values().begin(), items.values().end());
    if (!items.sparse()) {
      scale.Divide(values);
      views_.push_back(
          {Candidates::DenseUnchecked(values, items.num_features()),
           query.relevances});
      continue;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] =
          static_cast<float>(values[i] / scale.scales()[items.columns()[i]]);
    }
    views_.push_back(
        {Candidates::SparseUnchecked(items.row_offsets(), items.columns(),
                                     values, items.num_features()),
         query.relevances});
  }
}

ScaledTask::ScaledTask(const LabelledTask& task)
    : scale_(task.training),
      training_(task.training, scale_),
      validation_(task.validation, scale_),
      task_(task) {
  task_.training = training_.views();
  task_.validation = validation_.views();
  if (task.trusted_orders == nullptr) return;
  trusted_orders_ = task.trusted_orders->Over(training_.views());
  task_.trusted_orders = &*trusted_orders_;
}

}  // namespace sortition
