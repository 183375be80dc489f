#include "core/scoring/tree_check.h"

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "tests/core/scoring/random_trees.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::Tree;
using Model = model::v1::TreeEnsemble;
using ::testing::HasSubstr;

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
    EXPECT_THAT(
        CheckTreeEnsemble(model),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)));
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
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("trees[0] is deeper than 500")));
  Model many = GoodModel();
  for (int i = 0; i < kMaxTrees; ++i) many.add_trees()->add_leaf_values(0);
  EXPECT_THAT(CheckTreeEnsemble(many),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("trees has 100002 trees")));
}

}  // namespace
}  // namespace sortition
