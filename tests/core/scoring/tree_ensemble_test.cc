#include "core/scoring/tree_ensemble.h"

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/scoring/tree_check.h"
#include "core/scoring/tree_layout.h"
#include "gtest/gtest.h"
#include "tests/core/scoring/random_trees.h"
#include "tests/core/scoring/tree_reference.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::Tree;

using Model = model::v1::TreeEnsemble;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<double> ScoresOf(const Model& model, const Candidates& candidates) {
  const auto ensemble = TreeEnsemble::Create(model);
  EXPECT_OK(ensemble);
  if (!ensemble.ok()) return {};
  std::vector<uint32_t> documents(candidates.num_candidates());
  std::iota(documents.begin(), documents.end(), 0u);
  std::vector<double> scores(documents.size());
  TreeScratch scratch;
  ensemble->Scores(candidates, documents, &scratch, scores);
  return scores;
}

std::vector<double> DenseScores(const Model& model,
                                const std::vector<float>& values) {
  return ScoresOf(model,
                  Candidates::DenseUnchecked(values, model.num_features()));
}

void AddSplit(uint32_t feature, double threshold, int left, int right,
              bool missing_left, Tree* tree) {
  tree->add_split_features(feature);
  tree->add_thresholds(threshold);
  tree->add_left_children(left);
  tree->add_right_children(right);
  tree->add_missing_left(missing_left);
}

// x0 < 0.5 ? (x1 < -2 ? 1 : 2) : 4, missing x0 to the right, x1 to the left.
Model SmallModel() {
  Model model;
  model.set_num_features(2);
  model.set_number_format(Model::FLOAT);
  model.set_base_score(0.5);
  Tree* tree = model.add_trees();
  AddSplit(0, 0.5, 1, -3, false, tree);
  AddSplit(1, -2, -1, -2, true, tree);
  for (const double value : {1, 2, 4}) tree->add_leaf_values(value);
  return model;
}

TEST(TreeEnsembleTest, FollowsThresholdsAndDefaults) {
  EXPECT_EQ(DenseScores(SmallModel(), {0, -3,          // 1
                                       0, -2,          // 2
                                       0.5f, -3,       // 4
                                       kNan, 0,        // 4
                                       0.25f, kNan}),  // 1
            (std::vector<double>{1.5, 2.5, 4.5, 4.5, 1.5}));
}

TEST(TreeEnsembleTest, KeepsThresholdsThatDifferOnlyAsDoubles) {
  // 0.1 as a double is below the float 0.1f, which therefore goes right; and
  // the next double above 0.1f is the threshold for which it goes left.
  for (const bool above : {false, true}) {
    Model model = SmallModel();
    model.set_number_format(Model::DOUBLE);
    model.mutable_trees(0)->set_thresholds(
        0, above ? std::nextafter(static_cast<double>(0.1f), 1) : 0.1);
    EXPECT_EQ(DenseScores(model, {0.1f, 0})[0], above ? 2.5 : 4.5);
  }
}

TEST(TreeEnsembleTest, DoubleThresholdsBelongToTheLeft) {
  Model model = SmallModel();
  model.set_number_format(Model::DOUBLE);
  EXPECT_EQ(DenseScores(model, {0.5f, -2, 0.500001f, -2}),
            (std::vector<double>{1.5, 4.5}));
}

TEST(TreeEnsembleTest, SumsInFloatInTheOrderOfTheTrees) {
  // In float 1e8 + 1 = 1e8: from the base score on, 1e8 + 1 + 1 - 1e8 = 0,
  // while another order would give 2.
  Model model;
  model.set_num_features(1);
  model.set_number_format(Model::FLOAT);
  model.set_base_score(1e8);
  for (const double value : {1.0, 1.0, -1e8}) {
    model.add_trees()->add_leaf_values(value);
  }
  EXPECT_EQ(DenseScores(model, {0}), std::vector<double>{0});
  model.set_number_format(Model::DOUBLE);
  EXPECT_EQ(DenseScores(model, {0}), std::vector<double>{2});
}

TEST(TreeEnsembleTest, SplitsByCategory) {
  Model model;
  model.set_num_features(1);
  Tree* tree = model.add_trees();
  AddSplit(0, 0, -1, -2, false, tree);
  tree->add_leaf_values(10);
  tree->add_leaf_values(20);
  auto* split = tree->add_categorical_splits();
  split->add_categories(0b1001);  // 0 and 3,
  split->add_categories(0b10);    // and 33.
  const std::vector<float> values = {0,  1,     3,  3.9f, 33,    32,
                                     64, -0.5f, -1, kNan, 1e30f, 16777216.0f};
  model.set_number_format(Model::FLOAT);
  EXPECT_EQ(
      DenseScores(model, values),
      (std::vector<double>{10, 20, 10, 10, 10, 20, 20, 20, 20, 20, 20, 20}));
  // LightGBM takes the integer part of -0.5, which is 0.
  model.set_number_format(Model::DOUBLE);
  EXPECT_EQ(
      DenseScores(model, values),
      (std::vector<double>{10, 20, 10, 10, 10, 20, 20, 10, 20, 20, 20, 20}));
}

TEST(TreeEnsembleTest, ZeroCanBeMissing) {
  Model model = SmallModel();
  model.set_number_format(Model::DOUBLE);
  model.mutable_trees(0)->add_zero_is_missing(true);
  model.mutable_trees(0)->add_zero_is_missing(false);
  // 1e-35f is the largest zero; it would go left otherwise.
  EXPECT_EQ(DenseScores(model, {0, 0, 1e-35f, 0, -0.0f, 0, 2e-35f, 0, kNan, 0}),
            (std::vector<double>{4.5, 4.5, 4.5, 2.5, 4.5}));
}

TEST(TreeEnsembleTest, AbsentFeaturesAreMissingOrZero) {
  Model model = SmallModel();
  const std::vector<uint32_t> offsets = {0, 1, 2, 2};
  const std::vector<uint32_t> columns = {0, 1};
  const std::vector<float> values = {0.25f, -3};
  const Candidates sparse =
      Candidates::SparseUnchecked(offsets, columns, values, 2);
  model.set_absent_feature(Model::MISSING);
  EXPECT_EQ(ScoresOf(model, sparse), (std::vector<double>{1.5, 4.5, 4.5}));
  model.set_absent_feature(Model::ZERO);
  EXPECT_EQ(ScoresOf(model, sparse), (std::vector<double>{2.5, 1.5, 2.5}));
}

// Rows of texts: few entries, of which trees know some, among many features.
TEST(TreeEnsembleTest, FewEntriesAmongManyFeaturesAreFound) {
  constexpr uint32_t kFeatures = 500;
  constexpr uint32_t kRows = 40;
  RandomSequence random(SeedKey(4));
  Model model = RandomTrees(
      {.num_features = kFeatures, .num_trees = 60, .num_splits = 30}, &random);
  model.set_absent_feature(Model::ZERO);
  std::vector<float> dense(kRows * kFeatures);
  std::vector<uint32_t> offsets = {0};
  std::vector<uint32_t> columns;
  std::vector<float> values;
  for (uint32_t row = 0; row < kRows; ++row) {
    // 0 to 12 entries; the first and the last feature among them.
    for (uint32_t j = 0; j < kFeatures; ++j) {
      const bool is_end = row % 3 == 0 && (j == 0 || j + 1 == kFeatures);
      if (!is_end && random.Uniform() > 0.01 * (row % 4)) continue;
      columns.push_back(j);
      values.push_back(static_cast<float>(random.Normal()));
      dense[row * kFeatures + j] = values.back();
    }
    offsets.push_back(static_cast<uint32_t>(columns.size()));
  }
  EXPECT_EQ(ScoresOf(model, Candidates::SparseUnchecked(offsets, columns,
                                                        values, kFeatures)),
            DenseScores(model, dense));
}

TEST(TreeEnsembleTest, ScoresTheDocumentsThatAreNamed) {
  const std::vector<float> values = {0, -3, 0, 0, 1, 0};
  ASSERT_OK_AND_ASSIGN(const TreeEnsemble ensemble,
                       TreeEnsemble::Create(SmallModel()));
  const std::vector<uint32_t> documents = {2, 0};
  std::vector<double> scores(2);
  TreeScratch scratch;
  ensemble.Scores(Candidates::DenseUnchecked(values, 2), documents, &scratch,
                  scores);
  EXPECT_EQ(scores, (std::vector<double>{4.5, 1.5}));
}

// Random ensembles of all kinds, dense, with and without missing features, for
// numbers of rows around those of a group and of a block.
struct Kind {
  bool is_float = false;
  bool has_categories = false;
  bool has_missing_zeros = false;
  int num_splits = 20;
};

class RandomTreesTest : public testing::TestWithParam<Kind> {};

TEST_P(RandomTreesTest, EqualTheSlowEvaluationBitForBit) {
  const Kind kind = GetParam();
  RandomSequence random(SeedKey(1));
  for (const size_t num_rows : {1, 15, 16, 17, 33, 1000}) {
    RandomTreesOptions options;
    options.format = kind.is_float ? Model::FLOAT : Model::DOUBLE;
    options.has_categories = kind.has_categories;
    options.has_missing_zeros = kind.has_missing_zeros;
    options.num_splits = kind.num_splits;
    options.num_features = 1 + static_cast<uint32_t>(random.Below(20));
    const Model model = RandomTrees(options, &random);
    for (const bool with_missing : {false, true}) {
      const std::vector<float> values = RandomFeatures(
          num_rows * options.num_features, with_missing, &random);
      const std::vector<double> scores = DenseScores(model, values);
      ASSERT_EQ(scores.size(), num_rows);
      for (size_t i = 0; i < num_rows; ++i) {
        const std::span<const float> row(
            values.data() + i * options.num_features, options.num_features);
        EXPECT_EQ(std::bit_cast<uint64_t>(scores[i]),
                  std::bit_cast<uint64_t>(ReferenceScore(model, row)))
            << "row " << i << " of " << num_rows;
      }
    }
  }
}

TEST_P(RandomTreesTest, SparseRowsEqualDenseOnes) {
  const Kind kind = GetParam();
  RandomSequence random(SeedKey(2));
  RandomTreesOptions options;
  options.format = kind.is_float ? Model::FLOAT : Model::DOUBLE;
  options.has_categories = kind.has_categories;
  options.has_missing_zeros = kind.has_missing_zeros;
  options.num_features = 40;  // Some of them are used by no split.
  options.num_trees = 2;
  Model model = RandomTrees(options, &random);
  for (const bool is_zero : {false, true}) {
    model.set_absent_feature(is_zero ? Model::ZERO : Model::MISSING);
    std::vector<float> dense;
    std::vector<uint32_t> offsets = {0};
    std::vector<uint32_t> columns;
    std::vector<float> values;
    for (int i = 0; i < 50; ++i) {
      for (uint32_t j = 0; j < options.num_features; ++j) {
        const bool is_absent = random.Uniform() < 0.7;
        dense.push_back(is_absent ? (is_zero ? 0 : kNan)
                                  : RandomFeature(false, &random));
        if (is_absent) continue;
        columns.push_back(j);
        values.push_back(dense.back());
      }
      offsets.push_back(static_cast<uint32_t>(columns.size()));
    }
    EXPECT_EQ(
        ScoresOf(model, Candidates::SparseUnchecked(offsets, columns, values,
                                                    options.num_features)),
        DenseScores(model, dense));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, RandomTreesTest,
    testing::Values(Kind{.is_float = true}, Kind{.is_float = false},
                    Kind{.is_float = true, .has_categories = true},
                    Kind{.has_categories = true, .has_missing_zeros = true},
                    // Deep: splits of random leaves make paths of about 40.
                    Kind{.is_float = true, .num_splits = 3000},
                    Kind{.is_float = false, .num_splits = 3000}));

// A tree in which every left child is a leaf.
Model ChainOfCategories(int num_splits) {
  Model model;
  model.set_num_features(1);
  model.set_number_format(Model::FLOAT);
  Tree* tree = model.add_trees();
  for (int i = 0; i < num_splits; ++i) {
    AddSplit(0, i, -1 - i, i + 1 < num_splits ? i + 1 : -1 - num_splits, false,
             tree);
  }
  for (int i = 0; i <= num_splits; ++i) tree->add_leaf_values(i);
  return model;
}

TEST(TreeEnsembleTest, ComesToTheEndOfALongChain) {
  // x in [i - 1, i) comes to leaf i; so the score is floor(x) + 1.
  const Model model = ChainOfCategories(100);
  std::vector<float> values;
  for (int i = 0; i < 99; ++i) values.push_back(static_cast<float>(i) + 0.5f);
  const std::vector<double> scores = DenseScores(model, values);
  for (int i = 0; i < 99; ++i) EXPECT_EQ(scores[static_cast<size_t>(i)], i + 1);
}

// The same bits on every machine and in every release: these were computed when
// the evaluation was written, and equal ReferenceScore().
TEST(TreeEnsembleTest, BitsNeverChange) {
  RandomSequence random(SeedKey(3));
  for (const bool is_float : {true, false}) {
    RandomTreesOptions options;
    options.format = is_float ? Model::FLOAT : Model::DOUBLE;
    options.num_trees = 30;
    const Model model = RandomTrees(options, &random);
    const std::vector<float> row = RandomFeatures(7, false, &random);
    EXPECT_EQ(std::bit_cast<uint64_t>(DenseScores(model, row)[0]),
              is_float ? 4614425000676425728u : 4612546034589577401u);
  }
}

using Model = model::v1::TreeEnsemble;

// Two trees: one leaf; x0 < 0.5 ? (x1 < 2 ? . : .) : ., with a split by
// category at node 1.
Model GoodModel() {
  Model model;
  model.set_num_features(2);
  model.set_number_format(Model::FLOAT);
  model.add_trees()->add_leaf_values(1);
  Tree* tree = model.add_trees();
  for (const uint32_t feature : {0, 1}) tree->add_split_features(feature);
  for (const double threshold : {0.5, 2.0}) tree->add_thresholds(threshold);
  for (const int child : {1, -1}) tree->add_left_children(child);
  for (const int child : {-3, -2}) tree->add_right_children(child);
  for (const bool left : {true, false}) tree->add_missing_left(left);
  for (const double value : {1, 2, 4}) tree->add_leaf_values(value);
  auto* split = tree->add_categorical_splits();
  split->set_node(1);
  split->add_categories(5);
  return model;
}

TEST(TreeCheckTest, TakesWhatIsGood) {
  EXPECT_OK(CheckTreeEnsemble(GoodModel()));
  RandomSequence random(SeedKey(1));
  for (int i = 0; i < 50; ++i) {
    RandomTreesOptions options{.has_categories = true,
                               .has_missing_zeros = true};
    EXPECT_OK(CheckTreeEnsemble(RandomTrees(options, &random)));
  }
}

struct BadCase {
  std::string message;
  std::function<void(Model*)> damage;
};

// A change of tree 1.
std::function<void(Model*)> InTree(const std::function<void(Tree*)>& change) {
  return [change](Model* model) { change(model->mutable_trees(1)); };
}

TEST(TreeCheckTest, NamesWhatIsWrong) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<BadCase> cases = {
      {"num_features is 0, must be in [1, 16777216]",
       [](Model* m) { m->set_num_features(0); }},
      {"num_features is 16777217, must be",
       [](Model* m) { m->set_num_features((1u << 24) + 1); }},
      {"number_format is 0, must be FLOAT (1) or DOUBLE (2)",
       [](Model* m) { m->clear_number_format(); }},
      {"absent_feature is 7, must be",
       [](Model* m) {
         m->set_absent_feature(static_cast<Model::AbsentFeature>(7));
       }},
      {"output_transform is 9, must be",
       [](Model* m) {
         m->set_output_transform(static_cast<Model::OutputTransform>(9));
       }},
      {"sigmoid_slope is -1, must be finite",
       [](Model* m) { m->set_sigmoid_slope(-1); }},
      {"base_score is nan, must be finite",
       [](Model* m) {
         m->set_base_score(std::numeric_limits<double>::quiet_NaN());
       }},
      {"base_score is 0.10000000000000001, must be a float",
       [](Model* m) { m->set_base_score(0.1); }},
      {"feature_names has 1 values, must have 2",
       [](Model* m) { m->add_feature_names("a"); }},
      {"trees has 0 trees, must have 1 to 100000",
       [](Model* m) { m->clear_trees(); }},
      {"the largest score is 2e+30, must be at most 1e+30",
       [](Model* m) {
         m->set_number_format(Model::DOUBLE);
         m->mutable_trees(0)->set_leaf_values(0, -2e30);
       }},
      {"trees[1].split_features[1] is 2, must be below num_features = 2",
       InTree([](Tree* t) { t->set_split_features(1, 2); })},
      {"trees[1].thresholds[0] is inf, must be finite",
       InTree([&](Tree* t) { t->set_thresholds(0, kInfinity); })},
      {"trees[1].thresholds has 1 values, must have 2",
       InTree([](Tree* t) { t->mutable_thresholds()->RemoveLast(); })},
      {"trees[1].left_children has 3 values, must have 2",
       InTree([](Tree* t) { t->add_left_children(-1); })},
      {"trees[1].missing_left has 0 values, must have 2",
       InTree([](Tree* t) { t->clear_missing_left(); })},
      {"trees[1].zero_is_missing has 1 values, must have 2",
       InTree([](Tree* t) { t->add_zero_is_missing(true); })},
      {"trees[1].leaf_values has 4 values, must have 3",
       InTree([](Tree* t) { t->add_leaf_values(1); })},
      {"trees[1].leaf_values[2] is -inf, must be finite",
       InTree([&](Tree* t) { t->set_leaf_values(2, -kInfinity); })},
      {"trees[1].left_children[0] is 2, must be in [1, 1], an inner node, or "
       "in [-3, -1], a leaf",
       InTree([](Tree* t) { t->set_left_children(0, 2); })},
      {"trees[1].right_children[1] is -4, must be in",
       InTree([](Tree* t) { t->set_right_children(1, -4); })},
      {"trees[1].right_children[1] is 0, must be in",
       InTree([](Tree* t) { t->set_right_children(1, 0); })},
      {"trees[1].right_children[0] is 1, must be a node that has no other "
       "parent",
       InTree([](Tree* t) { t->set_right_children(0, 1); })},
      {"trees[1].right_children[1] is -1, must be a node that has no other "
       "parent",
       InTree([](Tree* t) { t->set_right_children(1, -1); })},
      // Node 1 becomes its own child.
      {"trees[1] has 2 inner nodes, of which its root reaches 1; it must reach "
       "all of them",
       InTree([](Tree* t) {
         t->set_left_children(0, -1);
         t->set_left_children(1, 1);
       })},
      {"trees[1].categorical_splits[0].node is 2, must be above -1 and below 2",
       InTree([](Tree* t) { t->mutable_categorical_splits(0)->set_node(2); })},
      {"trees[1].categorical_splits[1].node is 1, must be above 1 and below 2",
       InTree([](Tree* t) { t->add_categorical_splits()->set_node(1); })},
      {"trees[1].zero_is_missing[1] is true, must be false for a split by "
       "category",
       InTree([](Tree* t) {
         t->add_zero_is_missing(false);
         t->add_zero_is_missing(true);
       })},
      {"trees[1].categorical_splits[0].categories is 524289, must be at most "
       "524288 words",
       InTree([](Tree* t) {
         t->mutable_categorical_splits(0)->mutable_categories()->Resize(
             (1 << 19) + 1, 0);
       })},
  };
  for (const BadCase& bad : cases) {
    Model model = GoodModel();
    bad.damage(&model);
    EXPECT_THAT(CheckTreeEnsemble(model), IsInvalidArgument(bad.message));
  }
}

// A chain of splits, each the right child of the one before.
Model DeepModel(int num_splits) {
  Model model;
  model.set_num_features(1);
  model.set_number_format(Model::DOUBLE);
  Tree* tree = model.add_trees();
  for (int i = 0; i < num_splits; ++i) {
    tree->add_split_features(0);
    tree->add_thresholds(i);
    tree->add_left_children(-1 - i);
    tree->add_right_children(i + 1 < num_splits ? i + 1 : -1 - num_splits);
    tree->add_missing_left(false);
  }
  tree->mutable_leaf_values()->Resize(num_splits + 1, 0);
  return model;
}

TEST(TreeCheckTest, LimitsDepthAndSize) {
  EXPECT_OK(CheckTreeEnsemble(DeepModel(500)));
  EXPECT_THAT(CheckTreeEnsemble(DeepModel(501)),
              IsInvalidArgument("trees[0] is deeper than 500"));
  Model many = GoodModel();
  for (int i = 0; i < kMaxTrees; ++i) many.add_trees()->add_leaf_values(0);
  EXPECT_THAT(CheckTreeEnsemble(many),
              IsInvalidArgument("trees has 100002 trees"));
}

constexpr float kLargest = std::numeric_limits<float>::max();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LeastFloatAboveTest, SeparatesTheFloatsBesideADouble) {
  // The double 0.1 lies below the float 0.1f, so 0.1f does not go left.
  ASSERT_LT(0.1, static_cast<double>(0.1f));
  EXPECT_EQ(LeastFloatAbove(0.1), 0.1f);
  // A float itself goes left.
  EXPECT_EQ(LeastFloatAbove(0.1f), std::nextafter(0.1f, kInfinity));
  EXPECT_EQ(LeastFloatAbove(-1), std::nextafter(-1.0f, kInfinity));
  // Halfway between two floats, which rounds down or up to even.
  const float one_up = std::nextafter(1.0f, 2.0f);
  const float two_up = std::nextafter(one_up, 2.0f);
  EXPECT_EQ(LeastFloatAbove((1.0 + one_up) / 2), one_up);
  EXPECT_EQ(LeastFloatAbove((static_cast<double>(one_up) + two_up) / 2),
            two_up);
}

TEST(LeastFloatAboveTest, CoversWhatIsBeyondFloats) {
  EXPECT_EQ(LeastFloatAbove(1e300), kInfinity);
  EXPECT_EQ(LeastFloatAbove(kLargest), kInfinity);
  EXPECT_EQ(LeastFloatAbove(-1e300), -kLargest);
  EXPECT_EQ(LeastFloatAbove(-kLargest), std::nextafter(-kLargest, 0.0f));
  EXPECT_EQ(LeastFloatAbove(1e-300), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(LeastFloatAbove(-1e-300), 0.0f);
  EXPECT_EQ(LeastFloatAbove(0), std::numeric_limits<float>::denorm_min());
}

}  // namespace
}  // namespace sortition
