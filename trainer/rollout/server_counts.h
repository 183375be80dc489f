#pragma once
// What the servers' metrics say of errors and times of two versions.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/model/v1/rollout.pb.h"

namespace sortition {

// Returns what a text of metrics says of the versions of a model:
// sortition_version_answers_total, of which those with a code other than OK are
// errors, and sortition_version_seconds_total. Other lines are passed over.
std::map<uint64_t, model::v1::VersionCount> ParseVersionCounts(
    absl::string_view text, absl::string_view model);

// Adds to the counts of the stage what `server` counted since it was asked
// last. A counter that fell has begun again.
void AddServerCounts(const std::string& server,
                     const std::map<uint64_t, model::v1::VersionCount>& counts,
                     model::v1::Rollout* rollout);

// Begins the counts of a stage: what the servers have counted so far does not
// belong to it.
void BeginStageCounts(model::v1::Rollout* rollout);

// Asks each server of a list of HOST:PORT. An error names the server that does
// not answer.
absl::StatusOr<
    std::map<std::string, std::map<uint64_t, model::v1::VersionCount>>>
FetchServerCounts(absl::string_view servers, absl::string_view model);

struct ServerFinding {
  bool is_known = false;            // Both versions answered.
  std::optional<std::string> harm;  // Why the canary must go back, in words.
};

// Compares the versions in their stage. The share of errors is higher by more
// than the plan allows if the lower end of its exact interval for the canary is
// above the upper end for the stable version [ClopperPearson34]; the k-th look
// may be wrong with 6/(πk)² of `error_risk`, so that all of them together keep
// it. Times are means of at least `min_answers` answers, without a test.
ServerFinding JudgeServers(const config::v1::RolloutPlan& plan,
                           const model::v1::Rollout& rollout);

}  // namespace sortition
