// Trees of other tools, trained from sparse text or from text whose features
// start at 1.
#include <algorithm>
#include <cmath>
#include <functional>

#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/scoring/model_features.h"
#include "io/datasets/letor.h"
#include "io/datasets/query_candidates.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/describe.h"
#include "trainer/labelled/query_scorer.h"
#include "trainer/report.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using config::v1::TrainReport;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint32_t kFeatures = 4;

// A model that LightGBM's text reader trained from features 1 to 4: column 0 is
// empty. It scores 1 where feature 2 is above 0, else -1.
constexpr char kLightGbm[] = R"(tree
version=v3
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=4
objective=binary sigmoid:1
feature_names=Column_0 Column_1 Column_2 Column_3 Column_4
feature_infos=none [-1:1] [-1:1] [-1:1] [-1:1]

Tree=0
num_leaves=2
num_cat=0
split_feature=2
threshold=0
decision_type=2
left_child=-1
right_child=-2
leaf_value=-1 1
shrinkage=1


end of trees
)";

// A model that XGBoost's text reader trained from features 1 to 4. It scores
// 0.5 + 0.25 where feature 2 is at least 0.125 or missing, else 0.5 - 0.25.
constexpr char kXgboost[] = R"({"learner":{"attributes":{},"feature_names":[],
"feature_types":[],"gradient_booster":{"model":{
"gbtree_model_param":{"num_parallel_tree":"1","num_trees":"1"},
"tree_info":[0],
"trees":[{"categories":[],"categories_nodes":[],"categories_segments":[],
"categories_sizes":[],"default_left":[0,0,0],"id":0,
"left_children":[1,-1,-1],"right_children":[2,-1,-1],
"split_conditions":[1.25E-1,-2.5E-1,2.5E-1],
"split_indices":[2,0,0],"split_type":[0,0,0],
"tree_param":{"num_nodes":"3","size_leaf_vector":"0"}}]},
"name":"gbtree"},
"learner_model_param":{"base_score":"5E-1","num_class":"0",
"num_feature":"5","num_target":"1"},
"objective":{"name":"rank:ndcg"}},"version":[1,7,4]})";

// A line of the label file.
struct Row {
  std::vector<float> values = std::vector<float>(kFeatures);  // NaN: absent.
};

class ForeignTreesTest : public testing::Test {
 protected:
  void SetUp() override {
    options_.set_learner("ranksvm");
    options_.set_model_store(dir_.Sub("models"));
    options_.add_data(dir_ / "data.letor");
    options_.set_force(true);
    // Of 600 values a third is absent. The last feature of a line is stated.
    RandomSequence random(SeedKey(5));
    for (int i = 0; i < 600; ++i) {
      Row& row = rows_.emplace_back();
      for (uint32_t j = 0; j < kFeatures; ++j) {
        const auto value = static_cast<float>(2 * random.Uniform() - 1);
        const bool is_absent = j + 1 < kFeatures && random.Uniform() < 0.4;
        row.values[j] = is_absent ? NAN : value;
      }
    }
  }

  // Writes the rows, ten a query, with labels by feature 2.
  void WriteData(const std::function<bool(float)>& is_relevant) {
    std::string text;
    for (size_t i = 0; i < rows_.size(); ++i) {
      absl::StrAppend(&text, is_relevant(rows_[i].values[1]) ? 1 : 0, " qid:q",
                      i / 10);
      for (uint32_t j = 0; j < kFeatures; ++j) {
        const float value = rows_[i].values[j];
        if (!std::isnan(value)) {
          absl::StrAppendFormat(&text, " %d:%.9g", j + 1, value);
        }
      }
      text += "\n";
    }
    ASSERT_OK(WriteFile(options_.data(0), text));
  }

  void UseTrees(const std::string& text) {
    options_.set_trees(dir_ / "trees.model");
    ASSERT_OK(WriteFile(options_.trees(), text));
  }

  // Writes a score for each row.
  void UseScores(const std::function<double(const Row&)>& score,
                 const char* format = "%.9g") {
    std::string text;
    for (const Row& row : rows_) {
      absl::StrAppendFormat(&text, *absl::ParsedFormat<'g'>::New(format),
                            score(row));
      text += "\n";
    }
    options_.set_check_scores(dir_ / "scores.txt");
    ASSERT_OK(WriteFile(options_.check_scores(), text));
  }

  StoredModel Stored(uint64_t version) {
    return ModelStore(options_.model_store()).Load("default", version).value();
  }

  TempDir dir_;
  TrainOptions options_;
  std::vector<Row> rows_;
};

double LightGbmScore(const Row& row) {
  const float x = row.values[1];
  return !std::isnan(x) && x > 0 ? 1 : -1;
}
double XgboostScore(const Row& row) {
  const float x = row.values[1];
  return std::isnan(x) || x >= 0.125f ? 0.75 : 0.25;
}

bool IsAboveZero(float x) { return x > 0; }
bool IsAbsentOrLarge(float x) { return std::isnan(x) || x >= 0.125f; }

TEST_F(ForeignTreesTest, ColumnZeroOfTextFilesIsLeftOut) {
  WriteData(IsAboveZero);
  UseTrees(kLightGbm);
  UseScores(LightGbmScore);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_THAT(
      FormatReport(report),
      AllOf(
          HasSubstr("trees_first_column   column 1 of " + options_.trees() +
                    " is the first feature of the data: the model has 5 "
                    "columns for 4 features, and never splits on column 0"),
          HasSubstr("trees_absent         a feature that a line or a sparse "
                    "row does not state is 0 for the trees: the model is of "
                    "LightGBM"),
          HasSubstr("check_scores         the trees' scores of all 600 lines"),
          HasSubstr("first_feature        features of the label files are "
                    "numbered from 1"),
          Not(HasSubstr("Warning"))));
  const model::v1::Model model = Stored(1).model;
  EXPECT_EQ(model.num_features(), kFeatures);
  EXPECT_EQ(model.trees().skipped_columns(), 1u);
  EXPECT_EQ(model.trees().trees(0).split_features(0), 1u);
  ASSERT_OK_AND_ASSIGN(const std::string described, DescribeModel(model, 5));
  EXPECT_THAT(
      described,
      AllOf(HasSubstr("imported without column 0 of the model file"),
            HasSubstr("a feature that a sparse row does not have is 0")));
}

// Taken as it is, the model splits on feature 3, which says nothing.
TEST_F(ForeignTreesTest, TreesThatAreNoBetterThanChanceAreAWarning) {
  WriteData(IsAboveZero);
  UseTrees(kLightGbm);
  options_.set_trees_first_column(0);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_THAT(FormatReport(report),
              AllOf(HasSubstr("column 0 of " + options_.trees() +
                              " is the first feature of the data: as "
                              "trees_first_column says"),
                    HasSubstr("Warning: the imported trees alone order")));
}

TEST_F(ForeignTreesTest, ColumnsThatCannotBeKnownAreRefused) {
  WriteData(IsAboveZero);
  std::string wide = kLightGbm;
  wide.replace(wide.find("max_feature_idx=4"), 17, "max_feature_idx=5");
  wide.replace(wide.find("Column_4"), 8, "Column_4 Column_5");
  UseTrees(wide);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("trees_first_column must be set: the model of "
                                "trees has 6 columns and never splits on "
                                "column 0, the data has 4 features"));
  options_.set_trees_first_column(1);
  UseScores(LightGbmScore);
  EXPECT_OK(Train(options_));
  // The options are for a model file.
  options_.set_trees("none");
  options_.clear_check_scores();
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("trees_first_column is set, must be unset "
                                "unless trees names a model file"));
  options_.clear_trees_first_column();
  options_.set_check_scores("x");
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("check_scores is set, must be unset unless the "
                                "model has trees"));
}

TEST_F(ForeignTreesTest, AbsentFeaturesAreMissingToXgboost) {
  WriteData(IsAbsentOrLarge);
  UseTrees(kXgboost);
  UseScores(XgboostScore);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_THAT(
      FormatReport(report),
      AllOf(HasSubstr("does not state is a missing value for the trees: "
                      "the model is of XGBoost"),
            Not(HasSubstr("Warning"))));
  EXPECT_EQ(Stored(1).model.trees().absent_feature(),
            model::v1::TreeEnsemble::MISSING);
  // The trees order every query perfectly.
  EXPECT_GT(report.labelled().measure_by_score(), 0.999);
  options_.set_trees_absent(TrainOptions::ZERO);
  options_.clear_check_scores();
  ASSERT_OK(Train(options_));
  EXPECT_EQ(Stored(2).model.trees().absent_feature(),
            model::v1::TreeEnsemble::ZERO);
}

// A request made of the lines has the scores that training and `evaluate` saw,
// bit for bit.
TEST_F(ForeignTreesTest, RequestsOfTheLinesHaveTheSameScores) {
  WriteData(IsAbsentOrLarge);
  UseTrees(kXgboost);
  ASSERT_OK(Train(options_));
  const model::v1::Model model = Stored(1).model;
  ASSERT_OK_AND_ASSIGN(const ModelFeatures features,
                       ModelFeatures::Create(model));
  ASSERT_OK_AND_ASSIGN(const ModelScorer offline,
                       LoadModelScorer(options_.model_store(), "default", 0));
  ASSERT_OK_AND_ASSIGN(const LabelledQueries data, ReadLetor(options_.data(0)));
  const std::vector<double> weights(model.weights().begin(),
                                    model.weights().end());
  std::vector<uint32_t> documents(10);
  for (uint32_t i = 0; i < 10; ++i) documents[i] = i;
  ModelFeatureScratch scratch;
  size_t row = 0;
  for (const LabelledQuery& query : data.queries) {
    v1::Candidates sent;
    SetQueryCandidates(query, data.num_features, &sent);
    ASSERT_TRUE(sent.has_sparse());
    const std::vector<uint32_t> offsets(sent.sparse().row_offsets().begin(),
                                        sent.sparse().row_offsets().end());
    const std::vector<uint32_t> columns(sent.sparse().columns().begin(),
                                        sent.sparse().columns().end());
    const std::vector<float> values(sent.sparse().values().begin(),
                                    sent.sparse().values().end());
    ASSERT_OK_AND_ASSIGN(
        const Candidates candidates,
        Candidates::Sparse(offsets, columns, values, sent.num_features()));
    ASSERT_OK_AND_ASSIGN(
        const Candidates made,
        features.Compute({candidates, nullptr}, documents, &scratch));
    ASSERT_OK_AND_ASSIGN(const std::vector<double> scores,
                         offline.scorer->Scores(query, data.num_features));
    for (uint32_t i = 0; i < 10; ++i) {
      EXPECT_EQ(made.Score(i, weights), scores[i]);
      // The last value of a row is that of the trees.
      EXPECT_EQ(made.values()[made.row_offsets()[i + 1] - 1],
                static_cast<float>(XgboostScore(rows_[row++])));
    }
  }
}

struct CauseCase {
  const char* name;
  std::function<double(const Row&)> score;
  const char* sentence;
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST_F(ForeignTreesTest, ScoresThatDifferNameTheCause) {
  WriteData(IsAboveZero);
  UseTrees(kLightGbm);
  const auto shifted = [](const Row& row) {
    return row.values[2] > 0 ? 1.0 : -1.0;
  };
  const CauseCase cases[] = {
      {"shift", shifted, "give trees_first_column = 0"},
      {"offset", [](const Row& row) { return LightGbmScore(row) + 0.5; },
       "the other scores are larger by 0.5 throughout: they have another base "
       "score"},
      {"sigmoid", [](const Row& row) { return Sigmoid(LightGbmScore(row)); },
       "the other scores are probabilities, the sigmoid of the raw scores"},
      {"exponential",
       [](const Row& row) { return std::exp(LightGbmScore(row)); },
       "the other scores are the exponential of the raw scores"},
      {"rounding", [](const Row& row) { return LightGbmScore(row) * 1.00001; },
       "print at least 9 digits"},
      {"another model", [](const Row& row) { return 7 * row.values[3]; },
       "No usual cause explains them"},
  };
  for (const CauseCase& test : cases) {
    SCOPED_TRACE(test.name);
    UseScores(test.score);
    EXPECT_THAT(Train(options_), IsInvalidArgument(test.sentence));
  }
  // The same lines in another order.
  std::reverse(rows_.begin(), rows_.end());
  UseScores(LightGbmScore);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("the file has the same scores in another "
                                "order"));
}

TEST_F(ForeignTreesTest, AbsentFeaturesAreACauseOfOtherScores) {
  WriteData(IsAbsentOrLarge);
  UseTrees(kXgboost);
  options_.set_trees_absent(TrainOptions::ZERO);
  UseScores(XgboostScore);
  EXPECT_THAT(Train(options_),
              AllOf(IsInvalidArgument("has score 0.25 by the imported trees "
                                      "and 0.75 in " +
                                      options_.check_scores()),
                    IsInvalidArgument("Most likely cause, which explains all "
                                      "scores: give trees_absent = MISSING")));
}

// Early stopping: the library scores with its best iteration alone.
TEST_F(ForeignTreesTest, FewerTreesAreACauseOfOtherScores) {
  WriteData(IsAboveZero);
  std::string text = kLightGbm;
  const size_t begin = text.find("Tree=0");
  const size_t end = text.find("end of trees");
  std::string second = text.substr(begin, end - begin);
  second.replace(second.find("Tree=0"), 6, "Tree=1");
  second.replace(second.find("-1 1\n", second.find("leaf_value")), 4, "0.5 2");
  text.insert(end, second);
  UseTrees(text);
  UseScores(LightGbmScore);
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("used the first 1 of 2 trees, as after early "
                                "stopping"));
}

TEST_F(ForeignTreesTest, ScoresMayBePrintedWithSixDigits) {
  WriteData(IsAboveZero);
  std::string text = kLightGbm;
  text.replace(text.find("leaf_value=-1 1"), 15, "leaf_value=-1 1.2345678");
  UseTrees(text);
  const auto score = [](const Row& row) {
    return LightGbmScore(row) > 0 ? 1.2345678 : -1.0;
  };
  UseScores(score, "%.6g");
  EXPECT_OK(Train(options_));
  UseScores(score, "%.5g");
  EXPECT_THAT(Train(options_), IsInvalidArgument("print at least 9 digits"));
}

TEST_F(ForeignTreesTest, ScoresMustBeOnePerLine) {
  WriteData(IsAboveZero);
  UseTrees(kLightGbm);
  options_.set_check_scores(dir_ / "scores.txt");
  ASSERT_OK(WriteFile(options_.check_scores(), "1\n2\n"));
  EXPECT_THAT(Train(options_),
              IsInvalidArgument("check_scores: " + options_.check_scores() +
                                ": has 2 scores, must have one for each"));
}

// Options of label files reach `train`, and its report says what they did.
TEST_F(ForeignTreesTest, ReportSaysWhatWasAssumedOfLabelFiles) {
  std::string text;
  for (int i = 0; i < 400; ++i) {
    absl::StrAppend(&text, i % 2, " 0:", i % 2 == 0 ? 0.5 : 1,
                    " 2:", i == 7 ? "1.797e308" : "1", "\n");
  }
  std::string sizes;
  for (int i = 0; i < 40; ++i) sizes += "10\n";
  ASSERT_OK(WriteFile(options_.data(0), text));
  ASSERT_OK(WriteFile(options_.data(0) + ".query", sizes));
  EXPECT_THAT(Train(options_), IsInvalidArgument("first_feature = 0"));
  options_.mutable_label_files()->set_first_feature(0);
  EXPECT_THAT(Train(options_), IsInvalidArgument("extreme_values = MISSING"));
  options_.mutable_label_files()->set_extreme_values(
      config::v1::LabelFileOptions::MISSING);
  ASSERT_OK_AND_ASSIGN(const TrainReport report, Train(options_));
  EXPECT_EQ(report.labelled().num_features(), 3u);
  EXPECT_THAT(
      FormatReport(report),
      AllOf(HasSubstr("features of the label files are numbered from 0"),
            // Feature 1 of all lines, and feature 2 of line 7: 401 of 1200.
            HasSubstr("33.4 % of the values are not stated by their lines"),
            HasSubstr("1 value of the label files is no finite float and was "
                      "read as missing"),
            HasSubstr("lines without qid are grouped: " + options_.data(0) +
                      " by " + options_.data(0) + ".query")));
  options_.add_groups(dir_ / "a,b");
  EXPECT_THAT(Train(options_), IsInvalidArgument("groups names 2 files, must "
                                                 "name 1, one for each label "
                                                 "file"));
}

}  // namespace
}  // namespace sortition
