#include "trainer/rollout/guardrail_files.h"

#include "absl/strings/str_cat.h"
#include "core/counterfactual/sequential/unit_rounds.h"

namespace sortition {

GuardrailFiles::GuardrailFiles(const std::vector<RolloutLimit>& limits) {
  for (const RolloutLimit& limit : limits) {
    guardrails_.push_back(
        {limit.name, RewardFile::Read(limit.file.path, limit.file.period,
                                      RewardBounds{limit.min, limit.max})});
  }
}

void GuardrailFiles::NoteInLog(absl::string_view decision_id) {
  for (Guardrail& guardrail : guardrails_) {
    if (!guardrail.file.ok()) continue;
    guardrail.coverage.NoteInLog(*guardrail.file, decision_id);
  }
}

void GuardrailFiles::AppendOutcomes(const log::v1::Decision& decision,
                                    std::vector<double>* outcomes) {
  const std::string& id = decision.decision_id();
  const int64_t time_us = decision.time_us();
  for (Guardrail& guardrail : guardrails_) {
    if (!guardrail.file.ok()) {
      outcomes->push_back(kUnknownOutcome);
      continue;
    }
    const RewardFile& file = *guardrail.file;
    // Outcomes of later decisions are not due yet.
    if (time_us <= file.judged_until_us()) {
      guardrail.coverage.NoteUsed(file, id, time_us);
    }
    outcomes->push_back(
        file.Look(id, time_us).reward.value_or(kUnknownOutcome));
  }
}

void GuardrailFiles::Check() {
  for (Guardrail& guardrail : guardrails_) {
    if (!guardrail.file.ok()) continue;
    const absl::Status status = guardrail.coverage.Check(*guardrail.file);
    if (!status.ok()) guardrail.file = status;
  }
}

std::optional<int64_t> GuardrailFiles::judged_until_us(size_t guardrail) const {
  const absl::StatusOr<RewardFile>& file = guardrails_[guardrail].file;
  if (!file.ok()) return std::nullopt;
  return file->judged_until_us();
}

std::vector<std::string> GuardrailFiles::Problems() const {
  std::vector<std::string> problems;
  for (const Guardrail& guardrail : guardrails_) {
    if (guardrail.file.ok()) continue;
    problems.push_back(absl::StrCat(
        "guardrail ", guardrail.name,
        " is not judged in this step: ", guardrail.file.status().message()));
  }
  return problems;
}

}  // namespace sortition
