#include "trainer/labelled/evaluate_orders.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "core/metrics/tied_ranking.h"
#include "io/datasets/label_file_options.h"
#include "io/files.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/order_metrics.h"
#include "trainer/labelled/query_scorer.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

absl::StatusOr<std::unique_ptr<QueryScorer>> MakeScorer(
    const EvaluateOptions& options, EvaluateReport* report) {
  if (!options.scores().empty()) return ReadScores(options.scores());
  ASSIGN_OR_RETURN(ModelScorer model,
                   LoadModelScorer(options.model_store(), options.model(),
                                   options.version()));
  report->set_model(options.model());
  report->set_version(model.version);
  return std::move(model.scorer);
}

// Number of standard deviations from which on ties coincide with the label
// order, or its reverse: random order deviates more with probability below
// 1e-4.
constexpr double kTiesCoincide = 4;

void FillTies(const TiedPairs& ties, EvaluateReport* report) {
  if (ties.pairs == 0) return;
  const auto tied = static_cast<double>(ties.tied);
  report->set_tied_pairs(tied / static_cast<double>(ties.pairs));
  if (ties.tied == 0) return;
  const double share = static_cast<double>(ties.tied_in_label_order) / tied;
  report->set_tied_pairs_in_label_order(share);
  if (std::abs(ties.Deviation()) <= kTiesCoincide) return;
  report->add_warnings(absl::StrFormat(
      "the data list the more relevant candidate first in %.1f %% of the tied "
      "pairs: a tool that breaks ties in the order of the file reports figures "
      "that are too %s. The figures here are means over all orders of ties. "
      "Shuffle the candidates of each query before such a tool reads them",
      100 * share, share > 0.5 ? "high" : "low"));
}

// Means over the queries that have the metric, with a line for each query.
class Summary {
 public:
  explicit Summary(std::vector<OrderMetric> metrics)
      : metrics_(std::move(metrics)),
        sums_(metrics_.size()),
        counts_(metrics_.size()) {
    table_ = "qid";
    for (const OrderMetric& metric : metrics_) {
      absl::StrAppend(&table_, "\t", metric.name);
    }
    table_ += "\n";
  }

  void Add(const std::string& id, const ScoredQuery& query) {
    ties_.Add(CountTiedPairs(query.scores, query.relevances));
    table_ += id;
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const double value = metrics_[m].of(query);
      if (std::isnan(value)) {
        table_ += "\t";
        continue;
      }
      absl::StrAppendFormat(&table_, "\t%.6f", value);
      sums_[m] += value;
      ++counts_[m];
    }
    table_ += "\n";
  }

  void Fill(EvaluateReport* report) const {
    for (size_t m = 0; m < metrics_.size(); ++m) {
      EvaluateReport::Metric* row = report->add_metrics();
      row->set_name(metrics_[m].name);
      row->set_queries(counts_[m]);
      if (counts_[m] == 0) continue;
      row->set_value(sums_[m] / static_cast<double>(counts_[m]));
    }
    FillTies(ties_, report);
  }
  const std::string& table() const { return table_; }

 private:
  const std::vector<OrderMetric> metrics_;
  std::vector<double> sums_;
  std::vector<uint64_t> counts_;
  TiedPairs ties_;
  std::string table_;
};

}  // namespace

absl::Status ValidateEvaluateOptions(const EvaluateOptions& options) {
  if (options.data_size() == 0) {
    return absl::InvalidArgumentError(
        "data is unset, must name a file of labelled queries");
  }
  if (options.model_store().empty() == options.scores().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model_store and scores are both ",
        options.scores().empty() ? "unset" : "set", ", must be one of them"));
  }
  if (options.output() != "text" && options.output() != "json") {
    return absl::InvalidArgumentError(absl::StrCat(
        "output is '", options.output(), "', must be text or json"));
  }
  return absl::OkStatus();
}

absl::StatusOr<EvaluateReport> EvaluateOrders(const EvaluateOptions& options) {
  RETURN_IF_ERROR(ValidateEvaluateOptions(options));
  ASSIGN_OR_RETURN(std::vector<OrderMetric> metrics, MakeOrderMetrics(options));
  EvaluateReport report;
  ASSIGN_OR_RETURN(const auto scorer, MakeScorer(options, &report));
  Summary summary(std::move(metrics));
  uint64_t num_queries = 0;
  uint64_t num_candidates = 0;
  const std::vector<std::string> files = FilesOf(options.data());
  ASSIGN_OR_RETURN(
      const std::vector<LetorOptions> letor,
      LetorOptionsOf(options.label_files(), files, "groups", options.groups()));
  for (size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(LabelledQueries data,
                     ReadQueries(files[i], scorer->schema(), letor[i]));
    if (data.extreme_values > 0) {
      report.add_warnings(ExtremeValuesNote(options.label_files(), files[i],
                                            data.extreme_values));
    }
    size_t of_file = 0;
    for (LabelledQuery& query : data.queries) {
      CutRelevances(options.relevance_cut(), query.relevances);
      ASSIGN_OR_RETURN(const std::vector<double> scores,
                       scorer->Scores(query, data.num_features));
      summary.Add(query.id, {query.relevances, scores});
      of_file += scores.size();
      ++num_queries;
    }
    scorer->EndFile(of_file);
    num_candidates += of_file;
  }
  RETURN_IF_ERROR(scorer->End());
  summary.Fill(&report);
  report.set_queries(num_queries);
  report.set_candidates(num_candidates);
  if (!options.per_query().empty()) {
    RETURN_IF_ERROR(WriteFile(options.per_query(), summary.table()));
  }
  return report;
}

std::string FormatOrderReport(const EvaluateReport& report) {
  std::string text = absl::StrFormat(
      "%d queries, %d candidates%s\n", report.queries(), report.candidates(),
      report.has_version() ? absl::StrFormat(", ordered by %s version %d",
                                             report.model(), report.version())
                           : ", ordered by the scores given");
  for (const EvaluateReport::Metric& metric : report.metrics()) {
    absl::StrAppendFormat(
        &text, "  %-22s %8s%s\n", metric.name(),
        metric.has_value() ? absl::StrFormat("%.4f", metric.value()) : "-",
        metric.queries() == report.queries()
            ? ""
            : absl::StrFormat("   of %d queries that have it",
                              metric.queries()));
  }
  if (report.has_tied_pairs()) {
    absl::StrAppendFormat(
        &text,
        "  Tied scores: %.2f %% of the pairs of different relevance; figures "
        "are means over all orders of ties\n",
        100 * report.tied_pairs());
  }
  for (const std::string& warning : report.warnings()) {
    absl::StrAppend(&text, "  Warning: ", warning, "\n");
  }
  return text;
}

}  // namespace sortition
