#include "io/scorers/xgboost_tree.h"

#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"

namespace sortition {
namespace {

using model::v1::Tree;

// Categories are below this.
constexpr double kCategoryEnd = 1 << 24;

// An array of numbers and where it stands.
struct Column {
  DocumentField field;
  std::span<const double> values;

  absl::Status Wrong(size_t index, absl::string_view permitted) const {
    return field.WrongNumber(index, permitted);
  }
};

absl::StatusOr<Column> ReadColumn(const DocumentField& tree,
                                  absl::string_view name) {
  ASSIGN_OR_RETURN(DocumentField field, tree.Member(name));
  ASSIGN_OR_RETURN(const std::span<const double> values, field.Numbers());
  return Column{std::move(field), values};
}

// An array with one value for each node.
absl::StatusOr<Column> ReadNodes(const DocumentField& tree,
                                 absl::string_view name, size_t num_nodes) {
  ASSIGN_OR_RETURN(Column column, ReadColumn(tree, name));
  if (column.values.size() != num_nodes) {
    return column.field.Wrong(
        absl::StrCat("an array of ", num_nodes, " numbers, one for each node"));
  }
  return column;
}

// Checks that item `index` is an integer in [min, max].
absl::Status CheckInteger(const Column& column, size_t index, double min,
                          double max, absl::string_view permitted) {
  const double value = column.values[index];
  if (value >= min && value <= max && std::trunc(value) == value) {
    return absl::OkStatus();
  }
  return column.Wrong(index, permitted);
}

// Sets of categories by node.
using CategorySets = std::map<size_t, std::vector<uint32_t>>;

// Adds the categories of `column` from begin to end to a set.
absl::Status ReadSet(const Column& column, size_t begin, size_t end,
                     std::vector<uint32_t>* words) {
  for (size_t i = begin; i < end; ++i) {
    RETURN_IF_ERROR(CheckInteger(column, i, 0, kCategoryEnd - 1,
                                 "a category in [0, 16777215]"));
    const auto category = static_cast<uint32_t>(column.values[i]);
    if (words->size() <= category / 32) words->resize(category / 32 + 1);
    (*words)[category / 32] |= 1u << category % 32;
  }
  return absl::OkStatus();
}

absl::StatusOr<CategorySets> ReadSets(const DocumentField& tree,
                                      size_t num_nodes, TreeBudget* budget) {
  CategorySets sets;
  // Versions before 1.3 have no categories.
  if (!tree.Has("categories_nodes")) return sets;
  ASSIGN_OR_RETURN(const Column nodes, ReadColumn(tree, "categories_nodes"));
  ASSIGN_OR_RETURN(const Column categories, ReadColumn(tree, "categories"));
  ASSIGN_OR_RETURN(const Column begins,
                   ReadNodes(tree, "categories_segments", nodes.values.size()));
  ASSIGN_OR_RETURN(const Column sizes,
                   ReadNodes(tree, "categories_sizes", nodes.values.size()));
  const auto end = static_cast<double>(categories.values.size());
  double left = end;
  for (size_t i = 0; i < nodes.values.size(); ++i) {
    RETURN_IF_ERROR(
        CheckInteger(nodes, i, 0, static_cast<double>(num_nodes) - 1,
                     absl::StrCat("a node in [0, ", num_nodes, ")")));
    RETURN_IF_ERROR(
        CheckInteger(begins, i, 0, end, absl::StrCat("in [0, ", end, "]")));
    RETURN_IF_ERROR(
        CheckInteger(sizes, i, 0, end - begins.values[i],
                     absl::StrCat("in [0, ", end - begins.values[i], "]")));
    // Sets do not overlap, which also bounds the time that they take.
    left -= sizes.values[i];
    if (left < 0) {
      return sizes.Wrong(
          i, absl::StrCat("smaller: all sets have ", end, " categories"));
    }
    const auto begin = static_cast<size_t>(begins.values[i]);
    std::vector<uint32_t>& words = sets[static_cast<size_t>(nodes.values[i])];
    RETURN_IF_ERROR(ReadSet(categories, begin,
                            begin + static_cast<size_t>(sizes.values[i]),
                            &words));
    if (words.size() > budget->category_words) {
      return nodes.field.Wrong(absl::StrCat(
          "nodes with smaller sets: those of all trees have at most ",
          kMaxCategoryWords, " words of 32 categories"));
    }
    budget->category_words -= words.size();
  }
  return sets;
}

// Reads the nodes from the root on and numbers splits and leaves as a Tree
// does.
class TreeReader {
 public:
  static absl::StatusOr<TreeReader> Create(const DocumentField& tree,
                                           size_t num_features,
                                           TreeBudget* budget) {
    TreeReader reader;
    reader.budget_ = budget;
    reader.num_features_ = num_features;
    ASSIGN_OR_RETURN(reader.left_, ReadColumn(tree, "left_children"));
    const size_t num_nodes = reader.left_.values.size();
    if (num_nodes == 0) {
      return reader.left_.field.Wrong("an array of at least 1 number");
    }
    ASSIGN_OR_RETURN(reader.right_,
                     ReadNodes(tree, "right_children", num_nodes));
    ASSIGN_OR_RETURN(reader.features_,
                     ReadNodes(tree, "split_indices", num_nodes));
    ASSIGN_OR_RETURN(reader.conditions_,
                     ReadNodes(tree, "split_conditions", num_nodes));
    ASSIGN_OR_RETURN(reader.default_left_,
                     ReadNodes(tree, "default_left", num_nodes));
    ASSIGN_OR_RETURN(reader.sets_, ReadSets(tree, num_nodes, budget));
    if (tree.Has("split_type")) {
      ASSIGN_OR_RETURN(reader.types_, ReadNodes(tree, "split_type", num_nodes));
    }
    reader.is_reached_.resize(num_nodes);
    return reader;
  }

  absl::StatusOr<Tree> Read(float weight) {
    // Splits of one depth.
    std::vector<size_t> level = {0};
    is_reached_[0] = true;
    if (IsLeaf(0)) {
      RETURN_IF_ERROR(AddLeaf(0, weight));
      return std::move(tree_);
    }
    ++num_splits_;
    for (uint32_t depth = 1; !level.empty(); ++depth) {
      if (depth > kMaxTreeDepth) {
        return left_.field.Wrong(
            absl::StrCat("a tree no deeper than ", kMaxTreeDepth));
      }
      std::vector<size_t> next;
      for (const size_t node : level) {
        RETURN_IF_ERROR(AddSplit(node, weight, &next));
      }
      level = std::move(next);
    }
    return std::move(tree_);
  }

 private:
  bool IsLeaf(size_t node) const { return left_.values[node] == -1; }

  absl::Status AddLeaf(size_t node, float weight) {
    if (right_.values[node] != -1) {
      return right_.Wrong(node, "-1, as in left_children: a leaf");
    }
    const auto value = static_cast<float>(conditions_.values[node]);
    if (!std::isfinite(value) || !std::isfinite(weight * value)) {
      return conditions_.Wrong(node, "finite: the value of a leaf");
    }
    if (budget_->leaves == 0) {
      return left_.field.Wrong(
          absl::StrCat("that of a smaller tree: all trees have at most ",
                       kMaxTreeLeaves, " leaves"));
    }
    --budget_->leaves;
    tree_.add_leaf_values(static_cast<double>(weight * value));
    return absl::OkStatus();
  }

  // Returns the number of a child in a Tree; adds it to `next` if it is a
  // split.
  absl::StatusOr<int> AddChild(const Column& children, size_t node,
                               float weight, std::vector<size_t>* next) {
    const size_t num_nodes = left_.values.size();
    RETURN_IF_ERROR(
        CheckInteger(children, node, 1, static_cast<double>(num_nodes) - 1,
                     absl::StrCat("a node in [1, ", num_nodes, ")")));
    const auto child = static_cast<size_t>(children.values[node]);
    if (is_reached_[child]) {
      return children.Wrong(node, "a node that no other split leads to");
    }
    is_reached_[child] = true;
    if (IsLeaf(child)) {
      RETURN_IF_ERROR(AddLeaf(child, weight));
      return -tree_.leaf_values_size();
    }
    next->push_back(child);
    return num_splits_++;
  }

  absl::Status AddSplit(size_t node, float weight, std::vector<size_t>* next) {
    RETURN_IF_ERROR(CheckInteger(
        features_, node, 0, static_cast<double>(num_features_) - 1,
        absl::StrCat("below ", num_features_, ", the number of features")));
    RETURN_IF_ERROR(CheckInteger(default_left_, node, 0, 1, "0 or 1"));
    ASSIGN_OR_RETURN(int left, AddChild(left_, node, weight, next));
    ASSIGN_OR_RETURN(int right, AddChild(right_, node, weight, next));
    bool missing_left = default_left_.values[node] == 1;
    double threshold = 0;
    if (!types_.values.empty()) {
      RETURN_IF_ERROR(CheckInteger(types_, node, 0, 1,
                                   "0, by threshold, or 1, by category"));
    }
    if (!types_.values.empty() && types_.values[node] == 1) {
      const auto set = sets_.find(node);
      if (set == sets_.end()) {
        return types_.Wrong(node, "0: categories_nodes does not have the node");
      }
      // XGBoost sends what is in the set to the right.
      std::swap(left, right);
      missing_left = !missing_left;
      auto* split = tree_.add_categorical_splits();
      split->set_node(static_cast<uint32_t>(tree_.split_features_size()));
      split->mutable_categories()->Add(set->second.begin(), set->second.end());
    } else {
      threshold =
          static_cast<double>(static_cast<float>(conditions_.values[node]));
      if (!std::isfinite(threshold)) {
        return conditions_.Wrong(node, "finite: a threshold");
      }
    }
    tree_.add_split_features(static_cast<uint32_t>(features_.values[node]));
    tree_.add_thresholds(threshold);
    tree_.add_left_children(left);
    tree_.add_right_children(right);
    tree_.add_missing_left(missing_left);
    return absl::OkStatus();
  }

  size_t num_features_ = 0;
  TreeBudget* budget_ = nullptr;
  Column left_;
  Column right_;
  Column features_;
  Column conditions_;
  Column default_left_;
  Column types_;  // Empty: all are by threshold.
  CategorySets sets_;
  std::vector<bool> is_reached_;
  int num_splits_ = 0;  // That have a number.
  Tree tree_;
};

}  // namespace

absl::StatusOr<Tree> ConvertXgboostTree(const DocumentField& tree,
                                        size_t num_features, float weight,
                                        TreeBudget* budget) {
  if (tree.Has("tree_param")) {
    ASSIGN_OR_RETURN(const DocumentField param, tree.Member("tree_param"));
    if (param.Has("size_leaf_vector")) {
      ASSIGN_OR_RETURN(const DocumentField size,
                       param.Member("size_leaf_vector"));
      RETURN_IF_ERROR(size.Integer(0, 1).status());
    }
  }
  ASSIGN_OR_RETURN(TreeReader reader,
                   TreeReader::Create(tree, num_features, budget));
  return reader.Read(weight);
}

}  // namespace sortition
