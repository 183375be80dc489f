#include "trainer/offpolicy/frame_options.h"

#include "absl/strings/str_cat.h"
#include "io/files.h"
#include "tests/trainer/synthetic_tuples.h"

namespace sortition {
namespace {

// A model of LightGBM with one split on column 1.
std::string ModelOf(int columns) {
  std::string names;
  std::string infos;
  for (int i = 0; i < columns; ++i) {
    absl::StrAppend(&names, i == 0 ? "" : " ", "Column_", i);
    absl::StrAppend(&infos, i == 0 ? "none" : " [0:1]");
  }
  return absl::StrCat(
      "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\n"
      "max_feature_idx=",
      columns - 1, "\nfeature_names=", names, "\nfeature_infos=", infos,
      "\n\nTree=0\nnum_leaves=2\nsplit_feature=1\nthreshold=0.5\n"
      "decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value=-1 1\n\n"
      "end of trees\n");
}

class FrameOptionsTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_trees(dir_ / "trees.txt");
    WriteSegment(options_.tuples(), 1, MakeTuples({}, 20));
  }

  absl::StatusOr<ModelFrame> FrameWith(int columns) {
    EXPECT_OK(WriteFile(options_.trees(), ModelOf(columns)));
    return MakeFrame(options_, std::nullopt);
  }

  TempDir dir_;
  config::v1::TrainOptions options_;
};

// The log has decisions with five features.
TEST_F(FrameOptionsTest, TheLogShowsWhichColumnOfTreesIsFirst) {
  ASSERT_OK_AND_ASSIGN(const ModelFrame as_is, FrameWith(5));
  EXPECT_EQ(as_is.model.num_features(), 5u);
  EXPECT_EQ(as_is.model.trees().skipped_columns(), 0u);
  EXPECT_EQ(as_is.model.trees().trees(0).split_features(0), 1u);
  ASSERT_OK_AND_ASSIGN(const ModelFrame from_one, FrameWith(6));
  EXPECT_EQ(from_one.model.num_features(), 5u);
  EXPECT_EQ(from_one.model.trees().skipped_columns(), 1u);
  EXPECT_EQ(from_one.model.trees().trees(0).split_features(0), 0u);
  EXPECT_THAT(FrameWith(7), IsInvalidArgument("num_features is 5, must be 7, "
                                              "as many as its trees have"));
  options_.set_trees_absent(config::v1::TrainOptions::MISSING);
  ASSERT_OK_AND_ASSIGN(const ModelFrame missing, FrameWith(5));
  EXPECT_EQ(missing.model.trees().absent_feature(),
            model::v1::TreeEnsemble::MISSING);
}

}  // namespace
}  // namespace sortition
