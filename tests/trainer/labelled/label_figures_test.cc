// Metrics of label models.
#include "trainer/labelled/label_figures.h"

#include <cmath>
#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/labelled/evaluate_orders.h"
#include "trainer/labelled/order_report.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

class LabelFiguresTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    EXPECT_OK(WriteFile(dir_ / name, text));
    return dir_ / name;
  }

  void Publish(model::v1::Model model) {
    model.set_name("labels");
    const ModelStore store(dir_ / "store");
    EXPECT_OK(store.Publish(model, nullptr, {}));
    options_.set_model_store(store.root());
    options_.set_model("labels");
  }

  std::map<std::string, double> Metrics() {
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

// Two features and an intercept, three labels. Scores of the labels by row:
//   row 1: 1, -1, -1: predicted {0}, right {0}
//   row 2: -1, 2, 1: predicted {1, 2}, right {1, 2}
//   row 3: -1, -1, 1: predicted {2}, right {0, 1}
//   row 4: 1, -1, -1: predicted {0}, right {}
class LabelSetsTest : public LabelFiguresTest {
 protected:
  LabelSetsTest() {
    model::v1::Model model;
    model.mutable_policy()->mutable_independent_labels()->set_num_labels(3);
    model.mutable_policy()->set_inverse_temperature(2);
    model.set_num_features(3);
    for (const double weight : {2, 0, -2, 0, 3, 0, -1, -1, 1}) {
      model.add_weights(weight);
    }
    Publish(model);
    options_.add_data(
        Write("data.svm", "0 1:1\n1,2 2:1\n0,1 1:0\n1:1 # none\n"));
  }
};

TEST_F(LabelSetsTest, FiguresAreThoseDerivedByHand) {
  auto metrics = Metrics();
  EXPECT_EQ(metrics.size(), 7u);
  // Wrong labels: 0, 0, 3 and 1 of three.
  EXPECT_DOUBLE_EQ(metrics["hamming_loss"], (0 + 0 + 1 + 1.0 / 3) / 4);
  EXPECT_DOUBLE_EQ(metrics["subset_accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["jaccard"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["f1_samples"], 0.5);
  // 3 true positives, 2 false ones (label 2 of row 3, 0 of row 4), 2 missing.
  EXPECT_DOUBLE_EQ(metrics["f1_micro"], 6.0 / 10);
  // Label 0: 1, 1, 1. Label 1: 1, 0, 1. Label 2: 1, 1, 0.
  EXPECT_DOUBLE_EQ(metrics["f1_macro"], (2.0 / 4 + 2.0 / 3 + 2.0 / 3) / 3);
  // Labels are drawn with probability σ(2 s).
  const double one = Logistic(-2);
  const double rows[] = {3 * one, 2 * one + Logistic(-4), 3 * Logistic(2),
                         Logistic(2) + 2 * one};
  EXPECT_NEAR(metrics["expected_hamming_loss"],
              (rows[0] + rows[1] + rows[2] + rows[3]) / 12, 1e-14);
}

TEST_F(LabelSetsTest, RowsWithoutALabelAreLeftOutIfAsked) {
  options_.set_skip_irrelevant_queries(true);
  auto metrics = Metrics();
  EXPECT_DOUBLE_EQ(metrics["hamming_loss"], 1.0 / 3);
  EXPECT_DOUBLE_EQ(metrics["subset_accuracy"], 2.0 / 3);
  EXPECT_DOUBLE_EQ(metrics["f1_micro"], 6.0 / 9);
  ASSERT_OK_AND_ASSIGN(const EvaluateReport report, EvaluateOrders(options_));
  EXPECT_EQ(report.queries(), 3u);
  EXPECT_THAT(FormatOrderReport(report),
              HasTexts("3 rows, 3 labels, predicted by labels version 1",
                       "Left out: 1 rows without a label",
                       "of 3 labels that occur or are predicted"));
}

// No score is above 5, so nothing is predicted. Without an intercept row 3 has
// scores 0.
TEST_F(LabelSetsTest, OptionsSayWhatIsPredicted) {
  options_.set_threshold(5);
  EXPECT_DOUBLE_EQ(Metrics()["f1_micro"], 0);
  EXPECT_DOUBLE_EQ(Metrics()["subset_accuracy"], 0.25);
  options_.clear_threshold();
  options_.set_intercept(false);
  options_.add_metrics("hamming_loss,f1_macro");
  options_.set_per_query(dir_ / "rows.tsv");
  // Predicted are {0}, {1}, {} and {0}.
  auto metrics = Metrics();
  EXPECT_EQ(metrics.size(), 2u);
  EXPECT_DOUBLE_EQ(metrics["hamming_loss"], (0 + 1 + 2 + 1) / 12.0);
  ASSERT_OK_AND_ASSIGN(const std::string table, ReadFile(options_.per_query()));
  EXPECT_EQ(table,
            "qid\thamming_loss\n1\t0.000000\n2\t0.333333\n3\t0.666667\n"
            "4\t0.333333\n");
}

TEST_F(LabelSetsTest, RefusesWhatDoesNotFit) {
  const auto refuses = [this](const std::string& why) {
    EXPECT_THAT(EvaluateOrders(options_), IsInvalidArgument(why));
  };
  options_.add_metrics("ndcg_linear");
  refuses("--metrics has 'ndcg_linear', must be one of hamming_loss");
  options_.clear_metrics();
  options_.set_relevance_cut(1);
  refuses("--relevance_cut is 1, must be unset");
  options_.clear_relevance_cut();
  options_.clear_data();
  options_.add_data(Write("wide.svm", "0 3:1\n"));
  refuses(
      "has 3 features, must have at most 2, those of model 'labels' without");
  options_.clear_data();
  options_.add_data(Write("labels.svm", "3 1:1\n"));
  refuses("has label 3, must have labels below 3");
  options_.clear_data();
  options_.add_data(Write("data.csv", "query,label\n"));
  refuses("must be multi-label SVMlight");
}

// The label of an item is 1 where its feature is positive. Sequence a is
// labelled 1, 1 and predicted 1, 0; b is labelled 1 and predicted so.
TEST_F(LabelFiguresTest, SequencesAreJudgedItemByItem) {
  model::v1::Model model;
  model.mutable_policy()->mutable_label_chain()->set_num_labels(2);
  model.mutable_policy()->set_inverse_temperature(1);
  model.set_num_features(1);
  model.add_weights(-1);
  model.add_weights(1);
  Publish(model);
  options_.add_data(
      Write("data.letor", "1 qid:a 1:1\n1 qid:a 1:-1\n1 qid:b 1:1\n"));
  auto metrics = Metrics();
  EXPECT_DOUBLE_EQ(metrics["hamming_loss"], (0.5 + 0) / 2);
  EXPECT_DOUBLE_EQ(metrics["subset_accuracy"], 0.5);
  EXPECT_DOUBLE_EQ(metrics["f1_micro"], 2.0 / 3);
  // Label 0 was predicted once and never right; label 1 was missed once.
  EXPECT_DOUBLE_EQ(metrics["f1_macro"], (0 + 4.0 / 5) / 2);
  // An item of feature x gets label 1 with probability σ(2 x).
  EXPECT_NEAR(metrics["expected_hamming_loss"], (0.5 + (1 - Logistic(2))) / 2,
              1e-12);
  options_.set_threshold(1);
  EXPECT_THAT(EvaluateOrders(options_),
              IsInvalidArgument("--threshold and --relevance_cut must be unset "
                                "for a label_chain"));
}

}  // namespace
}  // namespace sortition
