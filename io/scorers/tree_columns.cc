#include "io/scorers/tree_columns.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

using model::v1::Tree;
using model::v1::TreeEnsemble;

// Returns the first tree that splits on column 0; -1: none does.
int TreeThatSplitsOnFirst(const TreeEnsemble& ensemble) {
  for (int i = 0; i < ensemble.trees_size(); ++i) {
    const auto& features = ensemble.trees(i).split_features();
    if (std::find(features.begin(), features.end(), 0u) != features.end()) {
      return i;
    }
  }
  return -1;
}

absl::StatusOr<ColumnChoice> CheckGiven(const TreeEnsemble& ensemble,
                                        uint32_t given) {
  const int tree = TreeThatSplitsOnFirst(ensemble);
  if (given > 0 && tree >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("trees_first_column is ", given, ", must be 0: tree ",
                     tree, " splits on column 0, which would be left out"));
  }
  if (given > 0 && ensemble.num_features() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("trees_first_column is ", given,
                     ", must be 0: the model of trees has one column"));
  }
  return ColumnChoice{given, "as trees_first_column says"};
}

absl::Status Undecided(uint32_t num_columns, const FeatureCount& num_features,
                       absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "trees_first_column must be set: the model of trees has ", num_columns,
      " columns and never splits on column 0, the data has ",
      num_features.value, " features", why,
      ". Give 1 if LightGBM or XGBoost read its training data from a text file "
      "whose features start at 1, which leaves column 0 empty, else 0; "
      "check_scores shows which is right"));
}

}  // namespace

absl::StatusOr<ColumnChoice> ChooseFirstColumn(const TreeModelFile& file,
                                               const FeatureCount& num_features,
                                               std::optional<uint32_t> given) {
  const TreeEnsemble& ensemble = file.ensemble;
  if (given.has_value()) return CheckGiven(ensemble, *given);
  const uint32_t columns = ensemble.num_features();
  const uint32_t d = num_features.value;
  if (TreeThatSplitsOnFirst(ensemble) >= 0) {
    return ColumnChoice{0, "trees split on column 0"};
  }
  if (file.first_column == FirstColumn::kVaries) {
    return ColumnChoice{0, "feature_infos has values of column 0"};
  }
  // The model has no columns for data that is wider, whatever comes first.
  if (columns <= d || columns == 1) {
    return ColumnChoice{0, absl::StrCat("the model has ", columns,
                                        " columns for ", d, " features")};
  }
  if (columns == d + 1 && num_features.is_from_zero) {
    return Undecided(columns, num_features, " that start at 0");
  }
  if (columns == d + 1) {
    // Names are those of a data frame: the text readers give none (XGBoost) or
    // Column_0, Column_1, ... (LightGBM).
    const bool has_names = ensemble.feature_names_size() > 0 &&
                           ensemble.feature_names(0) != "Column_0";
    if (has_names && file.first_column == FirstColumn::kUnknown) {
      return Undecided(
          columns, num_features,
          absl::StrCat("; the model has names of features, so it "
                       "may not be trained from text: column 0 is '",
                       ensemble.feature_names(0), "'"));
    }
    return ColumnChoice{
        1, absl::StrCat("the model has ", columns, " columns for ", d,
                        " features, and never splits on column 0")};
  }
  if (!num_features.is_lower_bound) {
    return ColumnChoice{0, absl::StrCat("the model has ", columns,
                                        " columns for ", d, " features")};
  }
  return Undecided(columns, num_features,
                   ", of which the last may be 0 in all lines");
}

void SkipFirstColumn(TreeEnsemble* ensemble) {
  ensemble->set_num_features(ensemble->num_features() - 1);
  ensemble->set_skipped_columns(ensemble->skipped_columns() + 1);
  for (Tree& tree : *ensemble->mutable_trees()) {
    for (uint32_t& feature : *tree.mutable_split_features()) --feature;
  }
  auto* const names = ensemble->mutable_feature_names();
  if (!names->empty()) names->erase(names->begin());
}

}  // namespace sortition
