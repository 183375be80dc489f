#include "core/learners/multilabel/label_weights.h"

#include <cstdint>

#include "core/counterfactual/unit_weights.h"
#include "core/optim/parameter_frame.h"

namespace sortition {

std::vector<double> LabelTrainingWeights(const LabelTuples& tuples) {
  const std::vector<uint64_t> units(tuples.contexts.begin(),
                                    tuples.contexts.end());
  return UnitWeights(units, std::vector<double>(units.size(), 1));
}

Eigen::VectorXd LabelFeatureScales(const LabelContexts& contexts,
                                   const LabelTuples& tuples) {
  std::vector<bool> is_used(contexts.size());
  for (const uint32_t context : tuples.contexts) is_used[context] = true;
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(contexts.num_features);
  ColumnSums sums{zero, zero};
  for (size_t context = 0; context < contexts.size(); ++context) {
    if (!is_used[context]) continue;
    ++sums.rows;
    for (uint64_t k = contexts.row_offsets[context];
         k < contexts.row_offsets[context + 1]; ++k) {
      const double value = contexts.values[k];
      if (value == 0) continue;
      sums.squares[contexts.columns[k]] += value * value;
      sums.counts[contexts.columns[k]] += 1;
    }
  }
  const Eigen::VectorXd scales = ScalesOf(sums);
  // Entry j q + l is of feature j.
  return scales.transpose().replicate(contexts.num_labels, 1).reshaped();
}

}  // namespace sortition
