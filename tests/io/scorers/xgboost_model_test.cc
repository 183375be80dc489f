#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "core/scoring/tree_ensemble.h"
#include "io/scorers/tree_models.h"
#include "tests/io/scorers/tree_model_texts.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using Model = model::v1::TreeEnsemble;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
    EXPECT_THAT(
        ParseTreeModel(Replaced(XgboostJson(), bad.from, bad.to)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(bad.message)))
        << bad.from << " -> " << bad.to;
  }
}

TEST(XgboostModelTest, RefusesBadWeightsAndCategories) {
  EXPECT_THAT(
      ParseTreeModel(Replaced(XgboostDartJson(), "[0.5,2]", "[0.5]")),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("learner.gradient_booster.weight_drop = an array of 1 "
                         "numbers, must be an array of 2 numbers")));
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
    EXPECT_THAT(
        ParseTreeModel(Replaced(XgboostCategoriesJson(), from, to)),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  }
}

TEST(XgboostModelTest, RefusesDumps) {
  for (const char* dump :
       {R"([{"nodeid":0,"leaf":0.5}])", R"({"nodeid":0,"leaf":0.5})"}) {
    EXPECT_THAT(ParseTreeModel(dump),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("dump of trees (dump_model), which has lost "
                                   "base_score")));
  }
}

}  // namespace
}  // namespace sortition
