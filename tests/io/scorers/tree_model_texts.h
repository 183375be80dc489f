#pragma once
// Small model files, written by hand.
#include <limits>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A model file with `to` in place of `from`, and the error that names it.
struct BadModelText {
  std::string from;
  std::string to;
  std::string message;
};

// Two features, base score 0.5, objective rank:ndcg, two trees:
//   tree 0: x0 < 0.5 (missing left) ? (x1 < -1.25 (missing right) ? 1 : 2) : 4;
//           node 5 is left over from pruning;
//   tree 1: the leaf 0.125.
std::string XgboostJson();
// The same with a split of tree 0 by category: x1 in {0, 33}, which goes right.
std::string XgboostCategoriesJson();
// The same trees as XgboostJson() with the weights 0.5 and 2.
std::string XgboostDartJson();

// Three features, objective "binary sigmoid:2", three trees:
//   tree 0: x0 <= 0.1 (no missing type) ? -1.5 :
//             x1 <= 2.5 (NaN is missing, to the left) ? 0.25 : 3
//   tree 1: x2 in {1, 34} ? 10 : x0 <= -1 (0 is missing, to the right) ? 20 :
//   30 tree 2: the leaf 0.001
std::string LightGbmText();

// Replaces the one place of `from`; aborts if there is none.
std::string Replaced(std::string text, absl::string_view from,
                     absl::string_view to);

}  // namespace sortition
