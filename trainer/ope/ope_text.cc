#include "trainer/ope/ope_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "process/text_table.h"
#include "trainer/ope/ope_words.h"
#include "trainer/tuples/scan/left_out_report.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using config::v1::OpeSlice;
using Rows = std::vector<std::vector<std::string>>;

std::string ValueCell(const OpeEstimate& estimate) {
  if (estimate.has_value_alone()) return Text(estimate.value_alone());
  return estimate.has_value() ? Text(estimate.value().value()) : "";
}
std::string GainCell(const OpeEstimate& estimate) {
  if (estimate.has_gain_alone()) return SignedText(estimate.gain_alone());
  return estimate.has_gain() ? SignedText(estimate.gain().value()) : "";
}
std::string IntervalCell(bool is_set, const model::v1::Estimate& estimate) {
  return is_set ? absl::StrCat("[", Text(estimate.lower()), ", ",
                               Text(estimate.upper()), "]")
                : "";
}
std::string ValueInterval(const OpeEstimate& estimate) {
  if (estimate.has_value_alone()) return "none";
  return IntervalCell(estimate.has_value(), estimate.value());
}
std::string GainInterval(const OpeEstimate& estimate) {
  if (estimate.has_gain_alone()) return "none";
  return IntervalCell(estimate.has_gain(), estimate.gain());
}

// "dr", "clipped 10"
std::string EstimatorCell(const OpeEstimate& estimate) {
  std::string cell = estimate.estimator();
  if (estimate.has_parameter()) {
    absl::StrAppend(&cell, " ", Text(estimate.parameter()));
  }
  return cell;
}

void AppendLog(const OpeReport& report, std::string* text) {
  absl::StrAppend(
      text, "Log of model '", report.model(),
      "': ", CountText(report.decisions()), " decisions",
      report.units_named()
          ? absl::StrCat(" of ", CountText(report.units()), " units")
          : std::string(" without unit_id"));
  if (report.has_first_time()) {
    absl::StrAppend(text, ", ", report.first_time(), " to ",
                    report.last_time());
  }
  absl::StrAppend(text, "\n");
  AppendLeftOut({1, report.corrupt_records(), report.excluded()}, text);
  if (report.arms_balanced() > 0) {
    absl::StrAppend(text, "  ", CountText(report.arms_balanced()),
                    " of a traffic split, weighed against all its versions "
                    "together\n");
  }
  if (const uint64_t apart =
          report.arms_apart() + report.arms_without_mixture();
      apart > 0) {
    absl::StrAppend(text, "  ", CountText(apart),
                    " of a traffic split, weighed by the version that "
                    "decided\n");
  }
  if (report.arms_kept_by_unit() > 0) {
    absl::StrAppend(text, "  ", CountText(report.arms_kept_by_unit()),
                    " of a traffic split, weighed by the version that decided, "
                    "because a unit keeps its version and may return more "
                    "often with one than with another\n");
  }
  for (const auto& coverage : report.reward_coverage()) {
    absl::StrAppend(text, "  ", CountText(coverage.judged()),
                    " of which the outcome '", coverage.reward(),
                    "' is judged: ", coverage.period(), "\n");
  }
  if (report.with_baseline() > 0) {
    absl::StrAppend(text, "  ", CountText(report.with_baseline()),
                    " that the caller's baseline had a part in\n");
  }
  if (report.interleaved() > 0) {
    absl::StrAppend(text, "  ", CountText(report.interleaved()),
                    " whose order two versions made together\n");
  }
  absl::StrAppend(
      text, "Mean reward of the log: ", Text(report.logged().value()), " ",
      IntervalCell(true, report.logged()), "\n", report.question(), "\n");
}

// The answer for each policy.
void AppendAnswers(const OpeReport& report, std::string* text) {
  const std::string against = absl::StrCat(
      "minus ", report.against() == "log" ? "log" : report.against());
  Rows rows = {{"policy", "value", "interval", against, "interval", "estimator",
                "kind", "eff. sample"}};
  for (const OpePolicy& policy : report.policies()) {
    const OpeEstimate& answer = policy.answer();
    rows.push_back(
        {policy.name(), ValueCell(answer), ValueInterval(answer),
         GainCell(answer), GainInterval(answer), EstimatorCell(answer),
         answer.has_gain() ? answer.gain_interval() : answer.value_interval(),
         absl::StrFormat("%.1f", policy.effective_sample_size())});
  }
  absl::StrAppend(text, "\n", FormatTable(rows));
  for (const OpePolicy& policy : report.policies()) {
    if (!policy.answer().has_outside_interval()) continue;
    absl::StrAppend(text, "  ", policy.name(), ": ",
                    policy.answer().outside_interval(), "\n");
  }
}

// Lists the rows without an interval, by reason.
void AppendWithoutInterval(
    const google::protobuf::RepeatedPtrField<OpeEstimate>& rows,
    std::string* text) {
  std::map<std::string, std::vector<std::string>> rows_of;  // By reason.
  for (const OpeEstimate& row : rows) {
    if (row.has_no_interval()) {
      rows_of[row.no_interval()].push_back(EstimatorCell(row));
    }
  }
  for (const auto& [reason, names] : rows_of) {
    absl::StrAppend(text, "  No interval of ", absl::StrJoin(names, ", "), ": ",
                    reason, "\n");
  }
}

// Lists the rows whose estimate is outside of its interval.
void AppendOutside(const google::protobuf::RepeatedPtrField<OpeEstimate>& rows,
                   std::string* text) {
  for (const OpeEstimate& row : rows) {
    if (!row.has_outside_interval()) continue;
    absl::StrAppend(text, "  ! ", EstimatorCell(row), ": ",
                    row.outside_interval(), "\n");
  }
}

void AppendRankings(const OpePolicy& policy, std::string* text) {
  if (!policy.has_rankings()) return;
  absl::StrAppend(text, "\n", policy.name(), " by rank. ",
                  policy.rankings().guidance(), "\n");
  Rows rows = {{"", "estimator", "value", "interval", "gain", "interval",
                "kind", "eff. sample"}};
  for (const OpeEstimate& row : policy.rankings().estimates()) {
    rows.push_back({absl::StrCat(row.chosen() ? "*" : "",
                                 row.has_outside_interval() ? "!" : ""),
                    EstimatorCell(row), ValueCell(row), ValueInterval(row),
                    GainCell(row), GainInterval(row), row.value_interval(),
                    row.has_effective_sample_size()
                        ? absl::StrFormat("%.1f", row.effective_sample_size())
                        : ""});
  }
  absl::StrAppend(text, FormatTable(rows));
  AppendWithoutInterval(policy.rankings().estimates(), text);
  AppendOutside(policy.rankings().estimates(), text);
  for (const auto& test : policy.rankings().tests()) {
    absl::StrAppend(
        text, "  ", test.question(), " ",
        test.ranks() == 0 ? "Too few data to say."
        : test.rejected()
            ? absl::StrFormat("Yes, p = %.2g.", test.p_value())
            : absl::StrFormat("Nothing says so, p = %.2g.", test.p_value()),
        "\n");
  }
  if (policy.rankings().has_marginal_error()) {
    absl::StrAppend(
        text, "  How probably items are at ranks was drawn, within ",
        absl::StrFormat("%.2g %%", 100 * policy.rankings().marginal_error()),
        " on average.\n");
  }
}

void AppendEstimates(const OpePolicy& policy, std::string* text) {
  absl::StrAppend(text, "\n", policy.name(), ": ", policy.description(), "\n",
                  policy.verdict(), "\n");
  Rows rows = {{"", "estimator", "value", "interval", "gain", "interval"}};
  for (const OpeEstimate& estimate : policy.estimates()) {
    rows.push_back({absl::StrCat(estimate.chosen() ? "*" : "",
                                 estimate.has_outside_interval() ? "!" : ""),
                    EstimatorCell(estimate), ValueCell(estimate),
                    ValueInterval(estimate), GainCell(estimate),
                    GainInterval(estimate)});
  }
  for (const OpeEstimate& estimate : policy.intervals()) {
    rows.push_back(
        {"",
         absl::StrCat(EstimatorCell(estimate), ", ",
                      estimate.has_value_interval() ? estimate.value_interval()
                                                    : estimate.gain_interval()),
         ValueCell(estimate), ValueInterval(estimate), GainCell(estimate),
         GainInterval(estimate)});
  }
  if (policy.grouped().has_gain()) {
    rows.push_back({"", "in groups", ValueCell(policy.grouped()),
                    ValueInterval(policy.grouped()), GainCell(policy.grouped()),
                    GainInterval(policy.grouped())});
  }
  absl::StrAppend(text, FormatTable(rows));
  AppendWithoutInterval(policy.estimates(), text);
  AppendOutside(policy.estimates(), text);
  for (const OpeEstimate& reward : policy.more_rewards()) {
    absl::StrAppend(text, "  ", reward.estimator(), ": ",
                    reward.has_value()
                        ? ValueCell(reward)
                        : "unknown: all of its file is 0, or it judges fewer "
                          "than 2 decisions",
                    " ", ValueInterval(reward));
    if (reward.has_gain()) {
      absl::StrAppend(text, ", change ", GainCell(reward), " ",
                      GainInterval(reward));
    }
    absl::StrAppend(text, "\n");
  }
  for (const auto& guardrail : policy.guardrails()) {
    absl::StrAppend(text, "  guardrail ", guardrail.reward(),
                    guardrail.holds() ? " holds" : " does not hold",
                    ": may fall by ", Text(guardrail.allowed()), "\n");
  }
  for (const auto& finding : policy.findings()) {
    absl::StrAppend(text, "  ", finding.kind(), ": ", finding.sentence(), "\n");
  }
}

void AppendSlices(absl::string_view title,
                  const google::protobuf::RepeatedPtrField<OpeSlice>& slices,
                  const OpeReport& report, std::string* text) {
  if (slices.empty()) return;
  Rows rows = {{std::string(title), "decisions", "log"}};
  for (const OpePolicy& policy : report.policies()) {
    rows[0].push_back(policy.name());
    rows[0].push_back("interval");
  }
  for (const OpeSlice& slice : slices) {
    std::vector<std::string>& row = rows.emplace_back();
    row = {slice.name(), absl::StrCat(slice.decisions()),
           Text(slice.logged().value())};
    for (const OpeEstimate& estimate : slice.policies()) {
      row.push_back(ValueCell(estimate));
      row.push_back(ValueInterval(estimate));
    }
  }
  absl::StrAppend(text, "\n", FormatTable(rows));
}

void AppendPlans(const OpeReport& report, std::string* text) {
  if (report.plans().empty()) return;
  Rows rows = {{"to see with power 0.8", "improvement", "decisions", "days"}};
  for (const auto& plan : report.plans()) {
    rows.push_back(
        {plan.policy(), SignedText(plan.improvement()),
         CountText(plan.decisions()),
         plan.has_days() ? absl::StrFormat("%.3g", plan.days()) : ""});
  }
  absl::StrAppend(text, "\n", FormatTable(rows));
}

void AppendInterleavings(const OpeReport& report, std::string* text) {
  if (report.interleavings().empty()) return;
  Rows rows = {{"interleaved", "with", "method", "decisions", "preference",
                "interval", "kind", "credited"}};
  absl::StrAppend(text, "\n");
  for (const auto& each : report.interleavings()) {
    absl::StrAppend(text, each.verdict(), "\n");
    rows.push_back(
        {absl::StrCat(each.version()), absl::StrCat(each.other_version()),
         each.method(), CountText(each.decisions()),
         each.has_preference() ? SignedText(each.preference().value()) : "",
         IntervalCell(each.has_preference(), each.preference()),
         each.interval(), each.has_credited() ? Text(each.credited()) : ""});
  }
  absl::StrAppend(text, FormatTable(rows));
}

void AppendExploration(const OpeReport& report, std::string* text) {
  if (report.exploration().empty()) return;
  Rows rows = {{"newest with mixture", "value", "interval", "cost",
                "decisions to judge by"}};
  for (const auto& exploration : report.exploration()) {
    rows.push_back(
        {absl::StrFormat("%g", exploration.mixture()),
         ValueCell(exploration.value()), ValueInterval(exploration.value()),
         Text(exploration.cost()),
         exploration.has_decisions() ? CountText(exploration.decisions())
                                     : ""});
  }
  absl::StrAppend(text, "\n", FormatTable(rows));
}

}  // namespace

std::string FormatOpeReport(const OpeReport& report) {
  std::string text = absl::StrCat(report.verdict(), "\n\n");
  AppendLog(report, &text);
  AppendAnswers(report, &text);
  for (const OpePolicy& policy : report.policies()) {
    AppendEstimates(policy, &text);
  }
  if (report.has_rank_log()) {
    const auto& ranks = report.rank_log();
    absl::StrAppend(&text, "\nRewards by rank: in ",
                    CountText(ranks.with_rank_rewards()), " of ",
                    CountText(ranks.decisions()), " decisions; mean of the ",
                    ranks.rank_weights(), " ", Text(ranks.logged().value()),
                    " ", IntervalCell(true, ranks.logged()), "\n");
  }
  for (const OpePolicy& policy : report.policies()) {
    AppendRankings(policy, &text);
  }
  AppendSlices("segment", report.segments(), report, &text);
  AppendSlices("day (UTC)", report.days(), report, &text);
  AppendSlices("propensity", report.propensities(), report, &text);
  AppendInterleavings(report, &text);
  AppendPlans(report, &text);
  AppendExploration(report, &text);
  if (!report.findings().empty()) absl::StrAppend(&text, "\nFindings\n");
  for (const auto& finding : report.findings()) {
    absl::StrAppend(&text, "  ", finding.kind(), ": ", finding.sentence(),
                    "\n");
  }
  absl::StrAppend(&text, "\nAssumed\n");
  for (const std::string& assumption : report.assumptions()) {
    absl::StrAppend(&text, "  ", assumption, "\n");
  }
  absl::StrAppend(&text, "\n", report.program(), ", ",
                  absl::StrFormat("%.3g s", report.seconds()), "\n");
  return text;
}

}  // namespace sortition
