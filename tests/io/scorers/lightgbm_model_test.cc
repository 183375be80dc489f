#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "tests/io/scorers/tree_model_texts.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using Model = model::v1::TreeEnsemble;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<double> ScoresOf(const std::string& text, uint32_t num_features,
                             const std::vector<float>& rows) {
  const auto model = ParseTreeModel(text);
  EXPECT_OK(model);
  if (!model.ok()) return {};
  const auto ensemble = TreeEnsemble::Create(*model);
  EXPECT_OK(ensemble);
  std::vector<uint32_t> documents(rows.size() / num_features);
  std::iota(documents.begin(), documents.end(), 0u);
  std::vector<double> scores(documents.size());
  TreeScratch scratch;
  ensemble->Scores(Candidates::DenseUnchecked(rows, num_features), documents,
                   &scratch, scores);
  return scores;
}

TEST(LightGbmModelTest, ScoresAsTheFileSays) {
  // The leaves of trees 0, 1 and 2 by row.
  EXPECT_THAT(
      ScoresOf(
          LightGbmText(), 3,
          {0,       0,    1,       // -1.5, 10
           0.2f,    2.5f, 34,      // 0.25, 10
           0.2f,    3,    2,       // 3, 30
           -2,      0,    0,       // -1.5, 20
           0.2f,    kNan, 66,      // NaN to the left: 0.25, 30
           kNan,    3,    kNan,    // NaN as 0: -1.5; to the right, missing: 30
           -1e-36f, 3,    -1,      // -1.5; 0 is missing: 30
           0.1f,    3,    1.5f}),  // 0.1f > 0.1: 3, 10
      ElementsAre(-1.5 + 10 + 0.001, 0.25 + 10 + 0.001, 3 + 30 + 0.001,
                  -1.5 + 20 + 0.001, 0.25 + 30 + 0.001, -1.5 + 30 + 0.001,
                  -1.5 + 30 + 0.001, 3 + 10 + 0.001));
}

TEST(LightGbmModelTest, KeepsWhatDescribesTheModel) {
  ASSERT_OK_AND_ASSIGN(const Model model, ParseTreeModel(LightGbmText()));
  EXPECT_EQ(model.objective(), "binary");
  EXPECT_EQ(model.output_transform(), Model::SIGMOID);
  EXPECT_EQ(model.sigmoid_slope(), 2);
  EXPECT_THAT(model.feature_names(), ElementsAre("a", "b=c", "d"));
  EXPECT_EQ(model.number_format(), Model::DOUBLE);
  EXPECT_EQ(model.absent_feature(), Model::ZERO);
  EXPECT_EQ(model.base_score(), 0);
  EXPECT_EQ(model.trees(0).thresholds(0), 0.1);
}

TEST(LightGbmModelTest, TakesFilesOfOtherSystems) {
  // Lines that end in \r\n, and a file that ends with its trees.
  std::string text;
  for (const char c : LightGbmText()) {
    if (c == '\n') text += '\r';
    text += c;
  }
  EXPECT_OK(ParseTreeModel(text));
  const std::string whole = LightGbmText();
  EXPECT_OK(ParseTreeModel(whole.substr(0, whole.find("\n\nfeature_imp"))));
}

// LightGBM's decision at one split, from its documentation of decision_type:
// bit 1 default left; bits 2 and 3 what is missing: 0 nothing, 1 zero, 2 NaN.
bool GoesLeft(int decision, double threshold, double x) {
  const int missing = decision >> 2;
  if (std::isnan(x) && missing != 2) x = 0;
  const bool is_zero = std::abs(x) <= 1e-35;
  if ((missing == 1 && is_zero) || (missing == 2 && std::isnan(x))) {
    return (decision & 2) != 0;
  }
  return x <= threshold;
}

TEST(LightGbmModelTest, DecidesAsEveryDecisionTypeSays) {
  const std::vector<float> values = {0,
                                     -0.0f,
                                     1e-36f,
                                     -1e-36f,
                                     0.1f,
                                     0.1000001f,
                                     -0.1f,
                                     1,
                                     -1,
                                     kNan,
                                     std::numeric_limits<float>::infinity()};
  for (int decision = 0; decision < 12; ++decision) {
    if ((decision & 1) != 0) continue;  // By category.
    for (const double threshold :
         {0.1, static_cast<double>(0.1f), 0.0, -0.1, 1.0000000180025095e-35,
          -1.0000000180025095e-35, 1e300, 0.5}) {
      const std::string text = absl::StrFormat(
          "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\n"
          "max_feature_idx=0\nfeature_names=f\n\nTree=0\nnum_leaves=2\n"
          "split_feature=0\nthreshold=%.17g\ndecision_type=%d\nleft_child=-1\n"
          "right_child=-2\nleaf_value=1 2\n\nend of trees\n",
          threshold, decision);
      const std::vector<double> scores = ScoresOf(text, 1, values);
      ASSERT_EQ(scores.size(), values.size());
      for (size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(scores[i], GoesLeft(decision, threshold, values[i]) ? 1 : 2)
            << values[i] << " at " << threshold << ", decision " << decision;
      }
    }
  }
}

TEST(LightGbmModelTest, KeepsThresholdsThatDifferOnlyAsDoubles) {
  const auto threshold_of = [](const std::string& text) {
    const auto model =
        ParseTreeModel(Replaced(LightGbmText(), "0.10000000000000001", text));
    EXPECT_OK(model);
    return model->trees(0).thresholds(0);
  };
  EXPECT_LT(threshold_of("0.10000000000000001"),
            threshold_of("0.10000000000000002"));
  // The double above 0.1f sends 0.1f to the left, the double below to the
  // right.
  const auto leaf_of = [](const std::string& text) {
    return ScoresOf(Replaced(LightGbmText(), "0.10000000000000001", text), 3,
                    {0.1f, 3, 1})[0];
  };
  EXPECT_EQ(leaf_of("0.10000000149011613"), -1.5 + 10 + 0.001);
  EXPECT_EQ(leaf_of("0.10000000149011610"), 3 + 10 + 0.001);
}

TEST(LightGbmModelTest, NamesWhatIsWrong) {
  const std::vector<BadModelText> cases = {
      {"version=v4", "version=v9",
       "byte 5: version = v9, must be v2, v3 or v4"},
      {"num_class=1", "num_class=3", "byte 16: num_class = 3, must be 1"},
      {"num_class=1\n", "", "byte 0: num_class is absent"},
      {"num_tree_per_iteration=1", "num_tree_per_iteration=3",
       "num_tree_per_iteration = 3, must be 1"},
      {"label_index=0", "average_output",
       "average_output = , must be absent: averages of trees (rf)"},
      {"max_feature_idx=2", "max_feature_idx=-1",
       "max_feature_idx = -1, must be an integer in [0, 16777215]"},
      {"max_feature_idx=2", "max_feature_idx=1",
       "feature_names = a b=c d, must be 2 names"},
      {"sigmoid:2", "sigmoid:0",
       "objective = binary sigmoid:0, must be binary "
       "with a sigmoid in (0, 1e6]"},
      {"Tree=0\nnum_leaves=3", "Tree=0\nnum_leaves=0",
       "Tree=0 num_leaves = 0, must be an integer in [1, 4194304]"},
      {"Tree=0\nnum_leaves=3", "Tree=0\nnum_leaves=4",
       "Tree=0 split_feature = 0 1, must be 3 numbers and has 2"},
      {"split_feature=0 1", "split_feature=0 3",
       "Tree=0 split_feature[1] = 3, must be in [0, 2]"},
      {"split_feature=0 1", "split_feature=0 x",
       "Tree=0 split_feature[1] = x, must be a number"},
      {"threshold=0.10000000000000001", "threshold=nan",
       "Tree=0 threshold[0] = nan, must be a number"},
      {"decision_type=0 10", "decision_type=0 14",
       "Tree=0 decision_type[1] = 14, must be below 12"},
      {"decision_type=0 10", "decision_type=0 16",
       "Tree=0 decision_type[1] = 16, must be in [0, 15]"},
      {"left_child=-1 -2", "left_child=-1 -4",
       "Tree=0 left_child[1] = -4, must be in [-3, 1]"},
      {"left_child=-1 -2", "left_child=-1 2",
       "Tree=0 left_child[1] = 2, must be in [-3, 1]"},
      {"left_child=-1 -2", "left_child=-1 1",
       "trees[0].left_children[1] is 1, must be a node that has no other "
       "parent"},
      {"left_child=-1 -2", "left_child=-1 -1",
       "trees[0].left_children[1] is -1, must be a node that has no other "
       "parent"},
      {"leaf_value=-1.5 0.25 3", "leaf_value=-1.5 inf 3",
       "Tree=0 leaf_value[1] = inf, must be finite"},
      {"leaf_value=-1.5 0.25 3", "leaf_value=-1.5 3",
       "Tree=0 leaf_value = -1.5 3, must be 3 numbers and has 2"},
      {"is_linear=0", "is_linear=1", "Tree=0 is_linear = 1, must be 0"},
      {"threshold=0 -1", "threshold=1 -1",
       "Tree=1 threshold[0] = 1, must be an integer in [0, num_cat = 1): a set "
       "of categories"},
      {"cat_boundaries=0 2", "cat_boundaries=0 3",
       "Tree=1 cat_threshold = 2 4, must be 3 numbers and has 2"},
      {"cat_boundaries=0 2", "cat_boundaries=1 2",
       "Tree=1 cat_boundaries[0] = 1, must be 0 at first"},
      {"cat_threshold=2 4", "cat_threshold=2 -4",
       "Tree=1 cat_threshold[1] = -4, must be a number"},
      {"Tree=1", "Tree=5", "the line is \"Tree=5\", must be \"Tree=1\""},
      {"end of trees", "",
       "must be \"Tree=3\" or \"end of trees\": the file is "
       "not whole"},
  };
  for (const BadModelText& bad : cases) {
    EXPECT_THAT(ParseTreeModel(Replaced(LightGbmText(), bad.from, bad.to)),
                StatusIs(kInvalidArgument, HasSubstr(bad.message)))
        << bad.from << " -> " << bad.to;
  }
}

// A small file that asks for much memory: one set of 2 MiB at many splits.
TEST(LightGbmModelTest, BoundsWhatAFileAsksFor) {
  constexpr int kWords = 1 << 19;
  constexpr int kLeaves = 12;
  const auto list = [](int size, auto value) {
    std::string text;
    for (int i = 0; i < size; ++i) absl::StrAppend(&text, value(i), " ");
    return text;
  };
  std::string text = absl::StrCat(
      "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\n"
      "max_feature_idx=0\nfeature_names=f\n\nTree=0\nnum_leaves=",
      kLeaves,
      "\nnum_cat=1\nsplit_feature=", list(kLeaves - 1, [](int) { return 0; }),
      "\nthreshold=", list(kLeaves - 1, [](int) { return 0; }),
      "\ndecision_type=", list(kLeaves - 1, [](int) { return 1; }),
      "\nleft_child=", list(kLeaves - 1, [](int i) { return -1 - i; }),
      "\nright_child=",
      list(kLeaves - 1,
           [](int i) { return i + 2 < kLeaves ? i + 1 : -kLeaves; }),
      "\nleaf_value=", list(kLeaves, [](int) { return 1; }),
      "\ncat_boundaries=0 ", kWords,
      "\ncat_threshold=", list(kWords, [](int) { return 1; }),
      "\n\nend of trees\n");
  EXPECT_THAT(
      ParseTreeModel(text),
      StatusIs(kInvalidArgument, HasSubstr("Tree=0 threshold[8] = 0, must be "
                                           "that of a smaller set")));
  text = "tree\n";
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "key", i, "=\n");
  EXPECT_THAT(ParseTreeModel(text),
              StatusIs(kInvalidArgument,
                       HasSubstr("the header has more than 1000 lines")));
}

TEST(LightGbmModelTest, NeverTakesPartOfAFile) {
  const std::string whole = LightGbmText();
  const size_t end = whole.find("end of trees") + 12;
  for (size_t size = 0; size < end; ++size) {
    EXPECT_THAT(ParseTreeModel(whole.substr(0, size)),
                StatusIs(kInvalidArgument))
        << size;
  }
}

TEST(LightGbmModelTest, RefusesDumps) {
  EXPECT_THAT(
      ParseTreeModel(R"({"name":"tree","version":"v4","tree_info":[]})"),
      StatusIs(kInvalidArgument, HasSubstr("LightGBM's dump_model")));
}

}  // namespace
}  // namespace sortition
