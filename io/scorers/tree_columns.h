#pragma once
// Which column of an imported model is the first feature of the data.
//
// The text readers of LightGBM and XGBoost keep feature j of a file in column
// j. A file whose features start at 1 leaves column 0 empty: its model has a
// column more than the data, and never splits on column 0.
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "io/scorers/tree_models.h"

namespace sortition {

struct FeatureCount {
  uint32_t value = 0;
  // The data may have more features, because lines of text end at the last one
  // that is not 0.
  bool is_lower_bound = false;
  // The data are text whose features start at 0: column 0 of a model that was
  // trained from such text is the first feature.
  bool is_from_zero = false;
};

struct ColumnChoice {
  uint32_t first_column = 0;  // 0 or 1.
  std::string reason;         // A clause, as in "the model has … columns".
};

// Returns `given` if it is set (TrainOptions.trees_first_column). Otherwise
// decides by the number of columns and what the file says of column 0.
// InvalidArgument naming the option if that does not decide, and if `given`
// leaves out a column that a tree splits on.
absl::StatusOr<ColumnChoice> ChooseFirstColumn(const TreeModelFile& file,
                                               const FeatureCount& num_features,
                                               std::optional<uint32_t> given);

// Leaves out column 0. Requires that no tree splits on it, and that there are
// at least two columns.
void SkipFirstColumn(model::v1::TreeEnsemble* ensemble);

}  // namespace sortition
