#include "trainer/labelled/evaluate_orders.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "process/command.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"
#include "trainer/labelled/order_report.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

// Query a has relevances 1, 0, 2, with query b between its lines; nothing in b
// is relevant. The first feature orders a as 0, 2, 1; the second is its
// negative.
constexpr char kData[] =
    "1 qid:a 1:2 2:-2\n"
    "0 qid:b 1:1 2:-1\n"
    "0 qid:a 1:3 2:-3\n"
    "2 qid:a 1:2.5 2:-2.5\n"
    "0 qid:b 1:2 2:-2\n";

class EvaluateOrdersTest : public ::testing::Test {
 protected:
  void SetUp() override { options_.add_data(Write("data.letor", kData)); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = dir_.path() + "/" + name;
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  void UseScores(const std::string& scores) {
    options_.set_scores(Write("scores", scores));
  }

  // Returns the metrics by name; NaN if no query defines the metric.
  std::map<std::string, double> Metrics(const std::string& names) {
    options_.clear_metrics();
    options_.add_metrics(names);
    const auto report = EvaluateOrders(options_);
    EXPECT_OK(report);
    std::map<std::string, double> values;
    if (!report.ok()) return values;
    for (const EvaluateReport::Metric& metric : report->metrics()) {
      values[metric.name()] = metric.has_value() ? metric.value() : NAN;
    }
    return values;
  }

  TempDir dir_;
  EvaluateOptions options_;
};

// Scores are given by line: a has relevances 2, 0, 1 by rank; b counts 0 for
// LETOR metrics and is left out of metrics that are not defined without
// relevance.
TEST_F(EvaluateOrdersTest, MetricsAreThoseOfTheirSources) {
  UseScores("1\n0\n2\n3\n5\n");  // a: 1, 2, 3 in the order of its lines.
  const double b = 1 / std::log2(3.0);
  auto metrics = Metrics(
      "ndcg_letor@2,ndcg_letor@3,mean_ndcg,map,precision@1,ndcg_exponential,"
      "ndcg_linear,ndcg_linear@2,ndcg_top@2,kendall,pairs,auc");
  // Relevances by rank are 2, 0, 1; in the best order 2, 1, 0.
  EXPECT_DOUBLE_EQ(metrics["ndcg_letor@2"], 3.0 / 4 / 2);
  EXPECT_DOUBLE_EQ(metrics["ndcg_letor@3"], (3 + b) / 4 / 2);
  EXPECT_DOUBLE_EQ(metrics["mean_ndcg"], (1 + 0.75 + (3 + b) / 4) / 3 / 2);
  EXPECT_DOUBLE_EQ(metrics["map"], (1 + 2.0 / 3) / 2 / 2);
  EXPECT_DOUBLE_EQ(metrics["precision@1"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["ndcg_exponential"], 3.5 / (3 + b) / 2);
  EXPECT_DOUBLE_EQ(metrics["ndcg_linear"], 2.5 / (2 + b));
  EXPECT_DOUBLE_EQ(metrics["ndcg_linear@2"], 2 / (2 + b));
  EXPECT_DOUBLE_EQ(metrics["ndcg_top@2"], 2 / (2 + b));
  EXPECT_DOUBLE_EQ(metrics["pairs"], 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics["auc"], 0.5);
  // In query a one pair of three is inverted. In b the labels are equal, so
  // that each order of them is as likely as the other.
  EXPECT_DOUBLE_EQ(metrics["kendall"], (2.0 / 3 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(Metrics("mrr")["mrr"], 1.0 / 2);
  metrics = Metrics("average_precision,recall@1,recall@3,success@1,mrr@1");
  EXPECT_DOUBLE_EQ(metrics["average_precision"], (1 + 2.0 / 3) / 2 / 2);
  EXPECT_DOUBLE_EQ(metrics["recall@1"], 0.5);  // Of query a alone.
  EXPECT_DOUBLE_EQ(metrics["recall@3"], 1);
  EXPECT_DOUBLE_EQ(metrics["success@1"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["mrr@1"], 0.5);
}

// Query a alone is left: its relevances by rank are 0, 2, 1.
TEST_F(EvaluateOrdersTest, LeavesOutQueriesWithNothingRelevantIfAsked) {
  UseScores("1\n0\n3\n2\n5\n");
  EXPECT_DOUBLE_EQ(Metrics("mrr")["mrr"], 0.5 / 2);
  ASSERT_OK_AND_ASSIGN(EvaluateReport report, EvaluateOrders(options_));
  EXPECT_EQ(report.irrelevant_queries(), 1u);
  EXPECT_EQ(report.queries(), 2u);
  EXPECT_THAT(FormatOrderReport(report),
              HasTexts("Counted: 1 queries with nothing relevant",
                       "--skip_irrelevant_queries leaves them out"));
  options_.set_skip_irrelevant_queries(true);
  auto metrics = Metrics("mrr,success@1,success@2,kendall");
  EXPECT_DOUBLE_EQ(metrics["mrr"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["success@1"], 0);
  EXPECT_DOUBLE_EQ(metrics["success@2"], 1);
  EXPECT_DOUBLE_EQ(metrics["kendall"], 1.0 / 3);
  ASSERT_OK_AND_ASSIGN(report, EvaluateOrders(options_));
  EXPECT_EQ(report.queries(), 1u);
  EXPECT_EQ(report.candidates(), 3u);
  EXPECT_TRUE(report.skipped_irrelevant());
  EXPECT_THAT(FormatOrderReport(report),
              HasSubstr("Left out: 1 queries with nothing relevant"));
  // No candidate has relevance 3.
  options_.set_relevant_from(3);
  ASSERT_OK_AND_ASSIGN(report, EvaluateOrders(options_));
  EXPECT_EQ(report.queries(), 0u);
  EXPECT_FALSE(report.metrics(0).has_value());
}

// The same queries in each format: relevances 0, 1 and 1, 0 with the scores 1,
// 2 and 3, 4. Other columns, and JSON members, are not looked at.
TEST_F(EvaluateOrdersTest, ScoresOrderFilesWithNamedColumns) {
  UseScores("1\n2\n3\n4\n");
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"data.csv", "price,query,label\n1,p,0\n,p,1\n3,q,1\nx,q,0\n"},
           {"data.tsv", "p\tx y\t0\np\tz\t1\nq\tx\t1\nq\ty\t0\n"},
           {"data.jsonl",
            "{\"id\": \"p\", \"candidates\": [{\"a\": 1}, {\"label\": 1}]}\n\n"
            "{\"id\": \"q\", \"query\": {\"x\": 1}, \"candidates\": "
            "[{\"label\": 1}, {\"label\": 0}]}\n"}}) {
    options_.clear_data();
    options_.add_data(Write(name, text));
    auto metrics = Metrics("mrr,success@1");
    EXPECT_DOUBLE_EQ(metrics["mrr"], (1 + 0.5) / 2) << name;
    EXPECT_DOUBLE_EQ(metrics["success@1"], 0.5) << name;
  }
  for (const auto& [name, text, why] :
       std::vector<std::tuple<std::string, std::string, std::string>>{
           {"bad.csv", "query,relevance\n",
            ":1: the header has no column 'label'"},
           {"bad.csv", "query,label\nq,32\n", ":2: label is '32'"},
           {"bad.tsv", "q\tx\n", ":1: has 2 fields, must have 3"},
           {"bad.jsonl", "{\"candidates\": [{\"label\": \"a\"}]}\n",
            ":1: candidates[0]: label is"}}) {
    options_.clear_data();
    options_.add_data(Write(name, text));
    EXPECT_THAT(EvaluateOrders(options_), IsInvalidArgument(name + why));
  }
}

// Scores 1, 2, 3 of query a with relevances 1, 0, 2; the model predicts 2
// and 3. In b the scores are 0 and 5, and nothing is relevant.
TEST_F(EvaluateOrdersTest, SubsetModelsPredictAboveTheirThreshold) {
  model::v1::Model model;
  model.set_name("m");
  model.mutable_policy()->mutable_independent_subset()->set_threshold(2.2);
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(2);
  model.add_weights(1);
  model.add_weights(0);
  const ModelStore store(dir_.path() + "/store");
  ASSERT_OK(store.Publish(model, nullptr, {}));
  options_.set_model_store(store.root());
  options_.set_model("m");
  // Scores by candidate: a: 2, 3, 2.5; b: 1, 2. Predicted: the second and third
  // of a. One of three is right, one of the relevant is missing.
  auto metrics = Metrics("jaccard,hamming_loss,subset_accuracy");
  EXPECT_DOUBLE_EQ(metrics["jaccard"], (1.0 / 3 + 1) / 2);
  EXPECT_DOUBLE_EQ(metrics["hamming_loss"], (2.0 / 3 + 0) / 2);
  EXPECT_DOUBLE_EQ(metrics["subset_accuracy"], 1.0 / 2);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  EXPECT_THAT(FormatOrderReport(report),
              HasSubstr("Predicted: scores above 2.2"));
  options_.set_threshold(0);  // All are predicted.
  EXPECT_DOUBLE_EQ(Metrics("subset_accuracy")["subset_accuracy"], 0);
}

// Writes 30 queries of eight candidates, three of them relevant, and their
// scores, which do not depend on the labels and have ties. Candidates are
// sorted by falling relevance, or shuffled along with their scores.
class TiedFilesTest : public EvaluateOrdersTest {
 protected:
  void WriteTied(int num_scores, bool sorted, uint64_t seed) {
    RandomSequence random(SeedKey(7));
    RandomSequence order(SeedKey(seed));
    std::string data, scores;
    for (int q = 0; q < 30; ++q) {
      std::vector<std::pair<int, uint64_t>> lines;  // Relevance and score.
      for (int i = 0; i < 8; ++i) {
        lines.emplace_back(i < 3 ? 3 - i : 0,
                           random.Below(static_cast<uint64_t>(num_scores)));
      }
      if (!sorted) std::shuffle(lines.begin(), lines.end(), order);
      for (const auto& [relevance, score] : lines) {
        absl::StrAppend(&data, relevance, " qid:", q, " 1:1\n");
        absl::StrAppend(&scores, score, "\n");
      }
    }
    options_.clear_data();
    options_.add_data(Write("tied.letor", data));
    UseScores(scores);
  }
};

constexpr char kAllMetrics[] =
    "letor,ndcg_exponential@3,ndcg_linear,ndcg_top@4,kendall,pairs,auc,"
    "precision@2,mrr";

TEST_F(TiedFilesTest, TheOrderOfLinesChangesNoFigure) {
  for (const int num_scores : {1, 3}) {
    WriteTied(num_scores, true, 0);
    const auto sorted = Metrics(kAllMetrics);
    for (const uint64_t seed : {1, 2, 3}) {
      WriteTied(num_scores, false, seed);
      const auto shuffled = Metrics(kAllMetrics);
      for (const auto& [name, value] : sorted) {
        EXPECT_NEAR(shuffled.at(name), value, 1e-12) << name;
      }
    }
  }
}

// Three of eight candidates are relevant and all scores are equal: the figures
// are means over the 56 sets of places. File order would give 1.
TEST_F(TiedFilesTest, EqualScoresOfASortedFileGiveTheHonestExpectation) {
  WriteTied(1, true, 0);
  auto metrics = Metrics("map,precision@1,pairs,mrr");
  double expected = 0;
  for (int a = 1; a <= 8; ++a) {
    for (int b = a + 1; b <= 8; ++b) {
      for (int c = b + 1; c <= 8; ++c) {
        expected += (1.0 / a + 2.0 / b + 3.0 / c) / 3 / 56;
      }
    }
  }
  EXPECT_NEAR(metrics["map"], expected, 1e-12);
  EXPECT_NEAR(metrics["precision@1"], 3.0 / 8, 1e-12);
  EXPECT_NEAR(metrics["pairs"], 0.5, 1e-12);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  EXPECT_EQ(report.tied_pairs(), 1);
  EXPECT_EQ(report.tied_pairs_in_label_order(), 1);
  EXPECT_THAT(FormatOrderReport(report),
              HasTexts("Tied scores: 100.00 % of the pairs",
                       "Warning: the data list the more relevant candidate "
                       "first in 100.0 % of the tied pairs"));
}

TEST_F(TiedFilesTest, WarnsOnlyWhereTiesAndLabelsCoincide) {
  WriteTied(3, false, 4);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport shuffled, EvaluateOrders(options_));
  EXPECT_GT(shuffled.tied_pairs(), 0.2);
  EXPECT_EQ(shuffled.warnings_size(), 0);
  WriteTied(3, true, 0);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport sorted, EvaluateOrders(options_));
  EXPECT_DOUBLE_EQ(sorted.tied_pairs(), shuffled.tied_pairs());
  EXPECT_EQ(sorted.warnings_size(), 1);
  UseScores([] {
    std::string distinct;
    for (int i = 0; i < 240; ++i) absl::StrAppend(&distinct, i, "\n");
    return distinct;
  }());
  ASSERT_OK_AND_ASSIGN(const EvaluateReport untied, EvaluateOrders(options_));
  EXPECT_EQ(untied.tied_pairs(), 0);
  EXPECT_FALSE(untied.has_tied_pairs_in_label_order());
  EXPECT_EQ(untied.warnings_size(), 0);
}

// NDCG@1 of query a, and 0 of b, where nothing is relevant.
// The same data as lines from feature 0, with groups and a value that is no
// float, have the same metrics.
TEST_F(EvaluateOrdersTest, ReadsFilesOfOtherToolsByOption) {
  UseScores("1\n2\n3\n0\n5\n");
  *options_.mutable_data(0) = Write("zero.letor",
                                    "1 0:2 1:-2\n0 0:3 1:1.797e308\n2 0:2.5\n"
                                    "0 0:1\n0 0:2\n");
  EXPECT_THAT(EvaluateOrders(options_),
              IsInvalidArgument("FILE.query or FILE.group beside the file"));
  options_.add_groups(Write("sizes", "3\n2\n"));
  EXPECT_THAT(EvaluateOrders(options_), IsInvalidArgument("first_feature = 0"));
  options_.mutable_label_files()->set_first_feature(0);
  EXPECT_THAT(EvaluateOrders(options_),
              IsInvalidArgument("extreme_values = MISSING"));
  options_.mutable_label_files()->set_extreme_values(
      config::v1::LabelFileOptions::ZERO);
  EXPECT_DOUBLE_EQ(Metrics("ndcg_letor@2")["ndcg_letor@2"], 3.0 / 4 / 2);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_EQ(report.warnings(0),
            "1 value of " + options_.data(0) +
                " is no finite float and was read as 0 (extreme_values)");
}

TEST_F(EvaluateOrdersTest, CutsRelevance) {
  UseScores("2\n0\n1\n3\n5\n");  // a: 2, 1, 3 in the order of its lines.
  EXPECT_NEAR(Metrics("ndcg_letor@1").at("ndcg_letor@1"), 0.5, 1e-12);
  UseScores("3\n0\n1\n2\n5\n");  // The candidate of relevance 1 is first.
  EXPECT_NEAR(Metrics("ndcg_letor@1").at("ndcg_letor@1"), 1. / 6, 1e-12);
  options_.set_relevance_cut(1);
  EXPECT_NEAR(Metrics("ndcg_letor@1").at("ndcg_letor@1"), 0.5, 1e-12);
  options_.set_relevance_cut(2);
  EXPECT_NEAR(Metrics("ndcg_letor@1").at("ndcg_letor@1"), 0, 1e-12);
}

TEST_F(EvaluateOrdersTest, SetsAreWhatScoresAboveTheThreshold) {
  UseScores("1\n0\n2\n3\n5\n");
  options_.set_threshold(1);
  auto metrics = Metrics("sensitivity,specificity,precision,f_beta");
  // a: predicted 1 and 2, relevant 0 and 2; b: predicted 1, relevant none.
  EXPECT_DOUBLE_EQ(metrics["sensitivity"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["specificity"], (0 + 0.5) / 2);
  EXPECT_DOUBLE_EQ(metrics["precision"], (0.5 + 0) / 2);
  EXPECT_DOUBLE_EQ(metrics["f_beta"], (0.5 + 0) / 2);
  options_.set_relevant_from(2);
  EXPECT_DOUBLE_EQ(Metrics("sensitivity")["sensitivity"], 1);
}

// The query of the second file is ordered 1, 0; its relevances by rank are 0,
// 1.
TEST_F(EvaluateOrdersTest, ScoresGoOnFromFileToFile) {
  options_.add_data(Write("more.letor", "1 qid:a 1:1\n0 qid:a 1:1\n"));
  UseScores("9\n0\n1\n8\n5\n3\n4\n");
  // The first file has relevances 1, 2, 0 by rank, and a query with nothing
  // relevant.
  EXPECT_DOUBLE_EQ(Metrics("pairs")["pairs"], (2.0 / 3 + 0) / 2);
}

TEST_F(EvaluateOrdersTest, ModelsScoreAsTheyServe) {
  model::v1::Model model;
  model.set_name("m");
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(3);  // One more than the data has.
  for (const double weight : {1, 0, 7}) model.add_weights(weight);
  const ModelStore store(dir_.path() + "/store");
  ASSERT_OK(store.Publish(model, nullptr, {}));
  model.set_weights(0, -1);
  ASSERT_OK(store.Publish(model, nullptr, {}));
  options_.set_model_store(store.root());
  options_.set_model("m");
  options_.set_version(1);
  // Relevances by rank: 0, 2, 1.
  const double b = 1 / std::log2(3.0);
  EXPECT_DOUBLE_EQ(Metrics("ndcg_linear")["ndcg_linear"],
                   (2 * b + 0.5) / (2 + b));
  options_.set_version(0);  // The newest: 1, 2, 0.
  EXPECT_DOUBLE_EQ(Metrics("ndcg_linear")["ndcg_linear"],
                   (1 + 2 * b) / (2 + b));
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  EXPECT_EQ(report.version(), 2u);
  EXPECT_EQ(report.queries(), 2u);
  EXPECT_EQ(report.candidates(), 5u);
  EXPECT_THAT(FormatOrderReport(report),
              HasTexts("ordered by m version 2", "of 1 queries that have it"));
}

// The model has no schema, so it cannot make features of columns.
TEST_F(EvaluateOrdersTest, ModelsOfFeaturesTakeNoColumns) {
  model::v1::Model model;
  model.set_name("m");
  model.mutable_policy()->mutable_plackett_luce();
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(1);
  model.add_weights(1);
  const ModelStore store(dir_.path() + "/store");
  ASSERT_OK(store.Publish(model, nullptr, {}));
  options_.set_model_store(store.root());
  options_.set_model("m");
  options_.clear_data();
  options_.add_data(Write("data.csv", "query,label\nq,1\n"));
  EXPECT_THAT(EvaluateOrders(options_),
              IsInvalidArgument("must be LETOR/SVMlight for model 'm', which "
                                "has no schema",
                                "train --features=SPEC"));
}

TEST_F(EvaluateOrdersTest, WithoutMetricsPrintsWhatLetorsToolDoes) {
  UseScores("1\n0\n2\n3\n5\n");
  options_.set_per_query(dir_.path() + "/table.tsv");
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  ASSERT_EQ(report.metrics_size(), 22);
  EXPECT_EQ(report.metrics(0).name(), "P@1");
  EXPECT_EQ(report.metrics(10).name(), "MAP");
  EXPECT_EQ(report.metrics(11).name(), "NDCG@1");
  EXPECT_EQ(report.metrics(21).name(), "MeanNDCG");
  ASSERT_OK_AND_ASSIGN(const std::string table, ReadFile(options_.per_query()));
  EXPECT_THAT(table, HasTexts("qid\tP@1\t",
                              "\na\t1.000000\t0.500000\t0.666667\t0.500000",
                              "\nb\t0.000000\t0.000000"));
}

TEST_F(EvaluateOrdersTest, RefusesWhatItCannotJudge) {
  const auto refuses = [this](const std::string& why) {
    EXPECT_THAT(EvaluateOrders(options_), IsInvalidArgument(why));
  };
  refuses("--model_store and --scores are both unset, must be one of them");
  UseScores("1\n2\n3\n");
  refuses("has 3 scores, must have one for each candidate");
  UseScores("1\n2\n3\n4\n5\n6\n");
  refuses("has 6 scores, must have 5");
  UseScores("1\n\nnan\n");
  refuses("line 3 is 'nan', must be one finite number");
  UseScores("1\n2\n3\n4\n5\n");
  for (const auto& [metric, why] : std::map<std::string, std::string>{
           {"ndcg",
            "metrics has 'ndcg', must be one of letor, trec, ndcg_letor"},
           {"ndcg_letor", "must be ndcg_letor@1 to @10"},
           {"ndcg_letor@11", "the number after @ must be 1 to 10"},
           {"ndcg_linear@0", "must be 1 to 1000000"},
           {"ndcg_linear@", "must be 1 to 1000000"},
           {"map@3", "must be map without @"},
           {"success", "must be success@K with the number K"},
           {"recall@x", "must be 1 to 1000000"},
           {"", "metrics has ''"}}) {
    options_.clear_metrics();
    options_.add_metrics(metric);
    refuses(why);
  }
  options_.clear_metrics();
  options_.set_output("xml");
  refuses("--output is \"xml\", must be text or json");
  options_.set_output("text");
  options_.clear_scores();
  options_.set_model_store(dir_.path() + "/store");
  std::filesystem::create_directory(dir_ / "store");
  EXPECT_THAT(EvaluateOrders(options_), IsNotFound("has no version in "));
  options_.clear_data();
  options_.clear_model_store();
  options_.set_run("run");
  options_.set_skip_missing_queries(true);
  refuses(
      "--data is unset, must name a file of labelled queries; --model_store "
      "and --scores are both unset");
  refuses(
      "; --run and --qrels must be unset without --format=trec; "
      "--skip_missing_queries must be unset without --format=trec");
  EXPECT_TRUE(IsUsageError(EvaluateOrders(options_).status()));
}

}  // namespace
}  // namespace sortition
