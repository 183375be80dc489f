#include "server/decisions/decision_record.h"

#include <span>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sortition {

int64_t NowUs() { return absl::GetCurrentTimeNanos() / 1000; }

void StartRecord(const v1::DecisionContext& context,
                 const DecisionIdentity& head, const Candidates& candidates,
                 const Draw& draw, log::v1::Decision* record) {
  record->Clear();
  record->set_decision_id(head.decision_id);
  record->set_time_us(head.time_us);
  record->set_model(head.model);
  record->set_version(head.version);
  record->set_num_candidates(candidates.num_candidates());
  record->set_num_features(candidates.num_features());
  *record->mutable_eligible() = context.eligible();
  *record->mutable_candidate_ids() = context.candidates().ids();
  if (context.has_seed()) record->set_seed(context.seed());
  record->mutable_action()->Assign(draw.action.begin(), draw.action.end());
  record->set_log_propensity(draw.log_propensity);
}

absl::Status AppendRecord(const v1::DecisionContext& context,
                          const Candidates& candidates, SpoolWriter* spool,
                          log::v1::Decision* record) {
  std::span<const float> dense_values;
  if (context.candidates().has_sparse()) {
    *record->mutable_sparse() = context.candidates().sparse();
  } else {
    dense_values = candidates.values();
  }
  const absl::Status status = spool->AppendDecision(*record, dense_values);
  return status.ok() ? status : NotLogged(status);
}

absl::Status NotLogged(const absl::Status& status) {
  const absl::StatusCode code = absl::IsResourceExhausted(status)
                                    ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kUnavailable;
  return absl::Status(
      code, absl::StrCat("not logged, so not answered: ", status.message()));
}

}  // namespace sortition
