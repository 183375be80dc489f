#include "trainer/rollout/server_counts.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/confidence/clopper_pearson.h"
#include "process/http/http_get.h"

namespace sortition {
namespace {

using config::v1::RolloutPlan;
using model::v1::Rollout;
using model::v1::VersionCount;

constexpr HttpGetLimits kLimits = {.time = std::chrono::seconds(5),
                                   .bytes = size_t{64} << 20};
constexpr absl::string_view kAnswers = "sortition_version_answers_total";
constexpr absl::string_view kSeconds = "sortition_version_seconds_total";

// Returns the value of a label in 'a="x",b="y"'; names of models and codes need
// no escapes.
absl::string_view LabelOf(absl::string_view labels, absl::string_view name) {
  for (absl::string_view pair : absl::StrSplit(labels, ',')) {
    if (!absl::ConsumePrefix(&pair, name) ||
        !absl::ConsumePrefix(&pair, "=\"") ||
        !absl::ConsumeSuffix(&pair, "\"")) {
      continue;
    }
    return pair;
  }
  return "";
}

struct Sample {
  absl::string_view name;
  absl::string_view labels;
  double value = 0;
};

// Returns 'name{labels} value' of a line; nullopt: it is something else.
std::optional<Sample> ParseSample(absl::string_view line) {
  const size_t open = line.find('{');
  const size_t close = line.rfind('}');
  if (open == line.npos || close == line.npos || close < open) {
    return std::nullopt;
  }
  Sample sample{.name = line.substr(0, open),
                .labels = line.substr(open + 1, close - open - 1)};
  const std::vector<absl::string_view> rest =
      absl::StrSplit(line.substr(close + 1), ' ', absl::SkipEmpty());
  if (rest.empty() || !absl::SimpleAtod(rest[0], &sample.value) ||
      !std::isfinite(sample.value)) {
    return std::nullopt;
  }
  return sample;
}

// Adds what a counter counted since it was `*seen`.
void AddSince(double now, double seen, double* sum) {
  *sum += now < seen ? now : now - seen;
}

model::v1::ServerCount* SeenOf(const std::string& server, uint64_t version,
                               Rollout* rollout) {
  for (model::v1::ServerCount& seen : *rollout->mutable_seen()) {
    if (seen.server() == server && seen.version() == version) return &seen;
  }
  return nullptr;
}

uint64_t Whole(double count) {
  return static_cast<uint64_t>(std::max(std::llround(count), 0LL));
}

Interval ErrorShare(const VersionCount& count, double confidence) {
  const uint64_t answers = Whole(count.answers());
  return ClopperPearsonInterval(std::min(Whole(count.errors()), answers),
                                answers, confidence);
}

std::string ErrorText(const VersionCount& count) {
  return absl::StrFormat("%.3g %% (%d of %d)",
                         100 * count.errors() / count.answers(),
                         Whole(count.errors()), Whole(count.answers()));
}

}  // namespace

std::map<uint64_t, VersionCount> ParseVersionCounts(absl::string_view text,
                                                    absl::string_view model) {
  std::map<uint64_t, VersionCount> counts;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "sortition_version_")) continue;
    const std::optional<Sample> sample =
        ParseSample(absl::StripTrailingAsciiWhitespace(line));
    uint64_t version = 0;
    if (!sample.has_value() || LabelOf(sample->labels, "model") != model ||
        !absl::SimpleAtoi(LabelOf(sample->labels, "version"), &version)) {
      continue;
    }
    VersionCount& count = counts[version];
    if (sample->name == kAnswers) {
      count.set_answers(count.answers() + sample->value);
      if (LabelOf(sample->labels, "code") != "OK") {
        count.set_errors(count.errors() + sample->value);
      }
    } else if (sample->name == kSeconds) {
      count.set_seconds(count.seconds() + sample->value);
    }
  }
  return counts;
}

void AddServerCounts(const std::string& server,
                     const std::map<uint64_t, VersionCount>& counts,
                     Rollout* rollout) {
  for (const uint64_t version :
       {rollout->canary_version(), rollout->stable_version()}) {
    const auto found = counts.find(version);
    const VersionCount now =
        found == counts.end() ? VersionCount() : found->second;
    model::v1::ServerCount* seen = SeenOf(server, version, rollout);
    const bool is_new = seen == nullptr;
    if (is_new) {
      seen = rollout->add_seen();
      seen->set_server(server);
      seen->set_version(version);
    }
    // The first time, nobody knows what came before the stage.
    if (!is_new) {
      VersionCount* sum = version == rollout->canary_version()
                              ? rollout->mutable_canary()
                              : rollout->mutable_stable();
      double answers = sum->answers();
      double errors = sum->errors();
      double seconds = sum->seconds();
      AddSince(now.answers(), seen->answers(), &answers);
      AddSince(now.errors(), seen->errors(), &errors);
      AddSince(now.seconds(), seen->seconds(), &seconds);
      sum->set_answers(answers);
      sum->set_errors(errors);
      sum->set_seconds(seconds);
    }
    seen->set_answers(now.answers());
    seen->set_errors(now.errors());
    seen->set_seconds(now.seconds());
  }
}

void BeginStageCounts(Rollout* rollout) {
  rollout->clear_canary();
  rollout->clear_stable();
  rollout->clear_looks();
}

absl::StatusOr<std::map<std::string, std::map<uint64_t, VersionCount>>>
FetchServerCounts(absl::string_view servers, absl::string_view model) {
  std::map<std::string, std::map<uint64_t, VersionCount>> counts;
  for (const absl::string_view server :
       absl::StrSplit(servers, ',', absl::SkipWhitespace())) {
    ASSIGN_OR_RETURN(const std::string text,
                     HttpGet(std::string(server), "/metrics", kLimits));
    counts[std::string(server)] = ParseVersionCounts(text, model);
  }
  return counts;
}

ServerFinding JudgeServers(const RolloutPlan& plan, const Rollout& rollout) {
  const VersionCount& canary = rollout.canary();
  const VersionCount& stable = rollout.stable();
  ServerFinding finding;
  finding.is_known = canary.answers() > 0 && stable.answers() > 0;
  if (!finding.is_known) return finding;
  const double look = std::numbers::pi * static_cast<double>(std::max<uint64_t>(
                                             rollout.looks(), 1));
  const double confidence = 1 - plan.error_risk() * 6 / (look * look);
  if (ErrorShare(canary, confidence).lower >
      ErrorShare(stable, confidence).upper + plan.error_difference()) {
    finding.harm = absl::StrCat(
        "its answers are errors in ", ErrorText(canary), ", those of version ",
        rollout.stable_version(), " in ", ErrorText(stable), ", and ",
        100 * plan.error_difference(), " % more are allowed");
    return finding;
  }
  const double canary_mean = canary.seconds() / canary.answers();
  const double stable_mean = stable.seconds() / stable.answers();
  const auto least = static_cast<double>(plan.min_answers());
  if (plan.latency_ratio() > 0 && canary.answers() >= least &&
      stable.answers() >= least &&
      canary_mean > plan.latency_ratio() * stable_mean) {
    finding.harm = absl::StrFormat(
        "its decisions take %.3g ms, those of version %d %.3g ms, and %g times "
        "as long is allowed",
        1e3 * canary_mean, rollout.stable_version(), 1e3 * stable_mean,
        plan.latency_ratio());
  }
  return finding;
}

}  // namespace sortition
