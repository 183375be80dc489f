#include "io/scorers/lightgbm_tree.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
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
// Features are floats, and the largest float stands for all values beyond
// (ExtremeValues::kCut), which are above any threshold beyond the floats.
// LightGBM's own stand-in for infinity is 1e300.
constexpr double kSmallestThreshold = -std::numeric_limits<float>::max();
constexpr double kLargestThreshold = 0x1.fffffcp127;  // The float below.

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
struct PackedCategorySets {
  Values<int> boundaries;
  Values<uint32_t> words;
};

absl::StatusOr<PackedCategorySets> ReadSets(const LightGbmLines& lines) {
  PackedCategorySets sets;
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

// Makes a Tree of the lines of one.
class TreeConverter {
 public:
  TreeConverter(const LightGbmLines& lines, int num_features,
                TreeBudget* budget)
      : lines_(lines), num_features_(num_features), budget_(*budget) {}

  absl::StatusOr<Tree> Convert() {
    ASSIGN_OR_RETURN(
        num_leaves_,
        lines_.Integer("num_leaves", 1, static_cast<int>(budget_.leaves)));
    budget_.leaves -= static_cast<size_t>(num_leaves_);
    if (num_leaves_ > 1) RETURN_IF_ERROR(AddSplits());
    ASSIGN_OR_RETURN(const auto leaves,
                     ReadValues<double>(lines_, "leaf_value",
                                        static_cast<size_t>(num_leaves_)));
    for (size_t leaf = 0; leaf < leaves.numbers.size(); ++leaf) {
      if (!std::isfinite(leaves.numbers[leaf])) {
        return leaves.Wrong(leaf, "finite");
      }
      tree_.add_leaf_values(leaves.numbers[leaf]);
    }
    return std::move(tree_);
  }

 private:
  // Reads children of splits.
  absl::StatusOr<Values<int>> ReadChildren(absl::string_view key) const {
    ASSIGN_OR_RETURN(
        auto children,
        ReadValues<int>(lines_, key, static_cast<size_t>(num_leaves_ - 1)));
    RETURN_IF_ERROR(children.CheckRange(-num_leaves_, num_leaves_ - 2));
    return children;
  }

  absl::Status AddSplits() {
    const auto size = static_cast<size_t>(num_leaves_ - 1);
    ASSIGN_OR_RETURN(const auto features,
                     ReadValues<int>(lines_, "split_feature", size));
    RETURN_IF_ERROR(features.CheckRange(0, num_features_ - 1));
    ASSIGN_OR_RETURN(thresholds_,
                     ReadValues<double>(lines_, "threshold", size));
    ASSIGN_OR_RETURN(decisions_,
                     ReadValues<int>(lines_, "decision_type", size));
    RETURN_IF_ERROR(decisions_.CheckRange(0, 15));
    ASSIGN_OR_RETURN(const auto left, ReadChildren("left_child"));
    ASSIGN_OR_RETURN(const auto right, ReadChildren("right_child"));
    ASSIGN_OR_RETURN(sets_, ReadSets(lines_));
    for (size_t node = 0; node < size; ++node) {
      tree_.add_split_features(static_cast<uint32_t>(features.numbers[node]));
      tree_.add_left_children(left.numbers[node]);
      tree_.add_right_children(right.numbers[node]);
      RETURN_IF_ERROR(AddRule(node));
    }
    const auto& zeros = tree_.zero_is_missing();
    if (std::find(zeros.begin(), zeros.end(), true) == zeros.end()) {
      tree_.clear_zero_is_missing();
    }
    return absl::OkStatus();
  }

  // Adds threshold and rules of a split.
  absl::Status AddRule(size_t node) {
    const int decision = decisions_.numbers[node];
    double threshold = thresholds_.numbers[node];
    bool missing_left = (decision & kDefaultLeft) != 0;
    bool zero_is_missing = false;
    if ((decision & kCategorical) != 0) {
      RETURN_IF_ERROR(AddSet(node));
      threshold = 0;
      missing_left = false;  // Whatever the bits say.
    } else {
      if (std::isnan(threshold)) return thresholds_.Wrong(node, "a number");
      threshold = std::clamp(threshold, kSmallestThreshold, kLargestThreshold);
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
          return decisions_.Wrong(
              node, "below 12: missing values are none, 0 or NaN");
      }
    }
    tree_.add_thresholds(threshold);
    tree_.add_missing_left(missing_left);
    tree_.add_zero_is_missing(zero_is_missing);
    return absl::OkStatus();
  }

  // Copies the categories of a split.
  absl::Status AddSet(size_t node) {
    const std::vector<int>& boundaries = sets_.boundaries.numbers;
    const double index = thresholds_.numbers[node];
    const double num_sets =
        boundaries.empty() ? 0 : static_cast<double>(boundaries.size() - 1);
    if (!(index >= 0 && index < num_sets) || std::trunc(index) != index) {
      return thresholds_.Wrong(
          node, absl::StrCat("an integer in [0, num_cat = ", num_sets,
                             "): a set of categories"));
    }
    const auto set = static_cast<size_t>(index);
    const auto begin = sets_.words.numbers.begin() + boundaries[set];
    const auto end = sets_.words.numbers.begin() + boundaries[set + 1];
    const auto size = static_cast<size_t>(end - begin);
    if (size > budget_.category_words) {
      return thresholds_.Wrong(
          node, absl::StrCat("that of a smaller set: those of all splits have "
                             "at most ",
                             kMaxCategoryWords, " words of 32 categories"));
    }
    budget_.category_words -= size;
    auto* split = tree_.add_categorical_splits();
    split->set_node(static_cast<uint32_t>(node));
    split->mutable_categories()->Add(begin, end);
    return absl::OkStatus();
  }

  const LightGbmLines& lines_;
  int num_features_;
  TreeBudget& budget_;
  int num_leaves_ = 0;
  Values<double> thresholds_;
  Values<int> decisions_;
  PackedCategorySets sets_;
  Tree tree_;
};

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
  return TreeConverter(lines, num_features, budget).Convert();
}

}  // namespace sortition
