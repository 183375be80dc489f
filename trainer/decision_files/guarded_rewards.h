#pragma once
// Rewards of decisions, in addition to that of the log, that must not fall by
// much.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/decision_files/outcome_coverage.h"
#include "trainer/decision_files/reward_file.h"

namespace sortition {

class GuardedRewards {
 public:
  // Reads the files of the options `rewards` (NAME=FILE@TERMS) that
  // `guardrails` (NAME:ALLOWED) name, with values in `ranges` (NAME:MIN:MAX)
  // where these are given. InvalidArgument if an option is malformed, if a
  // reward has no guardrail, or if a reward cannot have one
  // (RewardFile::CheckCanBeGuarded).
  static absl::StatusOr<GuardedRewards> Read(
      const google::protobuf::RepeatedPtrField<std::string>& rewards,
      const google::protobuf::RepeatedPtrField<std::string>& guardrails,
      const google::protobuf::RepeatedPtrField<std::string>& ranges);

  const std::vector<NamedLimit>& limits() const { return limits_; }
  // The files, in the order of limits().
  const std::vector<RewardFile>& files() const { return files_; }

  // Counts a decision of the log, whether it is used or not. `found` is by
  // file.
  void NoteInLog(absl::string_view decision_id,
                 std::vector<OutcomeCoverage>* found) const;
  // Notes that a decision is used, and returns its rewards, in the order of
  // limits(); nullopt for one by which it is not judged (RewardFile::Look).
  std::vector<std::optional<double>> NoteUsed(
      absl::string_view decision_id, int64_t time_us,
      std::vector<OutcomeCoverage>* found) const;
  // Returns FailedPrecondition for a file that does not fit the log
  // (OutcomeCoverage::Check). Requires notes of the whole log.
  absl::Status CheckFound(const std::vector<OutcomeCoverage>& found) const;

 private:
  std::vector<NamedLimit> limits_;
  std::vector<RewardFile> files_;
};

}  // namespace sortition
