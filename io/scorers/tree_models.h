#pragma once
// Reads ensembles of trees from the model files of XGBoost (JSON and UBJSON, of
// versions 1 to 3) and LightGBM (text). A score is the margin that the library
// computes.
#include <cstddef>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

inline constexpr size_t kMaxTreeModelBytes = size_t{128} << 20;

// What a model file says of column 0 in training (LightGBM's feature_infos).
enum class FirstColumn {
  kUnknown,   // Nothing.
  kConstant,  // It had one value, perhaps because it is empty.
  kVaries,
};

struct TreeModelFile {
  model::v1::TreeEnsemble ensemble;  // With the columns of the file.
  FirstColumn first_column = FirstColumn::kUnknown;
};

// Recognises the format by its first bytes. The result is valid
// (core/scoring/tree_check.h). InvalidArgument names what is wrong with its
// place in the file, as in "learner.gradient_booster.model.trees[3]
// .split_indices[7] = 46, must be below 46, the number of features (array at
// byte 1234)"; for files of more than kMaxTreeModelBytes; and for what cannot
// rank: models with a score for each class, linear boosters, linear trees,
// averages of trees, dumps.
absl::StatusOr<TreeModelFile> ParseTreeModelFile(absl::string_view bytes);
absl::StatusOr<model::v1::TreeEnsemble> ParseTreeModel(absl::string_view bytes);

// The same for a file; errors name it. Other errors as ReadFile().
absl::StatusOr<TreeModelFile> ReadTreeModel(const std::string& path);

}  // namespace sortition
