#pragma once
// One tree of a model that LightGBM saved.
#include <cstddef>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/scorers/tree_budget.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Lines "key=value": the header, or a tree.
struct LightGbmLines {
  struct Value {
    absl::string_view text;
    size_t offset = 0;  // Byte at which the line begins.
  };
  std::string name;   // "Tree=3", or empty for the header.
  size_t offset = 0;  // Byte at which the part begins.
  std::map<absl::string_view, Value> values;

  // "byte 812: Tree=3 num_leaves = 0, must be …"
  absl::Status Wrong(absl::string_view key, absl::string_view permitted) const;
  absl::StatusOr<absl::string_view> Text(absl::string_view key) const;
  absl::StatusOr<int> Integer(absl::string_view key, int min, int max) const;
};

// Takes what the tree has from `budget`.
absl::StatusOr<model::v1::Tree> ConvertLightGbmTree(const LightGbmLines& lines,
                                                    int num_features,
                                                    TreeBudget* budget);

}  // namespace sortition
