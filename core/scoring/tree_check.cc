#include "core/scoring/tree_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/field_range.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

using model::v1::CategoricalSplit;
using model::v1::Tree;
using EnsembleMessage = model::v1::TreeEnsemble;

template <typename Number>
absl::Status Wrong(absl::string_view field, Number value,
                   absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", permitted));
}

std::string At(absl::string_view field, int index) {
  return absl::StrCat(field, "[", index, "]");
}

bool IsFloat(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max() &&
         static_cast<double>(static_cast<float>(value)) == value;
}

// Checks a number of an ensemble in `format`.
absl::Status CheckNumber(absl::string_view field, double value,
                         EnsembleMessage::NumberFormat format) {
  if (!std::isfinite(value)) {
    return Wrong(field, NumberText(value), "finite");
  }
  if (format == EnsembleMessage::FLOAT && !IsFloat(value)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s is %.17g, must be a float, as number_format says", field, value));
  }
  return absl::OkStatus();
}

absl::Status CheckSize(absl::string_view field, int size, int required) {
  if (size == required) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " has ", size, " values, must have ", required));
}

absl::Status CheckSizes(const Tree& tree, const std::string& name) {
  const int num_inner = tree.split_features_size();
  const auto check = [&](absl::string_view field, int size) {
    return CheckSize(absl::StrCat(name, ".", field), size, num_inner);
  };
  RETURN_IF_ERROR(check("thresholds", tree.thresholds_size()));
  RETURN_IF_ERROR(check("left_children", tree.left_children_size()));
  RETURN_IF_ERROR(check("right_children", tree.right_children_size()));
  RETURN_IF_ERROR(check("missing_left", tree.missing_left_size()));
  if (tree.zero_is_missing_size() > 0) {
    RETURN_IF_ERROR(check("zero_is_missing", tree.zero_is_missing_size()));
  }
  return CheckSize(name + ".leaf_values", tree.leaf_values_size(),
                   num_inner + 1);
}

// Marks the nodes that have a parent.
class Parents {
 public:
  explicit Parents(int num_inner)
      : num_inner_(num_inner),
        inner_(static_cast<size_t>(num_inner)),
        leaves_(static_cast<size_t>(num_inner) + 1) {}

  absl::Status Mark(absl::string_view field, int child) {
    if (child >= num_inner_ || child < -num_inner_ - 1 || child == 0) {
      return Wrong(
          field, child,
          absl::StrCat("in [1, ", num_inner_ - 1, "], an inner node, or in [",
                       -num_inner_ - 1, ", -1], a leaf"));
    }
    auto mark =
        child > 0 ? inner_.begin() + child : leaves_.begin() + (-1 - child);
    if (*mark) {
      return Wrong(field, child, "a node that has no other parent");
    }
    *mark = true;
    return absl::OkStatus();
  }

 private:
  int num_inner_;
  std::vector<bool> inner_;
  std::vector<bool> leaves_;
};

// Every node is the child of one node and is reached from the root.
absl::Status CheckShape(const Tree& tree, const std::string& name) {
  const int num_inner = tree.split_features_size();
  Parents parents(num_inner);
  for (int node = 0; node < num_inner; ++node) {
    RETURN_IF_ERROR(parents.Mark(At(name + ".left_children", node),
                                 tree.left_children(node)));
    RETURN_IF_ERROR(parents.Mark(At(name + ".right_children", node),
                                 tree.right_children(node)));
  }
  if (num_inner == 0) return absl::OkStatus();
  std::vector<int> level = {0};
  std::vector<int> next;
  int reached = 0;
  for (uint32_t depth = 1; !level.empty(); ++depth) {
    if (depth > kMaxTreeDepth) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is deeper than ", kMaxTreeDepth, ", which is the most"));
    }
    reached += static_cast<int>(level.size());
    next.clear();
    for (const int node : level) {
      for (const int child :
           {tree.left_children(node), tree.right_children(node)}) {
        if (child > 0) next.push_back(child);
      }
    }
    level.swap(next);
  }
  if (reached == num_inner) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      name, " has ", num_inner, " inner nodes, of which its root reaches ",
      reached, "; it must reach all of them"));
}

absl::Status CheckCategories(const Tree& tree, const std::string& name,
                             size_t* num_words) {
  int64_t before = -1;
  for (int i = 0; i < tree.categorical_splits_size(); ++i) {
    const CategoricalSplit& split = tree.categorical_splits(i);
    const std::string field = At(name + ".categorical_splits", i);
    const int size = split.categories_size();
    if (split.node() <= before ||
        split.node() >= static_cast<uint32_t>(tree.split_features_size())) {
      return Wrong(field + ".node", split.node(),
                   absl::StrCat("above ", before, " and below ",
                                tree.split_features_size()));
    }
    before = split.node();
    if (size > kMaxCategoryWordsOfSplit) {
      return Wrong(
          field + ".categories", size,
          absl::StrCat("at most ", kMaxCategoryWordsOfSplit, " words"));
    }
    *num_words += static_cast<size_t>(size);
    const int node = static_cast<int>(split.node());
    if (tree.zero_is_missing_size() > 0 && tree.zero_is_missing(node)) {
      return Wrong(At(name + ".zero_is_missing", node), "true",
                   "false for a split by category");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckNumbers(const Tree& tree, const std::string& name,
                          const EnsembleMessage& ensemble) {
  for (int node = 0; node < tree.split_features_size(); ++node) {
    if (tree.split_features(node) >= ensemble.num_features()) {
      return Wrong(
          At(name + ".split_features", node), tree.split_features(node),
          absl::StrCat("below num_features = ", ensemble.num_features()));
    }
    RETURN_IF_ERROR(CheckNumber(At(name + ".thresholds", node),
                                tree.thresholds(node),
                                ensemble.number_format()));
  }
  for (int leaf = 0; leaf < tree.leaf_values_size(); ++leaf) {
    RETURN_IF_ERROR(CheckNumber(At(name + ".leaf_values", leaf),
                                tree.leaf_values(leaf),
                                ensemble.number_format()));
  }
  return absl::OkStatus();
}

double LargestLeaf(const Tree& tree) {
  double largest = 0;
  for (const double value : tree.leaf_values()) {
    largest = std::max(largest, std::abs(value));
  }
  return largest;
}

absl::Status CheckTrees(const EnsembleMessage& ensemble) {
  if (ensemble.trees_size() < 1 || ensemble.trees_size() > kMaxTrees) {
    return absl::InvalidArgumentError(
        absl::StrCat("trees has ", ensemble.trees_size(),
                     " trees, must have 1 to ", kMaxTrees));
  }
  size_t num_leaves = 0;
  size_t num_words = 0;
  double largest_score = std::abs(ensemble.base_score());
  for (int i = 0; i < ensemble.trees_size(); ++i) {
    const Tree& tree = ensemble.trees(i);
    const std::string name = At("trees", i);
    num_leaves += static_cast<size_t>(tree.leaf_values_size());
    if (num_leaves > kMaxTreeLeaves) {
      return absl::InvalidArgumentError(
          absl::StrCat("trees up to ", name, " have ", num_leaves,
                       " leaves, must have at most ", kMaxTreeLeaves));
    }
    RETURN_IF_ERROR(CheckSizes(tree, name));
    RETURN_IF_ERROR(CheckNumbers(tree, name, ensemble));
    RETURN_IF_ERROR(CheckShape(tree, name));
    RETURN_IF_ERROR(CheckCategories(tree, name, &num_words));
    if (num_words > kMaxCategoryWords) {
      return absl::InvalidArgumentError(absl::StrCat(
          "categorical_splits up to those of ", name, " have ", num_words,
          " words of categories, must have at most ", kMaxCategoryWords));
    }
    largest_score += LargestLeaf(tree);
  }
  if (largest_score <= kMaxTreeScore) return absl::OkStatus();
  return Wrong("the largest score", NumberText(largest_score),
               absl::StrCat("at most ", NumberText(kMaxTreeScore)));
}

}  // namespace

absl::Status CheckTreeEnsemble(const EnsembleMessage& ensemble) {
  if (ensemble.num_features() < 1 ||
      ensemble.num_features() > kMaxTreeFeatures) {
    return Wrong("num_features", ensemble.num_features(),
                 absl::StrCat("in [1, ", kMaxTreeFeatures, "]"));
  }
  if (ensemble.number_format() != EnsembleMessage::FLOAT &&
      ensemble.number_format() != EnsembleMessage::DOUBLE) {
    return Wrong("number_format", static_cast<int>(ensemble.number_format()),
                 "FLOAT (1) or DOUBLE (2)");
  }
  if (!EnsembleMessage::AbsentFeature_IsValid(ensemble.absent_feature())) {
    return Wrong("absent_feature", static_cast<int>(ensemble.absent_feature()),
                 "MISSING (0) or ZERO (1)");
  }
  if (!EnsembleMessage::OutputTransform_IsValid(ensemble.output_transform())) {
    return Wrong("output_transform",
                 static_cast<int>(ensemble.output_transform()),
                 "IDENTITY (0), SIGMOID (1), EXPONENTIAL (2) or OTHER (3)");
  }
  if (!(ensemble.sigmoid_slope() >= 0) ||
      !std::isfinite(ensemble.sigmoid_slope())) {
    return Wrong("sigmoid_slope", NumberText(ensemble.sigmoid_slope()),
                 "finite and above 0, or 0 for 1");
  }
  RETURN_IF_ERROR(CheckNumber("base_score", ensemble.base_score(),
                              ensemble.number_format()));
  if (ensemble.feature_names_size() > 0) {
    RETURN_IF_ERROR(CheckSize("feature_names", ensemble.feature_names_size(),
                              static_cast<int>(ensemble.num_features())));
  }
  return CheckTrees(ensemble);
}

}  // namespace sortition
