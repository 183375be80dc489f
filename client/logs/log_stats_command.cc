#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "client/logs/log_commands.h"
#include "client/logs/log_stats.h"
#include "core/base/status_macros.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

struct NamedCount {
  absl::string_view name;
  uint64_t count;
};

std::vector<NamedCount> Counts(const LogStats& stats) {
  return {{"segments", stats.segments},
          {"segments_closed", stats.segments_closed},
          {"segments_recovered", stats.segments_recovered},
          {"segments_open", stats.segments_open},
          {"segments_abandoned", stats.segments_abandoned},
          {"bytes", stats.bytes},
          {"records", stats.records},
          {"decisions", stats.decisions},
          {"tuples", stats.tuples},
          {"labels", stats.labels},
          {"subsets", stats.subsets},
          {"without_full_support", stats.without_full_support},
          {"distinct_decision_ids", stats.distinct_decision_ids},
          {"duplicate_decision_ids", stats.duplicate_decision_ids},
          {"shown", stats.shown},
          {"feedback", stats.feedback},
          {"duplicate_feedback_ids", stats.duplicate_feedback_ids},
          {"tuples_with_feedback", stats.tuples_with_feedback},
          {"censored_tuples", stats.censored_tuples},
          {"tuples_with_rank_rewards", stats.tuples_with_rank_rewards},
          {"tuples_with_seen_ranks", stats.tuples_with_seen_ranks},
          {"shadow_views", stats.shadow_views},
          {"late", stats.late},
          {"late_after_window", stats.late_after_window},
          {"late_unknown_decision", stats.late_unknown_decision},
          {"late_out_of_range", stats.late_out_of_range},
          {"late_no_such_candidate", stats.late_no_such_candidate},
          {"late_too_many", stats.late_too_many},
          {"incomplete_marks", stats.incomplete_marks},
          {"foreign_feedback", stats.foreign_feedback},
          {"unknown_feedback", stats.unknown_feedback},
          {"gaps", stats.gaps},
          {"lost_records", stats.lost_records},
          {"missing_records", stats.missing_records},
          {"torn_bytes", stats.torn_bytes},
          {"corrupt_records", stats.corrupt_records}};
}

double MeanPropensity(const VersionStats& version) {
  return version.propensity_sum / std::max(1.0, version.weight_sum);
}

double MeanPropensity(const ShadowStats& shadow) {
  return shadow.propensity_sum / static_cast<double>(shadow.views);
}

// Returns the share of views whose mode was served; 0 where that is not known.
double ModeAgreement(const ShadowStats& shadow) {
  return static_cast<double>(shadow.agreements) /
         std::max(1.0, static_cast<double>(shadow.in_tuples));
}

// Returns 0 where there is nothing.
double Mean(const WeightedSum& sum) {
  return sum.weight_sum > 0 ? sum.sum / sum.weight_sum : 0;
}

double MeanReward(const VersionStats& version) {
  return version.reward_sum / std::max(1.0, version.uncensored_weight_sum);
}

std::string TimeText(int64_t time_us) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%E3SZ", absl::FromUnixMicros(time_us),
                          absl::UTCTimeZone());
}

}  // namespace

std::string LogStatsJson(const LogStats& stats) {
  JsonWriter json;
  json.BeginObject();
  for (const NamedCount& entry : Counts(stats)) {
    json.Key(entry.name).Count(entry.count);
  }
  json.Key("first_time_us").Signed(stats.first_time_us);
  json.Key("last_time_us").Signed(stats.last_time_us);
  json.Key("mean_shown_ranks").Number(Mean(stats.shown_ranks));
  json.Key("mean_seen_ranks").Number(Mean(stats.seen_ranks));
  json.Key("models").BeginArray();
  for (const auto& [model, version] : stats.models) {
    json.BeginObject();
    json.Key("model").String(model.first).Key("version").Count(model.second);
    json.Key("decisions").Count(version.decisions);
    json.Key("estimated_decisions").Number(version.weight_sum);
    json.Key("with_feedback").Count(version.with_feedback);
    json.Key("censored").Count(version.censored);
    json.Key("mean_reward").Number(MeanReward(version));
    json.Key("mean_propensity").Number(MeanPropensity(version));
    json.EndObject();
  }
  json.EndArray();
  json.Key("shadows").BeginArray();
  for (const auto& [model, shadow] : stats.shadows) {
    json.BeginObject();
    json.Key("model").String(model.first).Key("version").Count(model.second);
    json.Key("views").Count(shadow.views);
    json.Key("mean_propensity").Number(MeanPropensity(shadow));
    json.Key("in_tuples").Count(shadow.in_tuples);
    json.Key("mode_agreement").Number(ModeAgreement(shadow));
    json.EndObject();
  }
  json.EndArray();
  json.Key("joins").BeginArray();
  for (const auto& [join, tuples] : stats.joins) {
    json.BeginObject();
    json.Key("join").String(join).Key("tuples").Count(tuples);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string LogStatsText(const LogStats& stats) {
  std::vector<std::vector<std::string>> rows = {{"what", "count"}};
  for (const NamedCount& entry : Counts(stats)) {
    rows.push_back({std::string(entry.name), absl::StrCat(entry.count)});
  }
  std::string text = FormatTable(rows);
  if (stats.first_time_us != 0) {
    absl::StrAppend(&text, "decided from ", TimeText(stats.first_time_us),
                    " to ", TimeText(stats.last_time_us), "\n");
  }
  if (stats.incomplete_marks > 0) {
    absl::StrAppend(&text,
                    "incomplete: feedback for decisions of other servers came "
                    "here, so that of these may have gone there "
                    "(docs/join.md)\n");
  }
  if (stats.tuples_with_seen_ranks > 0) {
    absl::StrAppendFormat(
        &text, "where reported, %.2f ranks shown and %.2f seen in the mean\n",
        Mean(stats.shown_ranks), Mean(stats.seen_ranks));
  }
  for (const auto& [join, tuples] : stats.joins) {
    absl::StrAppend(&text, tuples, " tuples joined by ", join, "\n");
  }
  if (stats.models.empty() && stats.shadows.empty()) return text;
  rows = {{"model", "version", "decisions", "estimate of all", "with feedback",
           "censored", "mean reward", "mean propensity"}};
  for (const auto& [model, version] : stats.models) {
    rows.push_back({model.first, absl::StrCat(model.second),
                    absl::StrCat(version.decisions),
                    absl::StrFormat("%.0f", version.weight_sum),
                    absl::StrCat(version.with_feedback),
                    absl::StrCat(version.censored),
                    absl::StrFormat("%.6f", MeanReward(version)),
                    absl::StrFormat("%.6g", MeanPropensity(version))});
  }
  absl::StrAppend(&text, "\n", FormatTable(rows));
  if (stats.shadows.empty()) return text;
  rows = {
      {"shadow of", "version", "views", "mean propensity", "mode agreement"}};
  for (const auto& [model, shadow] : stats.shadows) {
    rows.push_back({model.first, absl::StrCat(model.second),
                    absl::StrCat(shadow.views),
                    absl::StrFormat("%.6g", MeanPropensity(shadow)),
                    shadow.in_tuples == 0
                        ? ""
                        : absl::StrFormat("%.6g", ModeAgreement(shadow))});
  }
  return absl::StrCat(text, "\n", FormatTable(rows));
}

absl::Status RunLogStats(const config::v1::LogOptions& options,
                         const std::vector<std::string>& positional,
                         CommandOutput* output) {
  RETURN_IF_ERROR(CheckChoice("output", options.output(), {"text", "json"}));
  ASSIGN_OR_RETURN(const LogStats stats, CollectLogStats(positional));
  output->out << (options.output() == "json" ? LogStatsJson(stats) + "\n"
                                             : LogStatsText(stats));
  return absl::OkStatus();
}

}  // namespace sortition
