#include "io/scorers/lightgbm_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/field_range.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::Tree;

// Bits of decision_type.
constexpr int kCategorical = 1;
constexpr int kDefaultLeft = 2;
constexpr int kMissingShift = 2;  // Two bits:
constexpr int kMissingNone = 0;   // NaN counts as 0;
constexpr int kMissingZero = 1;   // 0 and NaN are missing;
constexpr int kMissingNan = 2;    // NaN is missing.
// LightGBM's own stand-in for infinity.
constexpr double kLargestThreshold = 1e300;

// Numbers of one line.
template <typename Number>
struct Values {
  const LightGbmLines* lines = nullptr;
  absl::string_view key;
  std::vector<Number> numbers;

  absl::Status Wrong(size_t index, absl::string_view permitted) const {
    const auto& [text, offset] = lines->values.at(key);
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", offset, ": ", lines->name, " ", key, "[", index,
                     "] = ", NumberText(static_cast<double>(numbers[index])),
                     ", must be ", permitted));
  }
  absl::Status CheckRange(Number min, Number max) const {
    for (size_t i = 0; i < numbers.size(); ++i) {
      if (!(numbers[i] >= min && numbers[i] <= max)) {
        return Wrong(i, absl::StrCat("in [", min, ", ", max, "]"));
      }
    }
    return absl::OkStatus();
  }
};

template <typename Number>
absl::StatusOr<Values<Number>> ReadValues(const LightGbmLines& lines,
                                          absl::string_view key, size_t size) {
  ASSIGN_OR_RETURN(const absl::string_view text, lines.Text(key));
  Values<Number> values{&lines, key, {}};
  const auto wrong_size = [&](absl::string_view has) {
    return lines.Wrong(key, absl::StrCat(size, " numbers and has ", has));
  };
  for (const absl::string_view part :
       absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    Number number = 0;
    if (!ParseNumber(part, &number)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "byte ", lines.values.at(key).offset, ": ", lines.name, " ", key, "[",
          values.numbers.size(), "] = ", Shown(part), ", must be a number"));
    }
    if (values.numbers.size() == size) return wrong_size("more");
    values.numbers.push_back(number);
  }
  if (values.numbers.size() < size) {
    return wrong_size(absl::StrCat(values.numbers.size()));
  }
  return values;
}

// Sets of categories: those of set i are the bits of the words boundaries[i] ..
// boundaries[i + 1].
struct CategorySets {
  Values<int> boundaries;
  Values<uint32_t> words;
};

absl::StatusOr<CategorySets> ReadSets(const LightGbmLines& lines) {
  CategorySets sets;
  if (!lines.values.contains("num_cat")) return sets;
  ASSIGN_OR_RETURN(const int num_sets, lines.Integer("num_cat", 0, 1 << 22));
  if (num_sets == 0) return sets;
  ASSIGN_OR_RETURN(sets.boundaries,
                   ReadValues<int>(lines, "cat_boundaries",
                                   static_cast<size_t>(num_sets) + 1));
  const std::vector<int>& ends = sets.boundaries.numbers;
  RETURN_IF_ERROR(
      sets.boundaries.CheckRange(0, static_cast<int>(kMaxCategoryWords)));
  for (size_t i = 0; i < ends.size(); ++i) {
    if (i == 0 ? ends[i] != 0 : ends[i] < ends[i - 1]) {
      return sets.boundaries.Wrong(i,
                                   "0 at first, and not below the one before");
    }
  }
  ASSIGN_OR_RETURN(sets.words,
                   ReadValues<uint32_t>(lines, "cat_threshold",
                                        static_cast<size_t>(ends.back())));
  return sets;
}

// Copies a set to split `node`.
absl::Status AddSet(const CategorySets& sets, const Values<double>& thresholds,
                    size_t node, TreeBudget* budget, Tree* tree) {
  const double index = thresholds.numbers[node];
  const auto num_sets = static_cast<double>(sets.boundaries.numbers.size()) - 1;
  if (!(index >= 0 && index < num_sets) || std::trunc(index) != index) {
    return thresholds.Wrong(
        node, absl::StrCat("an integer in [0, num_cat = ",
                           std::max(num_sets, 0.0), "): a set of categories"));
  }
  const auto set = static_cast<size_t>(index);
  const auto begin = sets.words.numbers.begin() + sets.boundaries.numbers[set];
  const auto end =
      sets.words.numbers.begin() + sets.boundaries.numbers[set + 1];
  const auto size = static_cast<size_t>(end - begin);
  if (size > budget->category_words) {
    return thresholds.Wrong(
        node, absl::StrCat("that of a smaller set: those of all splits have at "
                           "most ",
                           kMaxCategoryWords, " words of 32 categories"));
  }
  budget->category_words -= size;
  auto* split = tree->add_categorical_splits();
  split->set_node(static_cast<uint32_t>(node));
  split->mutable_categories()->Add(begin, end);
  return absl::OkStatus();
}

// Adds threshold and rules of split `node`.
absl::Status AddRule(const Values<int>& decisions, const CategorySets& sets,
                     const Values<double>& thresholds, size_t node,
                     TreeBudget* budget, Tree* tree) {
  const int decision = decisions.numbers[node];
  double threshold = thresholds.numbers[node];
  bool missing_left = (decision & kDefaultLeft) != 0;
  bool zero_is_missing = false;
  if ((decision & kCategorical) != 0) {
    RETURN_IF_ERROR(AddSet(sets, thresholds, node, budget, tree));
    threshold = 0;
    missing_left = false;  // Whatever the bits say.
  } else {
    if (std::isnan(threshold)) return thresholds.Wrong(node, "a number");
    threshold = std::clamp(threshold, -kLargestThreshold, kLargestThreshold);
    switch (decision >> kMissingShift) {
      case kMissingNone:
        missing_left = 0 <= threshold;
        break;
      case kMissingZero:
        zero_is_missing = true;
        break;
      case kMissingNan:
        break;
      default:
        return decisions.Wrong(node,
                               "below 12: missing values are none, 0 or NaN");
    }
  }
  tree->add_thresholds(threshold);
  tree->add_missing_left(missing_left);
  tree->add_zero_is_missing(zero_is_missing);
  return absl::OkStatus();
}

absl::Status AddSplits(const LightGbmLines& lines, int num_leaves,
                       int num_features, TreeBudget* budget, Tree* tree) {
  const auto size = static_cast<size_t>(num_leaves - 1);
  ASSIGN_OR_RETURN(const auto features,
                   ReadValues<int>(lines, "split_feature", size));
  RETURN_IF_ERROR(features.CheckRange(0, num_features - 1));
  ASSIGN_OR_RETURN(const auto thresholds,
                   ReadValues<double>(lines, "threshold", size));
  ASSIGN_OR_RETURN(const auto decisions,
                   ReadValues<int>(lines, "decision_type", size));
  RETURN_IF_ERROR(decisions.CheckRange(0, 15));
  ASSIGN_OR_RETURN(const auto left, ReadValues<int>(lines, "left_child", size));
  RETURN_IF_ERROR(left.CheckRange(-num_leaves, num_leaves - 2));
  ASSIGN_OR_RETURN(const auto right,
                   ReadValues<int>(lines, "right_child", size));
  RETURN_IF_ERROR(right.CheckRange(-num_leaves, num_leaves - 2));
  ASSIGN_OR_RETURN(const CategorySets sets, ReadSets(lines));
  for (size_t node = 0; node < size; ++node) {
    tree->add_split_features(static_cast<uint32_t>(features.numbers[node]));
    tree->add_left_children(left.numbers[node]);
    tree->add_right_children(right.numbers[node]);
    RETURN_IF_ERROR(AddRule(decisions, sets, thresholds, node, budget, tree));
  }
  const auto& zeros = tree->zero_is_missing();
  if (std::find(zeros.begin(), zeros.end(), true) == zeros.end()) {
    tree->clear_zero_is_missing();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status LightGbmLines::Wrong(absl::string_view key,
                                  absl::string_view permitted) const {
  const auto found = values.find(key);
  const absl::string_view space = name.empty() ? "" : " ";
  if (found == values.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "byte ", offset, ": ", name, space, key, " is absent, must be there"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("byte ", found->second.offset, ": ", name, space, key, " = ",
                   Shown(found->second.text), ", must be ", permitted));
}

absl::StatusOr<absl::string_view> LightGbmLines::Text(
    absl::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end()) return Wrong(key, "");
  return found->second.text;
}

absl::StatusOr<int> LightGbmLines::Integer(absl::string_view key, int min,
                                           int max) const {
  ASSIGN_OR_RETURN(const absl::string_view text, Text(key));
  int value = 0;
  if (!ParseNumber(text, &value) || value < min || value > max) {
    return Wrong(
        key, min == max ? absl::StrCat(min)
                        : absl::StrCat("an integer in [", min, ", ", max, "]"));
  }
  return value;
}

absl::StatusOr<Tree> ConvertLightGbmTree(const LightGbmLines& lines,
                                         int num_features, TreeBudget* budget) {
  if (lines.values.contains("is_linear")) {
    RETURN_IF_ERROR(lines.Integer("is_linear", 0, 0).status());
  }
  ASSIGN_OR_RETURN(
      const int num_leaves,
      lines.Integer("num_leaves", 1, static_cast<int>(budget->leaves)));
  budget->leaves -= static_cast<size_t>(num_leaves);
  Tree tree;
  if (num_leaves > 1) {
    RETURN_IF_ERROR(AddSplits(lines, num_leaves, num_features, budget, &tree));
  }
  ASSIGN_OR_RETURN(
      const auto leaves,
      ReadValues<double>(lines, "leaf_value", static_cast<size_t>(num_leaves)));
  for (size_t leaf = 0; leaf < leaves.numbers.size(); ++leaf) {
    if (!std::isfinite(leaves.numbers[leaf])) {
      return leaves.Wrong(leaf, "finite");
    }
    tree.add_leaf_values(leaves.numbers[leaf]);
  }
  return tree;
}

}  // namespace sortition
