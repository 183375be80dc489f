#include "io/scorers/tree_models.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/scoring/tree_ensemble.h"
#include "io/files.h"
#include "tests/io/scorers/tree_model_texts.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(TreeModelsTest, RecognisesFormats) {
  EXPECT_OK(ParseTreeModel(XgboostJson()));
  EXPECT_OK(ParseTreeModel(
      Replaced(XgboostJson(), "{\"learner\"", "{ \n \"learner\"")));
  EXPECT_OK(ParseTreeModel(LightGbmText()));
  for (const char* other : {"", "binf", "# comment", "tree"}) {
    EXPECT_THAT(ParseTreeModel(other),
                IsInvalidArgument("must be a model that XGBoost saved as JSON "
                                  "or UBJSON"));
  }
}

TEST(TreeModelsTest, ErrorsNameTheFile) {
  const TempDir dir;
  const std::string path = dir / "model.txt";
  ASSERT_OK(WriteFile(path, LightGbmText()));
  EXPECT_OK(ReadTreeModel(path));
  ASSERT_OK(WriteFile(path, Replaced(LightGbmText(), "num_class=1", "x=1")));
  EXPECT_THAT(
      ReadTreeModel(path),
      StatusIs(kInvalidArgument, AllOf(StartsWith(path + ": byte 0"),
                                       HasSubstr("num_class is absent"))));
  EXPECT_THAT(ReadTreeModel(dir / "none"), IsNotFound("none"));
}

TEST(TreeModelsTest, RefusesLargeFilesUnread) {
  const TempDir dir;
  const std::string path = dir / "model.json";
  ASSERT_OK(WriteFile(path, "{"));
  std::filesystem::resize_file(path, (size_t{128} << 20) + 1);
  EXPECT_THAT(ReadTreeModel(path),
              IsInvalidArgument("the file has 134217729 bytes, must "
                                "have at most 134217728"));
}

using Model = model::v1::TreeEnsemble;
using ::testing::ElementsAre;

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

// Versions before 2.2 write no "end of trees", but what follows it.
TEST(LightGbmModelTest, TakesFilesOfOldVersions) {
  const std::string whole = LightGbmText();
  const std::string trees = whole.substr(0, whole.find("end of trees"));
  for (const char* next :
       {"feature importances:\na=2\n", "feature_importances:\n",
        "parameters:\n[boosting: gbdt]\n", "pandas_categorical:null\n"}) {
    ASSERT_OK_AND_ASSIGN(const Model model, ParseTreeModel(trees + next));
    EXPECT_EQ(model.trees_size(), 3);
  }
  EXPECT_THAT(ParseTreeModel(trees),
              IsInvalidArgument("the file is not whole"));
}

// A file that ends with a tree is whole if the header has the sizes of all
// trees.
TEST(LightGbmModelTest, SizesOfTreesShowThatAFileIsWhole) {
  const std::string whole = LightGbmText();
  const size_t begin = whole.find("Tree=0");
  const size_t second = whole.find("Tree=1");
  const size_t third = whole.find("Tree=2");
  const size_t end = whole.find("end of trees");
  const std::string sizes = absl::StrCat("tree_sizes=", second - begin, " ",
                                         third - second, " ", end - third);
  const std::string text =
      Replaced(whole.substr(0, end), "tree_sizes=1 1 1", sizes);
  EXPECT_OK(ParseTreeModel(text));
  std::string with_returns;
  for (const char c : text) {
    if (c == '\n') with_returns += '\r';
    with_returns += c;
  }
  EXPECT_OK(ParseTreeModel(with_returns));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THAT(ParseTreeModel(text.substr(0, size)),
                StatusIs(kInvalidArgument))
        << size;
  }
  // One tree less than there are sizes.
  EXPECT_THAT(
      ParseTreeModel(text.substr(0, text.find("Tree=2"))),
      IsInvalidArgument("must be \"Tree=2\" or \"end of trees\", or else"));
}

TEST(LightGbmModelTest, KeepsWhatIsKnownOfColumnZero) {
  const auto first_column = [](const std::string& text) {
    const auto file = ParseTreeModelFile(text);
    EXPECT_OK(file);
    return file.ok() ? file->first_column : FirstColumn::kUnknown;
  };
  EXPECT_EQ(first_column(LightGbmText()), FirstColumn::kVaries);
  EXPECT_EQ(first_column(Replaced(LightGbmText(), "feature_infos=[0:1] ",
                                  "feature_infos=none ")),
            FirstColumn::kConstant);
  EXPECT_EQ(first_column(Replaced(LightGbmText(), "feature_infos", "x")),
            FirstColumn::kUnknown);
  EXPECT_EQ(first_column(XgboostJson()), FirstColumn::kUnknown);
}

// The largest float stands for all values beyond the floats, such as
// ±1.797e308.
TEST(LightGbmModelTest, LargestFloatIsBeyondEveryThreshold) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto scores_at = [&](double threshold) {
    return ScoresOf(
        absl::StrFormat(
            "tree\nversion=v3\nnum_class=1\nnum_tree_per_iteration=1\n"
            "max_feature_idx=0\nfeature_names=f\n\nTree=0\nnum_leaves=2\n"
            "split_feature=0\nthreshold=%.17g\ndecision_type=2\n"
            "left_child=-1\nright_child=-2\nleaf_value=1 2\n\nend of trees\n",
            threshold),
        1,
        {-kLargest, std::nextafter(-kLargest, 0.0f), 0,
         std::nextafter(kLargest, 0.0f), kLargest});
  };
  // LightGBM splits ±1.797e308 from other values at ±1e300.
  EXPECT_THAT(scores_at(1e300), ElementsAre(1, 1, 1, 1, 2));
  EXPECT_THAT(scores_at(-1e300), ElementsAre(1, 2, 2, 2, 2));
  EXPECT_THAT(scores_at(1e38), ElementsAre(1, 1, 1, 2, 2));
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
      {"version=v4\n", "",
       "byte 0: version is absent, must be v2, v3 or v4: "
       "LightGBM before 2.1"},
  };
  for (const BadModelText& bad : cases) {
    EXPECT_THAT(ParseTreeModel(Replaced(LightGbmText(), bad.from, bad.to)),
                IsInvalidArgument(bad.message))
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
  EXPECT_THAT(ParseTreeModel(text),
              IsInvalidArgument("Tree=0 threshold[8] = 0, must be "
                                "that of a smaller set"));
  text = "tree\n";
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&text, "key", i, "=\n");
  EXPECT_THAT(ParseTreeModel(text),
              IsInvalidArgument("the header has more than 1000 lines"));
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
      IsInvalidArgument("LightGBM's dump_model"));
}

using Model = model::v1::TreeEnsemble;
using ::testing::ElementsAre;

// Returns the scores of rows of two features.
std::vector<double> ScoresOf(const std::string& bytes,
                             const std::vector<float>& rows) {
  const auto model = ParseTreeModel(bytes);
  EXPECT_OK(model);
  if (!model.ok()) return {};
  const auto ensemble = TreeEnsemble::Create(*model);
  EXPECT_OK(ensemble);
  std::vector<uint32_t> documents(rows.size() / 2);
  std::iota(documents.begin(), documents.end(), 0u);
  std::vector<double> scores(documents.size());
  TreeScratch scratch;
  ensemble->Scores(Candidates::DenseUnchecked(rows, 2), documents, &scratch,
                   scores);
  return scores;
}

TEST(XgboostModelTest, ScoresAsTheFileSays) {
  // Base score 0.5 and the second tree's 0.125 beside the first tree's leaf.
  EXPECT_THAT(ScoresOf(XgboostJson(), {0, -2,      //
                                       0, -1.25f,  //
                                       0.5f, 0,    //
                                       kNan, -2,   //
                                       0, kNan}),  //
              ElementsAre(1.625, 2.625, 4.625, 1.625, 2.625));
}

TEST(XgboostModelTest, KeepsWhatDescribesTheModel) {
  ASSERT_OK_AND_ASSIGN(const Model model, ParseTreeModel(XgboostJson()));
  EXPECT_EQ(model.objective(), "rank:ndcg");
  EXPECT_EQ(model.num_features(), 2u);
  EXPECT_THAT(model.feature_names(), ElementsAre("a", "b"));
  EXPECT_EQ(model.number_format(), Model::FLOAT);
  EXPECT_EQ(model.absent_feature(), Model::MISSING);
  EXPECT_EQ(model.output_transform(), Model::IDENTITY);
  // Node 5, which pruning left behind, is gone.
  EXPECT_EQ(model.trees(0).leaf_values_size(), 3);
}

TEST(XgboostModelTest, CategoriesOfTheSetGoRight) {
  // Node 1: x1 in {0, 33} goes right, to 2; what is missing does, too.
  EXPECT_THAT(ScoresOf(XgboostCategoriesJson(),
                       {0, 0, 0, 33.5f, 0, 1, 0, 64, 0, -0.5f, 0, kNan}),
              ElementsAre(2.625, 2.625, 1.625, 1.625, 1.625, 2.625));
}

TEST(XgboostModelTest, DartWeighsTrees) {
  // 0.5 + 0.5 · 4 + 2 · 0.125.
  EXPECT_THAT(ScoresOf(XgboostDartJson(), {1, 0}), ElementsAre(2.75));
}

TEST(XgboostModelTest, BaseScoresBecomeMargins) {
  const auto base_score_of = [](const std::string& objective,
                                const std::string& base_score) {
    const auto model =
        ParseTreeModel(Replaced(Replaced(XgboostJson(), "rank:ndcg", objective),
                                "\"5E-1\"", base_score));
    EXPECT_OK(model);
    return model.ok() ? model->base_score() : kNan;
  };
  EXPECT_EQ(base_score_of("rank:pairwise", "\"-2.5E0\""), -2.5);
  // The form of version 3.1.
  EXPECT_EQ(base_score_of("rank:ndcg", "\"[7.5E-1]\""), 0.75);
  EXPECT_EQ(base_score_of("rank:ndcg", "0.75"), 0.75);
  EXPECT_EQ(base_score_of("binary:logistic", "\"5E-1\""), 0);
  // log(0.8 / 0.2).
  EXPECT_NEAR(base_score_of("binary:logistic", "\"8E-1\""), std::log(4), 1e-6);
  EXPECT_NEAR(base_score_of("binary:logitraw", "\"8E-1\""), 0.8, 1e-7);
  EXPECT_NEAR(base_score_of("count:poisson", "\"5E-1\""), std::log(0.5), 1e-6);
}

TEST(XgboostModelTest, NamesWhatIsWrong) {
  const std::string kTree = "learner.gradient_booster.model.trees[0].";
  const std::vector<BadModelText> cases = {
      {"\"split_indices\":[0,1,", "\"split_indices\":[0,2,",
       kTree + "split_indices[1] = 2, must be below 2, the number of features "
               "(array at byte "},
      {"\"split_indices\":[0,1,", "\"split_indices\":[0,0.5,",
       kTree + "split_indices[1] = 0.5, must be below 2"},
      {"[1,3,-1,-1,-1,-1]", "[1,6,-1,-1,-1,-1]",
       kTree + "left_children[1] = 6, must be a node in [1, 6)"},
      {"[1,3,-1,-1,-1,-1]", "[1,0,-1,-1,-1,-1]",
       kTree + "left_children[1] = 0, must be a node in [1, 6)"},
      // A cycle.
      {"[1,3,-1,-1,-1,-1]", "[1,1,-1,-1,-1,-1]",
       kTree + "left_children[1] = 1, must be a node that no other split leads "
               "to"},
      {"[2,4,-1,-1,-1,-1]", "[2,3,-1,-1,-1,-1]",
       kTree +
           "right_children[1] = 3, must be a node that no other split leads "
           "to"},
      {"[2,4,-1,-1,-1,-1]", "[2,4,1,-1,-1,-1]",
       kTree +
           "right_children[2] = 1, must be -1, as in left_children: a leaf"},
      {"[2,4,-1,-1,-1,-1]", "[2,4,-1,-1,-1]",
       kTree + "right_children = an array of 5 numbers, must be an array of 6 "
               "numbers, one for each node"},
      {"-1.25E0", "NaN", kTree + "split_conditions[1] = nan, must be finite"},
      {"4E0", "Infinity", kTree + "split_conditions[2] = inf, must be finite"},
      {"4E0", "1E40", "a number is beyond the range of floats"},
      {"4E0", "1E30", "the largest score is"},
      {"\"default_left\":[1,0", "\"default_left\":[1,2",
       kTree + "default_left[1] = 2, must be 0 or 1"},
      {"\"split_type\":[0,0", "\"split_type\":[0,1",
       kTree + "split_type[1] = 1, must be 0: categories_nodes does not have"},
      {"\"num_nodes\":\"6\",\n\"size_leaf_vector\":\"0\"",
       "\"size_leaf_vector\":\"3\"",
       kTree + "tree_param.size_leaf_vector = \"3\", must be an integer in [0, "
               "1]"},
      {"\"tree_info\":[0,0]", "\"tree_info\":[0,1]",
       "learner.gradient_booster.model.tree_info[1] = 1, must be 0, the only "
       "class"},
      {"\"num_class\":\"0\"", "\"num_class\":\"3\"",
       "learner.learner_model_param.num_class = \"3\", must be an integer in "
       "[0, 1] (byte "},
      {"\"num_target\":\"1\"", "\"num_target\":\"2\"", "num_target = \"2\""},
      {"\"num_feature\":\"2\",\"num_target\"",
       "\"num_feature\":\"0\",\"num_target\"",
       "learner.learner_model_param.num_feature = \"0\", must be an integer in "
       "[1, 16777216]"},
      {"rank:ndcg", "multi:softprob",
       "learner.objective.name = \"multi:softprob\", must be one of rank:ndcg, "
       "rank:pairwise"},
      {"\"name\":\"gbtree\"", "\"name\":\"gblinear\"",
       "learner.gradient_booster.name = \"gblinear\", must be gbtree or dart"},
      {"[1,7,4]", "[0,90,0]",
       "version = an array of 3 numbers, must be the "
       "version of XGBoost that saved the model"},
      {"\"version\"", "\"other\"", "version is absent"},
      {"\"learner\"", "\"trainer\"",
       "learner is absent, must be in the object "
       "at byte 0"},
      {"\"5E-1\"", "\"half\"", "base_score = \"half\", must be one number"},
      {"\"5E-1\"", "\"nan\"", "base_score = \"nan\", must be finite"},
      {"[\"a\",\"b\"]", "[\"a\"]",
       "learner.feature_names = an array of 1, must be an array of 2 names"},
      {"[\"a\",\"b\"]", "[\"a\",null]",
       "learner.feature_names[1] = null, must be a text"},
      {"\"trees\":[{", "\"trees\":[7,{", "an array has numbers and other"},
      {"[1,7,4]}", "[1,7,4]", "byte "},
  };
  for (const BadModelText& bad : cases) {
    EXPECT_THAT(ParseTreeModel(Replaced(XgboostJson(), bad.from, bad.to)),
                IsInvalidArgument(bad.message))
        << bad.from << " -> " << bad.to;
  }
}

TEST(XgboostModelTest, RefusesBadWeightsAndCategories) {
  EXPECT_THAT(
      ParseTreeModel(Replaced(XgboostDartJson(), "[0.5,2]", "[0.5]")),
      IsInvalidArgument("learner.gradient_booster.weight_drop = an array of 1 "
                        "numbers, must be an array of 2 numbers"));
  for (const auto& [from, to, message] : std::vector<BadModelText>{
           {"\"categories\":[0,33]", "\"categories\":[0,16777216]",
            "categories[1] = 16777216, must be a category in [0, 16777215]"},
           {"\"categories\":[0,33]", "\"categories\":[0,-1]",
            "categories[1] = -1, must be a category"},
           {"\"categories_sizes\":[2]", "\"categories_sizes\":[3]",
            "categories_sizes[0] = 3, must be in [0, 2]"},
           // The set of node 0 and that of node 1 overlap.
           {"\"categories_nodes\":[1],\"categories_segments\":[0],"
            "\"categories_sizes\":[2]",
            "\"categories_nodes\":[1,0],\"categories_segments\":[0,1],"
            "\"categories_sizes\":[2,1]",
            "categories_sizes[1] = 1, must be smaller: all sets have 2 "
            "categories"},
           {"\"categories_segments\":[0]", "\"categories_segments\":[5]",
            "categories_segments[0] = 5, must be in [0, 2]"},
           {"\"categories_nodes\":[1]", "\"categories_nodes\":[6]",
            "categories_nodes[0] = 6, must be a node in [0, 6)"}}) {
    EXPECT_THAT(ParseTreeModel(Replaced(XgboostCategoriesJson(), from, to)),
                IsInvalidArgument(message));
  }
}

TEST(XgboostModelTest, RefusesDumps) {
  for (const char* dump :
       {R"([{"nodeid":0,"leaf":0.5}])", R"({"nodeid":0,"leaf":0.5})"}) {
    EXPECT_THAT(ParseTreeModel(dump),
                IsInvalidArgument("dump of trees (dump_model), which has lost "
                                  "base_score"));
  }
}

}  // namespace
}  // namespace sortition
