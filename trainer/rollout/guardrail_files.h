#pragma once
// The reward files of the guardrails of a rollout.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/decision_files/outcome_coverage.h"
#include "trainer/decision_files/reward_file.h"
#include "trainer/rollout/rollout_plan.h"

namespace sortition {

// Reads the file of each guardrail, and compares it with the log. A file that
// cannot be read, or does not fit the log, makes its own guardrail unusable and
// no other one, so that a broken export does not stop the rollout from going
// back. Usage: create, NoteInLog() and AppendOutcomes() for the decisions of a
// log, Check(), then judged_until_us(). Not thread-safe.
class GuardrailFiles {
 public:
  // `limits` are those of the plan.
  explicit GuardrailFiles(const std::vector<RolloutLimit>& limits);

  bool empty() const { return guardrails_.empty(); }
  // Notes that a decision is in the log, whether it is used or not.
  void NoteInLog(absl::string_view decision_id);
  // Notes that a decision is used, and appends its outcomes in the order of the
  // limits; kUnknownOutcome where a guardrail does not judge it.
  void AppendOutcomes(const log::v1::Decision& decision,
                      std::vector<double>* outcomes);
  // Compares the files with what was noted of the whole log.
  void Check();
  // Returns up to when the outcomes of a guardrail are complete; nothing if its
  // file is unusable.
  std::optional<int64_t> judged_until_us(size_t guardrail) const;
  // Returns which guardrails are not judged and why, a sentence for each.
  std::vector<std::string> Problems() const;

 private:
  struct Guardrail {
    std::string name;
    absl::StatusOr<RewardFile> file;
    OutcomeCoverage coverage = {};
  };
  std::vector<Guardrail> guardrails_;
};

}  // namespace sortition
