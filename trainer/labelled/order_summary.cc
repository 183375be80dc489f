#include "trainer/labelled/order_summary.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

using config::v1::EvaluateReport;

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

}  // namespace

OrderSummary::OrderSummary(std::vector<OrderMetric> metrics,
                           const config::v1::EvaluateOptions& options)
    : metrics_(std::move(metrics)),
      relevant_from_(options.relevant_from()),
      skip_irrelevant_(options.skip_irrelevant_queries()),
      sums_(metrics_.size()),
      counts_(metrics_.size()) {
  table_ = "qid";
  for (const OrderMetric& metric : metrics_) {
    absl::StrAppend(&table_, "\t", metric.name);
  }
  table_ += "\n";
}

void OrderSummary::Add(const std::string& id, const ScoredQuery& query) {
  if (!query.HasRelevant(relevant_from_)) {
    ++irrelevant_;
    if (skip_irrelevant_) return;
  }
  ++queries_;
  candidates_ += query.scores.size();
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

void OrderSummary::Fill(EvaluateReport* report) const {
  for (size_t m = 0; m < metrics_.size(); ++m) {
    EvaluateReport::Metric* row = report->add_metrics();
    row->set_name(metrics_[m].name);
    row->set_queries(counts_[m]);
    if (counts_[m] == 0) continue;
    row->set_value(sums_[m] / static_cast<double>(counts_[m]));
  }
  report->set_queries(queries_);
  report->set_candidates(candidates_);
  report->set_irrelevant_queries(irrelevant_);
  report->set_skipped_irrelevant(skip_irrelevant_);
  FillTies(ties_, report);
}

}  // namespace sortition
