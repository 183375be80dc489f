// TREC runs, judged by TREC relevance judgements.
#include "trainer/labelled/trec_orders.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/order_report.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

// Query 1: a is relevant (2), c and d are (1), b and the spam s are not; d and
// s were not retrieved, u was not judged; b and c have the same score. Query 2:
// the second document is relevant. Query 3 has nothing relevant. Query 4 is not
// in the run, query 5 was not judged.
constexpr char kQrels[] =
    "1 0 a 2\n1 0 b 0\n1 0 c 1\n1 0 d 1\n1 0 s -1\n"
    "2 0 a 1\n3 0 x 0\n4 0 y 1\n";
constexpr char kRun[] =
    "1 Q0 a 1 3.5 t\n1 Q0 b 2 2 t\n1 Q0 c 3 2 t\n1 Q0 u 4 1 t\n"
    "2 Q0 z 1 9 t\n2 Q0 a 2 8 t\n3 Q0 x 1 1 t\n5 Q0 v 1 1 t\n";

class TrecOrdersTest : public testing::Test {
 protected:
  TrecOrdersTest() {
    options_.set_format("trec");
    options_.set_qrels(Write("qrels", kQrels));
    options_.set_run(Write("run", kRun));
  }

  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(dir_ / name, text));
    return dir_ / name;
  }

  EvaluateReport Report() {
    const auto report = EvaluateOrders(options_);
    EXPECT_OK(report);
    return report.ok() ? *report : EvaluateReport();
  }

  // Returns the only metric.
  double Metric(const std::string& name) {
    options_.clear_metrics();
    options_.add_metrics(name);
    const EvaluateReport report = Report();
    EXPECT_EQ(report.metrics_size(), 1);
    return report.metrics_size() == 1 ? report.metrics(0).value() : NAN;
  }

  TempDir dir_;
  EvaluateOptions options_;
};

// Ranks of query 1: a at 0; c at 1 or 2, each with probability ½, because it
// ties with b (trec_eval puts c first, the larger document id, which makes the
// average precision 2/3).
TEST_F(TrecOrdersTest, FiguresAreThoseDerivedByHand) {
  const double b = 1 / std::log2(3.0);
  // Query 1: precision 1 at a, 2/2 or 2/3 at c, 0 for d, which is relevant and
  // was not retrieved. Query 2: 1/2. Queries 3 and 4: 0.
  const double one = (1 + (1 + 2.0 / 3) / 2 + 0) / 3;
  EXPECT_DOUBLE_EQ(Metric("average_precision"), (one + 0.5) / 4);
  EXPECT_DOUBLE_EQ(Metric("map"), (one + 0.5) / 4);
  EXPECT_DOUBLE_EQ(Metric("mrr"), (1 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(Metric("mrr@1"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(Metric("success@1"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(Metric("success@2"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(Metric("precision@2"), (1.5 / 2 + 1.0 / 2) / 4);
  // Query 3 has no recall and no linear NDCG.
  EXPECT_DOUBLE_EQ(Metric("recall@2"), (1.5 / 3 + 1 + 0) / 3);
  EXPECT_DOUBLE_EQ(Metric("ndcg_linear@2"),
                   ((2 + b / 2) / (2 + b) + b + 0) / 3);
  // Without @k the best order of query 1 has the gains 2, 1, 1, and c is at
  // rank 1 or 2.
  EXPECT_DOUBLE_EQ(Metric("ndcg_linear"),
                   ((2 + (b + 0.5) / 2) / (2 + b + 0.5) + b + 0) / 3);
}

TEST_F(TrecOrdersTest, QueriesThatAreLeftOutAreCounted) {
  const double sum = (1 + 5.0 / 6) / 3 + 0.5;  // As above.
  EXPECT_DOUBLE_EQ(Metric("average_precision"), sum / 4);
  EvaluateReport report = Report();
  EXPECT_EQ(report.queries(), 4u);
  EXPECT_EQ(report.candidates(), 7u);
  EXPECT_EQ(report.irrelevant_queries(), 1u);
  EXPECT_EQ(report.missing_queries(), 1u);
  EXPECT_EQ(report.unjudged_queries(), 1u);
  EXPECT_EQ(report.unjudged_candidates(), 2u);     // u and z
  EXPECT_EQ(report.relevant_not_retrieved(), 1u);  // d
  EXPECT_EQ(report.negative_judgements(), 1u);
  EXPECT_THAT(
      FormatOrderReport(report),
      HasTexts("4 queries, 7 candidates, ordered by the scores of the run",
               "Counted: 1 queries with nothing relevant",
               "Counted as 0: 1 judged queries that the run does not have",
               "Left out: 1 queries of the run that have no judgement"));
  options_.set_skip_missing_queries(true);
  EXPECT_DOUBLE_EQ(Metric("average_precision"), sum / 3);
  options_.set_skip_irrelevant_queries(true);
  EXPECT_DOUBLE_EQ(Metric("average_precision"), sum / 2);
  report = Report();
  EXPECT_EQ(report.queries(), 2u);
  EXPECT_THAT(FormatOrderReport(report),
              HasTexts("Left out: 1 queries with nothing relevant",
                       "Left out: 1 judged queries that the run does not"));
  options_.set_skip_missing_queries(false);
  EXPECT_DOUBLE_EQ(Metric("average_precision"), sum / 3);  // 1, 2 and 4.
}

// Relevance from 2 on: only a. Cut at 2, the gain of a is 1.
TEST_F(TrecOrdersTest, RelevanceIsThatOfTheOptions) {
  options_.set_relevant_from(2);
  EXPECT_DOUBLE_EQ(Metric("average_precision"), 1.0 / 4);
  options_.set_relevant_from(1);
  options_.set_relevance_cut(2);
  EXPECT_DOUBLE_EQ(Metric("average_precision"), 1.0 / 4);
}

TEST_F(TrecOrdersTest, WithoutMetricsPrintsThoseOfTrecEval) {
  options_.set_per_query(dir_ / "queries.tsv");
  const EvaluateReport report = Report();
  ASSERT_EQ(report.metrics_size(), 16);
  EXPECT_EQ(report.metrics(0).name(), "average_precision");
  EXPECT_EQ(report.metrics(15).name(), "ndcg_linear@20");
  ASSERT_OK_AND_ASSIGN(const std::string table, ReadFile(options_.per_query()));
  EXPECT_THAT(table,
              HasTexts("qid\taverage_precision\tmrr\t", "\n1\t0.611111\t1.0000",
                       "\n4\t0.000000\t0.000000\t"));
}

TEST_F(TrecOrdersTest, WarnsOfScoresThatFallWithQuality) {
  options_.set_run(Write("run", "1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n"));
  const EvaluateReport report = Report();
  ASSERT_EQ(report.warnings_size(), 1);
  EXPECT_THAT(report.warnings(0), HasTexts("1 lines of the run have a larger "
                                           "rank and a larger score"));
}

TEST_F(TrecOrdersTest, RefusesWhatItCannotJudge) {
  const auto refuses = [this](const std::string& why) {
    EXPECT_THAT(EvaluateOrders(options_), IsInvalidArgument(why));
  };
  for (const char* const metric : {"auc", "kendall", "f_beta", "precision"}) {
    options_.clear_metrics();
    options_.add_metrics(metric);
    refuses("must be a metric of ranks with format=trec");
  }
  options_.clear_metrics();
  options_.add_metrics("success");
  refuses("must be success@K with the number K of the first ranks");
  options_.clear_metrics();
  options_.set_run(Write("run", "q1 Q0 a 1 0.1 t\n"));
  refuses("the first ids are 'q1' and '1', must be the same ids");
  options_.clear_run();
  options_.clear_qrels();
  options_.set_scores("scores");
  refuses(
      "--run is unset, must name a TREC run with --format=trec; --qrels is "
      "unset, must name TREC relevance judgements with --format=trec; --data, "
      "--model_store and --scores must be unset with --format=trec");
}

}  // namespace
}  // namespace sortition
