#include "trainer/labelled/evaluate_orders.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/columns/column_queries.h"
#include "io/columns/label_rows.h"
#include "io/datasets/label_file_options.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "process/command.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/labelled/label_figures.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/labelled/order_metrics.h"
#include "trainer/labelled/order_summary.h"
#include "trainer/labelled/query_scorer.h"
#include "trainer/labelled/trec_orders.h"

namespace sortition {
namespace {

using config::v1::EvaluateOptions;
using config::v1::EvaluateReport;

// Names the options that are missing or must not be set, all at once.
class OptionErrors {
 public:
  void Require(bool is_set, absl::string_view error) {
    if (!is_set) absl::StrAppend(&text_, text_.empty() ? "" : "; ", error);
  }
  absl::Status status() const {
    return text_.empty() ? absl::OkStatus() : UsageError(text_);
  }

 private:
  std::string text_;
};

void CheckDataOptions(const EvaluateOptions& options, OptionErrors* errors) {
  errors->Require(options.data_size() > 0,
                  "--data is unset, must name a file of labelled queries");
  const bool has_model = !options.model_store().empty();
  const bool has_scores = !options.scores().empty();
  errors->Require(has_model || has_scores,
                  "--model_store and --scores are both unset, must be one of "
                  "them: a model store with the model that orders the data, or "
                  "a file with a score for each candidate");
  errors->Require(!has_model || !has_scores,
                  "--model_store and --scores are both set, must be one of "
                  "them");
  errors->Require(options.run().empty() && options.qrels().empty(),
                  "--run and --qrels must be unset without --format=trec");
  errors->Require(!options.skip_missing_queries(),
                  "--skip_missing_queries must be unset without "
                  "--format=trec");
}

void CheckTrecOptions(const EvaluateOptions& options, OptionErrors* errors) {
  errors->Require(!options.run().empty(),
                  "--run is unset, must name a TREC run with --format=trec");
  errors->Require(!options.qrels().empty(),
                  "--qrels is unset, must name TREC relevance judgements with "
                  "--format=trec");
  errors->Require(options.data_size() == 0 && options.model_store().empty() &&
                      options.scores().empty(),
                  "--data, --model_store and --scores must be unset with "
                  "--format=trec: score --output=trec writes the run of a "
                  "model");
}

// Reads labelled queries: with columns if the scorer takes them, with features
// or, where a file has the scores, with neither.
absl::StatusOr<LabelledQueries> ReadData(const std::string& file,
                                         const EvaluateOptions& options,
                                         const LetorOptions& letor,
                                         const QueryScorer& scorer) {
  if (scorer.schema() != nullptr || !IsColumnFile(file)) {
    return ReadQueries(file, scorer.schema(), letor);
  }
  if (!options.scores().empty()) return ReadLabelRows(file);
  return absl::InvalidArgumentError(absl::StrCat(
      "--data has '", file,
      "' with named columns, must be LETOR/SVMlight for "
      "model '",
      options.model(),
      "', which has no schema: its callers send "
      "features. train --features=SPEC learns a model of columns"));
}

absl::Status AddDataQueries(const EvaluateOptions& options, QueryScorer* scorer,
                            OrderSummary* summary, EvaluateReport* report) {
  const std::vector<std::string> files = SplitEntries(options.data());
  ASSIGN_OR_RETURN(
      const std::vector<LetorOptions> letor,
      LetorOptionsOf(options.label_files(), files, "groups", options.groups()));
  for (size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(LabelledQueries data,
                     ReadData(files[i], options, letor[i], *scorer));
    if (data.extreme_values > 0) {
      report->add_warnings(ExtremeValuesNote(options.label_files(), files[i],
                                             data.extreme_values));
    }
    size_t of_file = 0;
    for (LabelledQuery& query : data.queries) {
      CutRelevances(options.relevance_cut(), query.relevances);
      ASSIGN_OR_RETURN(const std::vector<double> scores,
                       scorer->Scores(query, data.num_features));
      summary->Add(query.id, {query.relevances, scores});
      of_file += scores.size();
    }
    scorer->EndFile(of_file);
  }
  return scorer->End();
}

// Returns the options with the threshold of a subset policy where they have
// none.
EvaluateOptions WithThreshold(EvaluateOptions options,
                              const model::v1::Model& model) {
  if (!options.has_threshold() &&
      ActionKindOf(model.policy()) == ActionKind::kSubset) {
    options.set_threshold(SubsetThreshold(model.policy()));
  }
  return options;
}

absl::Status EvaluateRankings(const EvaluateOptions& options,
                              QueryScorer* scorer, EvaluateReport* report) {
  ASSIGN_OR_RETURN(std::vector<OrderMetric> metrics, MakeOrderMetrics(options));
  if (std::any_of(metrics.begin(), metrics.end(),
                  [](const OrderMetric& metric) { return metric.is_of_set; })) {
    report->set_threshold(options.threshold());
  }
  OrderSummary summary(std::move(metrics), options);
  RETURN_IF_ERROR(scorer == nullptr
                      ? AddTrecQueries(options, &summary, report)
                      : AddDataQueries(options, scorer, &summary, report));
  summary.Fill(report);
  if (options.per_query().empty()) return absl::OkStatus();
  return WriteFile(options.per_query(), summary.table());
}

absl::Status EvaluateModel(const EvaluateOptions& options,
                           EvaluateReport* report) {
  ASSIGN_OR_RETURN(const StoredModel stored,
                   LoadVersion(options.model(), options.version(),
                               ModelStore(options.model_store())));
  const model::v1::Model& model = stored.model;
  report->set_model(options.model());
  report->set_version(model.version());
  if (IsLabelModel(model)) return EvaluateLabels(options, model, report);
  ASSIGN_OR_RETURN(const auto scorer, MakeModelScorer(model));
  return EvaluateRankings(WithThreshold(options, model), scorer.get(), report);
}

}  // namespace

absl::Status ValidateEvaluateOptions(const EvaluateOptions& options) {
  RETURN_IF_ERROR(CheckChoice("format", options.format(), {"data", "trec"}));
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  OptionErrors errors;
  if (options.format() == "trec") {
    CheckTrecOptions(options, &errors);
  } else {
    CheckDataOptions(options, &errors);
  }
  return errors.status();
}

absl::StatusOr<EvaluateReport> EvaluateOrders(const EvaluateOptions& options) {
  RETURN_IF_ERROR(ValidateEvaluateOptions(options));
  EvaluateReport report;
  if (options.format() == "trec") {
    RETURN_IF_ERROR(EvaluateRankings(options, nullptr, &report));
  } else if (!options.scores().empty()) {
    ASSIGN_OR_RETURN(const auto scorer, ReadScores(options.scores()));
    RETURN_IF_ERROR(EvaluateRankings(options, scorer.get(), &report));
  } else {
    RETURN_IF_ERROR(EvaluateModel(options, &report));
  }
  return report;
}

}  // namespace sortition
