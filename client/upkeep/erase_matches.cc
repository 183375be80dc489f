#include "client/upkeep/erase_matches.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/segments/erased_record.h"
#include "io/segments/parse_message.h"

namespace sortition {
namespace {

using log::v1::LogRecord;

// Returns the decision that the record holds; null if it holds none.
const log::v1::Decision* DecisionOf(const LogRecord& record) {
  if (record.has_decision()) return &record.decision();
  return record.has_tuple() ? &record.tuple().decision() : nullptr;
}

// Returns the id of the decision that the record is or refers to.
absl::string_view DecisionIdOf(const LogRecord& record) {
  switch (record.record_case()) {
    case LogRecord::kDecision:
      return record.decision().decision_id();
    case LogRecord::kTuple:
      return record.tuple().decision().decision_id();
    case LogRecord::kShown:
      return record.shown().decision_id();
    case LogRecord::kFeedback:
      return record.feedback().decision_id();
    case LogRecord::kLate:
      return record.late().feedback().decision_id();
    case LogRecord::kShadowView:
      return record.shadow_view().decision_id();
    default:
      return "";
  }
}

}  // namespace

void EraseCounts::Add(const EraseCounts& other) {
  decisions += other.decisions;
  tuples += other.tuples;
  shown += other.shown;
  feedback += other.feedback;
  late += other.late;
  views += other.views;
  damaged += other.damaged;
}

std::string EraseCounts::Text() const {
  std::string text;
  for (const auto& [count, what] :
       {std::pair(decisions, "decisions"), std::pair(tuples, "tuples"),
        std::pair(shown, "reports of what was shown"),
        std::pair(feedback, "feedback"), std::pair(late, "late feedback"),
        std::pair(views, "views of shadows"),
        std::pair(damaged, "damaged records")}) {
    if (count == 0) continue;
    absl::StrAppend(&text, text.empty() ? "" : ", ", count, " ", what);
  }
  return text.empty() ? "nothing" : text;
}

void EraseIds::Learn(const LogRecord& record) {
  const log::v1::Decision* const decision = DecisionOf(record);
  if (decision != nullptr && units_.contains(decision->unit_id())) {
    decisions_.insert(decision->decision_id());
  }
}

bool EraseIds::Matches(const LogRecord& record) const {
  const absl::string_view id = DecisionIdOf(record);
  if (!id.empty() && decisions_.contains(id)) return true;
  const log::v1::Decision* const decision = DecisionOf(record);
  return decision != nullptr && units_.contains(decision->unit_id());
}

bool EraseIds::MatchesBytes(absl::string_view bytes) const {
  for (const auto* const ids : {&units_, &decisions_}) {
    if (std::any_of(ids->begin(), ids->end(), [&](const std::string& id) {
          return absl::StrContains(bytes, id);
        })) {
      return true;
    }
  }
  return false;
}

void CountErased(const LogRecord& record, EraseCounts* counts) {
  switch (record.record_case()) {
    case LogRecord::kDecision:
      ++counts->decisions;
      break;
    case LogRecord::kTuple:
      ++counts->tuples;
      break;
    case LogRecord::kShown:
      ++counts->shown;
      break;
    case LogRecord::kFeedback:
      ++counts->feedback;
      break;
    case LogRecord::kLate:
      ++counts->late;
      break;
    case LogRecord::kShadowView:
      ++counts->views;
      break;
    default:
      break;
  }
}

absl::StatusOr<std::optional<std::string>> EraseEdit::Replace(
    absl::string_view payload) {
  LogRecord record;
  if (!ParseMessage(payload, &record)) {
    // An intact frame whose content is none of ours.
    if (!ids_.MatchesBytes(payload)) return std::optional<std::string>();
    ++counts_.damaged;
    ASSIGN_OR_RETURN(std::string erased, MakeErasedPayload({}, payload.size()));
    return std::optional<std::string>(std::move(erased));
  }
  if (!ids_.Matches(record)) return std::optional<std::string>();
  CountErased(record, &counts_);
  log::v1::Erased kept;
  if (record.has_tuple()) {
    *kept.mutable_position() = record.tuple().position();
    kept.set_spool_writer(record.tuple().spool_writer());
  } else if (record.has_late()) {
    *kept.mutable_position() = record.late().position();
  }
  ASSIGN_OR_RETURN(std::string erased, MakeErasedPayload(kept, payload.size()));
  return std::optional<std::string>(std::move(erased));
}

bool EraseEdit::Wipes(absl::string_view damaged) {
  if (!ids_.MatchesBytes(damaged)) return false;
  ++counts_.damaged;
  return true;
}

}  // namespace sortition
