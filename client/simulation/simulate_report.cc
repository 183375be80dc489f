#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/simulation/simulate.h"
#include "process/json_writer.h"
#include "process/text_table.h"

namespace sortition {
namespace {

double Rate(const SimulateResult& result) {
  return result.seconds > 0
             ? static_cast<double>(result.rewards.decisions) / result.seconds
             : 0;
}

void WriteRewards(const RewardStats& rewards, JsonWriter* json) {
  json->Key("decisions").Count(rewards.decisions);
  json->Key("mean_reward").Number(rewards.mean_reward());
  json->Key("standard_error").Number(rewards.standard_error());
  json->Key("expected_reward").Number(rewards.mean_expected_reward());
  json->Key("abstain_rate").Number(rewards.abstain_rate());
}

double Milliseconds(const SimulateResult& result, double quantile) {
  return 1e3 * result.latency.Quantile(quantile);
}

std::vector<std::string> RewardRow(const std::string& name,
                                   const RewardStats& rewards) {
  return {name,
          absl::StrCat(rewards.decisions),
          absl::StrFormat("%.4f", rewards.mean_reward()),
          absl::StrFormat("%.4f", rewards.standard_error()),
          absl::StrFormat("%.4f", rewards.mean_expected_reward()),
          absl::StrFormat("%.4f", rewards.abstain_rate())};
}

// Returns a table of what was clicked; nothing where nothing was ranked.
std::string ClicksText(const RankClicks& ranks) {
  if (ranks.shown.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"rank", "shown", "clicked", "share"}};
  for (size_t rank = 0; rank < ranks.shown.size(); ++rank) {
    const double share = static_cast<double>(ranks.clicked[rank]) /
                         static_cast<double>(ranks.shown[rank]);
    rows.push_back({absl::StrCat(rank), absl::StrCat(ranks.shown[rank]),
                    absl::StrCat(ranks.clicked[rank]),
                    absl::StrFormat("%.4f", share)});
  }
  return FormatTable(rows);
}

}  // namespace

std::string SimulateResultJson(const config::v1::SimulateOptions& options,
                               const SimulateResult& result) {
  JsonWriter json;
  json.BeginObject();
  json.Key("action").String(options.action());
  WriteRewards(result.rewards, &json);
  json.Key("failed").Count(result.failed);
  json.Key("failed_reports").Count(result.failed_reports);
  json.Key("failures").BeginObject();
  for (const auto& [code, count] : result.failures) json.Key(code).Count(count);
  json.EndObject();
  json.Key("first_failure").String(result.first_failure);
  json.Key("degraded").Count(result.degraded);
  json.Key("shown_reported").Count(result.shown_reported);
  json.Key("feedback_reported").Count(result.feedback_reported);
  json.Key("seconds").Number(result.seconds);
  json.Key("decisions_per_second").Number(Rate(result));
  json.Key("latency_ms").BeginObject();
  json.Key("p50").Number(Milliseconds(result, 0.5));
  json.Key("p90").Number(Milliseconds(result, 0.9));
  json.Key("p99").Number(Milliseconds(result, 0.99));
  json.Key("p99_9").Number(Milliseconds(result, 0.999));
  json.Key("max").Number(1e3 * result.latency.max_seconds()).EndObject();
  json.Key("version_seen").Bool(result.version_seen);
  json.Key("ranks").BeginArray();
  for (size_t rank = 0; rank < result.ranks.shown.size(); ++rank) {
    json.BeginObject();
    json.Key("shown").Count(result.ranks.shown[rank]);
    json.Key("clicked").Count(result.ranks.clicked[rank]).EndObject();
  }
  json.EndArray();
  json.Key("models").BeginArray();
  for (const auto& [model, rewards] : result.models) {
    json.BeginObject();
    json.Key("model").String(model.first).Key("version").Count(model.second);
    WriteRewards(rewards, &json);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text();
}

std::string SimulateResultText(const config::v1::SimulateOptions& options,
                               const SimulateResult& result) {
  std::string text = absl::StrFormat(
      "%s: %d decisions in %.2f s (%.0f/s), %d failed, %d reports failed\n",
      options.action(), result.rewards.decisions, result.seconds, Rate(result),
      result.failed, result.failed_reports);
  for (const auto& [code, count] : result.failures) {
    absl::StrAppend(&text, "failed  ", code, " ", count, "\n");
  }
  if (!result.first_failure.empty()) {
    absl::StrAppend(&text, "first failure  ", result.first_failure, "\n");
  }
  absl::StrAppendFormat(
      &text, "latency ms  p50 %.3f  p90 %.3f  p99 %.3f  p99.9 %.3f  max %.3f\n",
      Milliseconds(result, 0.5), Milliseconds(result, 0.9),
      Milliseconds(result, 0.99), Milliseconds(result, 0.999),
      1e3 * result.latency.max_seconds());
  if (result.degraded > 0) {
    absl::StrAppend(&text, "degraded answers  ", result.degraded, "\n");
  }
  std::vector<std::vector<std::string>> rows = {
      {"model", "decisions", "reward", "std error", "expected", "abstained"}};
  for (const auto& [model, rewards] : result.models) {
    rows.push_back(RewardRow(
        absl::StrCat(model.first, " version ", model.second), rewards));
  }
  if (result.models.size() != 1) {
    rows.push_back(RewardRow("all", result.rewards));
  }
  return text + FormatTable(rows) + ClicksText(result.ranks);
}

}  // namespace sortition
