#include "trainer/clicks/clicks_text.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "process/text_table.h"
#include "trainer/clicks/clicks_words.h"
#include "trainer/tuples/scan/left_out_report.h"

namespace sortition {
namespace {

using config::v1::ClicksReport;
using Model = ClicksReport::Model;
using Rows = std::vector<std::vector<std::string>>;

std::string IntervalText(double lower, double upper) {
  return absl::StrCat("[", RoundedText(lower), ", ", RoundedText(upper), "]");
}

void AppendLog(const ClicksReport& report, std::string* text) {
  absl::StrAppendFormat(text, "Model '%s': %d tuples read, %d rankings used\n",
                        report.model(), report.read_tuples(),
                        report.sessions());
  AppendLeftOut({1, report.corrupt_records(), report.excluded()}, text);
  absl::StrAppendFormat(
      text,
      "%d sessions to learn from, %d of %d units held out; %d impressions, %d "
      "clicks\n%d sessions were clicked, %d more than once; %d items, %d of "
      "them shown at several ranks\n",
      report.training_sessions(), report.held_out_sessions(),
      report.held_out_units(), report.impressions(), report.clicks(),
      report.sessions_with_clicks(), report.sessions_with_more_clicks(),
      report.items(), report.moved_items());
  for (const std::string& note : report.notes()) {
    absl::StrAppend(text, note, "\n");
  }
}

void AppendModels(const ClicksReport& report, std::string* text) {
  Rows rows = {{"model", "log-likelihood", "minus best", "std. error",
                "perplexity", "given above", "parameters", "passes"}};
  for (const Model& model : report.models()) {
    std::vector<std::string> row = {model.name()};
    if (model.has_held_out_log_likelihood()) {
      row.push_back(absl::StrFormat("%.6f", model.held_out_log_likelihood()));
      row.push_back(absl::StrFormat("%+.6f", model.difference()));
      row.push_back(absl::StrFormat("%.2g", model.standard_error()));
    } else {
      row.insert(row.end(), {"", "", ""});
    }
    row.push_back(absl::StrFormat("%.4f", model.mean_perplexity()));
    row.push_back(absl::StrFormat("%.4f", model.mean_conditional_perplexity()));
    row.push_back(absl::StrCat(model.parameters_learned()));
    row.push_back(absl::StrCat(model.iterations()));
    rows.push_back(row);
  }
  absl::StrAppend(text,
                  "\nHeld-out sessions: log-likelihood per session, and "
                  "perplexity by rank (1: perfect, 2: a fair coin)\n",
                  FormatTable(rows));
  for (const Model& model : report.models()) {
    if (model.impossible_sessions() > 0) {
      absl::StrAppendFormat(text,
                            "%s holds the clicks of %d held-out sessions for "
                            "impossible.\n",
                            model.name(), model.impossible_sessions());
    }
    if (!model.converged()) {
      absl::StrAppendFormat(text,
                            "%s has not converged: more passes help "
                            "(max_iterations).\n",
                            model.name());
    }
  }
  absl::StrAppend(text, report.verdict(), "\n");
}

void AppendPerplexities(const ClicksReport& report, std::string* text) {
  Rows rows = {{"rank", "clicked"}};
  for (const Model& model : report.models()) rows[0].push_back(model.name());
  for (int r = 0; r < report.click_rates_size(); ++r) {
    std::vector<std::string> row = {
        absl::StrCat(r), absl::StrFormat("%.4f", report.click_rates(r))};
    for (const Model& model : report.models()) {
      row.push_back(r < model.perplexity_size()
                        ? absl::StrFormat("%.4f", model.perplexity(r))
                        : "");
    }
    rows.push_back(row);
  }
  absl::StrAppend(text, "\nPerplexity by rank\n", FormatTable(rows));
}

void AppendParameters(const Model& model, std::string* text) {
  if (model.parameters().empty() && model.unidentified().empty()) return;
  absl::StrAppend(text, "\n", model.name());
  if (model.interval_method() != "none") {
    absl::StrAppend(text, " (intervals: ", model.interval_method(), ")");
  }
  absl::StrAppend(text, "\n");
  if (!model.parameters().empty()) {
    Rows rows = {{"parameter", "rank", "value", "interval"}};
    for (const ClicksReport::Parameter& parameter : model.parameters()) {
      rows.push_back({parameter.name(),
                      parameter.name() == "perseverance"
                          ? ""
                          : absl::StrCat(parameter.index()),
                      RoundedText(parameter.value()),
                      parameter.has_interval()
                          ? IntervalText(parameter.lower(), parameter.upper())
                          : ""});
    }
    absl::StrAppend(text, FormatTable(rows));
  }
  for (const ClicksReport::Unidentified& open : model.unidentified()) {
    absl::StrAppend(text, "  not told by this log: ", open.sentence(), "\n");
  }
}

void AppendInterventions(const ClicksReport& report, std::string* text) {
  for (const ClicksReport::Interventions& found : report.interventions()) {
    absl::StrAppend(text, "\nExamination relative to rank 0, by ",
                    found.method() == "marginals"
                        ? "the probability of items at ranks"
                        : "swaps of neighbours",
                    ", of ", found.sessions(), " sessions\n");
    if (found.has_problem()) {
      absl::StrAppend(text, "  not known: ", found.problem(), "\n");
      continue;
    }
    Rows rows = {{"rank", "ratio", "interval"}};
    for (const ClicksReport::Propensity& rank : found.ranks()) {
      rows.push_back({absl::StrCat(rank.rank()), RoundedText(rank.ratio()),
                      IntervalText(rank.lower(), rank.upper())});
    }
    absl::StrAppend(text, FormatTable(rows));
  }
  if (report.without_propensities().empty()) return;
  // The order of a proto map is not fixed.
  const std::map<std::string, uint64_t> sorted(
      report.without_propensities().begin(),
      report.without_propensities().end());
  absl::StrAppend(text, "\nDecisions without known probabilities\n");
  for (const auto& [reason, count] : sorted) {
    absl::StrAppendFormat(text, "  %d: %s\n", count, reason);
  }
}

void AppendUse(const ClicksReport& report, std::string* text) {
  if (!report.has_bias()) {
    absl::StrAppend(text,
                    "\nNo examination by rank for ope: ", report.bias_problem(),
                    "\n");
    return;
  }
  absl::StrAppend(text, "\nTo judge policies by these clicks, corrected by '",
                  report.bias().click_model(), "':\n  ", report.ope_command(),
                  "\n");
}

}  // namespace

std::string FormatClicksReport(const ClicksReport& report) {
  std::string text;
  AppendLog(report, &text);
  AppendModels(report, &text);
  AppendPerplexities(report, &text);
  for (const Model& model : report.models()) AppendParameters(model, &text);
  AppendInterventions(report, &text);
  AppendUse(report, &text);
  return text;
}

}  // namespace sortition
