#include "io/scorers/tree_columns.h"

#include "tests/io/scorers/tree_model_texts.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A model of `columns` columns with one split on column `split`.
TreeModelFile ModelOf(uint32_t columns, uint32_t split,
                      FirstColumn first = FirstColumn::kUnknown) {
  TreeModelFile file;
  file.first_column = first;
  file.ensemble.set_num_features(columns);
  model::v1::Tree& tree = *file.ensemble.add_trees();
  tree.add_split_features(split);
  tree.add_thresholds(0.5);
  tree.add_left_children(-1);
  tree.add_right_children(-2);
  tree.add_missing_left(true);
  tree.add_leaf_values(1);
  tree.add_leaf_values(2);
  return file;
}

struct Case {
  const char* name;
  TreeModelFile file;
  FeatureCount num_features;
  int first_column;  // -1: refused.
};

TEST(TreeColumnsTest, CountsAndColumnZeroDecide) {
  const FeatureCount exactly3{3};
  const FeatureCount at_least3{3, true};
  const FeatureCount from_zero{3, true, true};
  TreeModelFile named = ModelOf(4, 1);
  for (const char* name : {"price", "age", "rank", "clicks"}) {
    named.ensemble.add_feature_names(name);
  }
  TreeModelFile named_by_lightgbm = named;
  named_by_lightgbm.first_column = FirstColumn::kConstant;
  TreeModelFile leaf = ModelOf(1, 0);
  leaf.ensemble.mutable_trees(0)->Clear();
  leaf.ensemble.mutable_trees(0)->add_leaf_values(1);
  const Case cases[] = {
      {"split on", ModelOf(4, 0), at_least3, 0},
      {"as many", ModelOf(3, 1), at_least3, 0},
      {"as many, constant", ModelOf(3, 1, FirstColumn::kConstant), at_least3,
       0},
      {"fewer", ModelOf(2, 1), at_least3, 0},
      {"one column, no split", leaf, {}, 0},
      {"one more", ModelOf(4, 1), at_least3, 1},
      {"one more, exactly", ModelOf(4, 1), exactly3, 1},
      {"one more, constant", ModelOf(4, 1, FirstColumn::kConstant), at_least3,
       1},
      {"one more, varies", ModelOf(4, 1, FirstColumn::kVaries), at_least3, 0},
      {"one more, with names", named, at_least3, -1},
      {"one more, with names, constant", named_by_lightgbm, at_least3, 1},
      {"one more, from 0", ModelOf(4, 1), from_zero, -1},
      {"as many, from 0", ModelOf(3, 1), from_zero, 0},
      {"two more", ModelOf(5, 1), at_least3, -1},
      {"two more, varies", ModelOf(5, 1, FirstColumn::kVaries), at_least3, 0},
      {"two more, constant", ModelOf(5, 1, FirstColumn::kConstant), at_least3,
       -1},
      {"two more, split on", ModelOf(5, 0), at_least3, 0},
      {"two more, exactly", ModelOf(5, 1), exactly3, 0},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.name);
    const auto choice =
        ChooseFirstColumn(test.file, test.num_features, std::nullopt);
    if (test.first_column < 0) {
      EXPECT_THAT(choice, IsInvalidArgument("trees_first_column must be set"));
      continue;
    }
    ASSERT_OK(choice);
    EXPECT_EQ(static_cast<int>(choice->first_column), test.first_column);
    EXPECT_NE(choice->reason, "");
  }
}

TEST(TreeColumnsTest, TheOptionIsObeyedOrRefused) {
  const auto choose = [](const TreeModelFile& file, uint32_t given) {
    return ChooseFirstColumn(file, {.value = 3, .is_lower_bound = true}, given);
  };
  EXPECT_EQ(choose(ModelOf(5, 1), 1)->first_column, 1u);
  EXPECT_EQ(choose(ModelOf(4, 1), 0)->first_column, 0u);
  EXPECT_THAT(choose(ModelOf(4, 0), 1),
              IsInvalidArgument("trees_first_column is 1, must be 0: tree 0 "
                                "splits on column 0"));
  TreeModelFile leaf = ModelOf(1, 0);
  leaf.ensemble.mutable_trees(0)->Clear();
  EXPECT_THAT(choose(leaf, 1), IsInvalidArgument("has one column"));
}

TEST(TreeColumnsTest, SkippingMovesEveryFeature) {
  ASSERT_OK_AND_ASSIGN(
      TreeModelFile file,
      ParseTreeModelFile(Replaced(
          Replaced(LightGbmText(), "split_feature=0 1", "split_feature=2 1"),
          "split_feature=2 0", "split_feature=2 1")));
  model::v1::TreeEnsemble& ensemble = file.ensemble;
  SkipFirstColumn(&ensemble);
  EXPECT_EQ(ensemble.num_features(), 2u);
  EXPECT_EQ(ensemble.skipped_columns(), 1u);
  EXPECT_THAT(ensemble.trees(0).split_features(), ElementsAre(1u, 0u));
  EXPECT_THAT(ensemble.trees(1).split_features(), ElementsAre(1u, 0u));
  EXPECT_THAT(ensemble.feature_names(), ElementsAre("b=c", "d"));
}

}  // namespace
}  // namespace sortition
