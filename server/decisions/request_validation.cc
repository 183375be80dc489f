#include "server/decisions/request_validation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/segments/decision_view.h"
#include "server/decisions/candidate_validation.h"

namespace sortition {
namespace {

// Returns the length of the UTF-8 sequence at the start of `text`, 0 if there
// is none (RFC 3629: no overlong forms, no surrogates, nothing beyond
// U+10FFFF).
size_t Utf8SequenceLength(absl::string_view text) {
  const auto byte = [&](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  const auto follows = [&](size_t i, unsigned low, unsigned high) {
    return byte(i) >= low && byte(i) <= high;
  };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return follows(1, 0x80, 0xBF) ? 2 : 0;
  if (lead < 0xF0) {
    const unsigned low = lead == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (lead > 0xF4) return 0;
  const unsigned low = lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xF4 ? 0x8F : 0xBF;
  return follows(1, low, high) && follows(2, 0x80, 0xBF) &&
                 follows(3, 0x80, 0xBF)
             ? 4
             : 0;
}

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7F;
}

absl::Status CheckEligible(const v1::DecisionContext& context, uint32_t n) {
  const auto& eligible = context.eligible();
  if (eligible.empty()) return absl::OkStatus();
  if (static_cast<uint32_t>(eligible.size()) != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.eligible has ", eligible.size(), " entries: must have ", n,
        ", one per candidate, or none"));
  }
  if (std::find(eligible.begin(), eligible.end(), true) == eligible.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.eligible has 0 true entries: must have 1 to ", n));
  }
  return absl::OkStatus();
}

absl::Status CheckCandidateIds(const v1::Candidates& candidates, uint32_t n) {
  const auto& ids = candidates.ids();
  if (ids.empty()) return absl::OkStatus();
  if (static_cast<uint32_t>(ids.size()) != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates.ids has ", ids.size(), " entries: must have ", n,
        ", one per candidate, or none"));
  }
  for (int i = 0; i < ids.size(); ++i) {
    if (absl::Status status = ValidateId("id", ids[i]); !status.ok()) {
      return InField(absl::StrCat("context.candidates.ids[", i, "]"), status);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckAttributes(const v1::DecisionContext& context) {
  constexpr size_t kMaxAttributes = 16;
  constexpr size_t kMaxNameBytes = 64;
  const auto& attributes = context.attributes();
  if (attributes.size() > kMaxAttributes) {
    return absl::InvalidArgumentError(
        absl::StrCat("context.attributes has ", attributes.size(),
                     " entries: must have at most ", kMaxAttributes));
  }
  for (const auto& [name, value] : attributes) {
    if (name.empty() || name.size() > kMaxNameBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("context.attributes: the name \"",
                       absl::CHexEscape(name.substr(0, 16)), "\" has ",
                       name.size(), " bytes: must have 1 to ", kMaxNameBytes));
    }
    RETURN_IF_ERROR(ValidateId("context.attributes, name", name));
    if (absl::Status status = ValidateId("value", value); !status.ok()) {
      return InField(absl::StrCat("context.attributes[\"", name, "\"]"),
                     status);
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReward(const v1::Feedback& feedback,
                         const config::v1::FeedbackLimits& rewards) {
  if (feedback.value_case() == v1::Feedback::VALUE_NOT_SET) {
    return absl::InvalidArgumentError(
        "reward and loss are unset: one of them must be a finite number, as in "
        "{\"decision_id\": \"…\", \"reward\": 1}");
  }
  const bool is_reward = feedback.value_case() == v1::Feedback::kReward;
  const absl::string_view field = is_reward ? "reward" : "loss";
  const double value = is_reward ? feedback.reward() : feedback.loss();
  if (!std::isfinite(value)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " = ", value, ": must be finite"));
  }
  // A loss is a reward with the other sign; 0 - x is never -0.
  const double min =
      is_reward ? rewards.reward_min() : 0 - rewards.reward_max();
  const double max =
      is_reward ? rewards.reward_max() : 0 - rewards.reward_min();
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " = ", value, ": must be in [", min, ", ", max,
      "] (server options feedback.reward_min and feedback.reward_max)"));
}

// Checks the rank or the index of a candidate.
absl::Status CheckPlace(absl::string_view field, uint32_t place,
                        const config::v1::RequestLimits& limits) {
  if (place < limits.max_candidates()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " = ", place, ": must be in [0, ",
                   limits.max_candidates() - 1, "]"));
}

absl::Status CheckFeedback(const v1::Feedback& feedback,
                           const config::v1::RequestLimits& limits,
                           const config::v1::FeedbackLimits& rewards) {
  if (feedback.feedback_id().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("feedback_id = \"\": must have 1 to ", kMaxIdBytes,
                     " bytes, and be another one for each feedback: of several "
                     "with one id the first counts"));
  }
  RETURN_IF_ERROR(ValidateId("feedback_id", feedback.feedback_id()));
  RETURN_IF_ERROR(ValidateRequiredId("decision_id", feedback.decision_id()));
  RETURN_IF_ERROR(CheckReward(feedback, rewards));
  if (feedback.has_rank() && feedback.has_index()) {
    return absl::InvalidArgumentError(
        absl::StrCat("rank = ", feedback.rank(),
                     ": must be unset where index is set, which "
                     "is ",
                     feedback.index()));
  }
  RETURN_IF_ERROR(CheckPlace("rank", feedback.rank(), limits));
  return CheckPlace("index", feedback.index(), limits);
}

// Checks where a page begins and ends.
absl::Status CheckPage(const v1::ReportShownRequest& request, uint32_t limit) {
  const uint64_t first_rank = request.first_rank();
  const auto entries = static_cast<uint64_t>(request.shown_size());
  if (entries > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shown has ", entries, " entries: must have at most ", limit));
  }
  if (first_rank > 0 && entries == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "first_rank = ", first_rank, ": must be 0 where shown has no entries"));
  }
  if (first_rank + entries > limit) {
    return absl::InvalidArgumentError(absl::StrCat(
        "first_rank = ", first_rank, ": must be in [0, ", limit - entries,
        "] where shown has ", entries, " entries"));
  }
  return absl::OkStatus();
}

absl::Status CheckSeenRanks(const v1::ReportShownRequest& request,
                            uint32_t limit) {
  if (!request.has_seen_ranks()) return absl::OkStatus();
  const uint32_t seen = request.seen_ranks();
  if (request.not_shown()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "seen_ranks = ", seen, ": must be unset where not_shown is true"));
  }
  if (seen < 1 || seen > limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("seen_ranks = ", seen, ": must be in [1, ", limit, "]"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateId(absl::string_view field, absl::string_view id) {
  if (id.size() > kMaxIdBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        field, " = \"", absl::CHexEscape(id.substr(0, 16)), "…\" has ",
        id.size(), " bytes: must have at most ", kMaxIdBytes));
  }
  for (size_t i = 0; i < id.size();) {
    const size_t length = Utf8SequenceLength(id.substr(i));
    if (length == 0 || IsControl(id[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          field, " = \"", absl::CHexEscape(id), "\" holds ",
          length == 0 ? "invalid UTF-8" : "a control character", " at byte ", i,
          ": must be UTF-8 text without control characters"));
    }
    i += length;
  }
  return absl::OkStatus();
}

absl::Status ValidateRequiredId(absl::string_view field, absl::string_view id) {
  if (id.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " = \"\": must have 1 to ", kMaxIdBytes, " bytes"));
  }
  return ValidateId(field, id);
}

absl::StatusOr<PolicyQuery> ValidateQuery(
    const v1::DecisionContext& context, const config::v1::RequestLimits& limits,
    uint32_t num_features, const Schema* schema) {
  RETURN_IF_ERROR(ValidateId("context.decision_id", context.decision_id()));
  RETURN_IF_ERROR(ValidateId("context.unit_id", context.unit_id()));
  RETURN_IF_ERROR(CheckAttributes(context));
  PolicyQuery query;
  RETURN_IF_ERROR(ValidateCandidates(context.candidates(), limits, num_features,
                                     schema, &query));
  const uint32_t n = query.num_candidates();
  RETURN_IF_ERROR(CheckEligible(context, n));
  RETURN_IF_ERROR(CheckCandidateIds(context.candidates(), n));
  query.eligible = SpanOf(context.eligible());
  return query;
}

uint32_t NumEligible(const PolicyQuery& query) {
  if (query.eligible.empty()) return query.num_candidates();
  return static_cast<uint32_t>(
      std::count(query.eligible.begin(), query.eligible.end(), true));
}

absl::Status SetTopK(std::optional<uint32_t> top_k, PolicyQuery* query,
                     std::string* degraded) {
  const uint32_t n = query->num_candidates();
  if (top_k.has_value() && *top_k < 1) {
    return absl::InvalidArgumentError(
        "top_k = 0: must be at least 1, or unset for all candidates");
  }
  const uint32_t eligible = NumEligible(*query);
  if (top_k.has_value() && *top_k > eligible) {
    AddDegraded(CutToEligible("top_k", *top_k, eligible), degraded);
  }
  query->top_k = std::min(top_k.value_or(n), eligible);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> ValidateSubsetSize(const v1::LabelRequest& request) {
  if (!request.has_k()) return 0;
  if (request.k() < 1) {
    return absl::InvalidArgumentError(
        "k = 0: must be at least 1, or unset for the model's own size");
  }
  return request.k();
}

void AddDegraded(absl::string_view reason, std::string* degraded) {
  absl::StrAppend(degraded, degraded->empty() ? "" : "; ", reason);
}

std::string CutToEligible(absl::string_view field, uint32_t number,
                          uint32_t eligible) {
  return absl::StrCat(field, " = ", number, " cut to ", eligible,
                      ", as many as are eligible");
}

absl::Status ValidateShown(const v1::ReportShownRequest& request,
                           const config::v1::RequestLimits& limits) {
  RETURN_IF_ERROR(ValidateRequiredId("decision_id", request.decision_id()));
  if (request.not_shown() && request.shown_size() > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("shown has ", request.shown_size(),
                     " entries: must have none where not_shown is true"));
  }
  const uint32_t limit = limits.max_candidates();
  RETURN_IF_ERROR(CheckPage(request, limit));
  RETURN_IF_ERROR(CheckSeenRanks(request, limit));
  if (request.shown().empty() && !request.not_shown() &&
      !request.has_seen_ranks()) {
    return absl::InvalidArgumentError(
        "shown is empty: must list the document indexes that the user saw, "
        "from "
        "the top, as in {\"decision_id\": \"…\", \"shown\": [2, 0, 1]}; set "
        "not_shown to true if the user saw nothing");
  }
  for (int rank = 0; rank < request.shown_size(); ++rank) {
    if (request.shown(rank) >= limit) {
      return absl::InvalidArgumentError(
          absl::StrCat("shown[", rank, "] = ", request.shown(rank),
                       ": must be in [0, ", limit - 1, "]"));
    }
  }
  std::vector<uint32_t> sorted(request.shown().begin(), request.shown().end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("shown holds document_index ", *twice,
                     " more than once: must be distinct"));
  }
  return absl::OkStatus();
}

absl::Status ValidateRewardRange(const config::v1::FeedbackLimits& rewards) {
  if (rewards.reward_min() <= rewards.reward_max()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "feedback.reward_min = ", rewards.reward_min(),
      ": must be at most feedback.reward_max = ", rewards.reward_max()));
}

absl::Status ValidateFeedback(const v1::ReportFeedbackRequest& request,
                              const config::v1::RequestLimits& limits,
                              const config::v1::FeedbackLimits& rewards) {
  const int count = request.feedback_size();
  if (count < 1 || static_cast<uint32_t>(count) > limits.max_feedback_batch()) {
    return absl::InvalidArgumentError(
        absl::StrCat("feedback has ", count, " entries: must have 1 to ",
                     limits.max_feedback_batch(),
                     " (server option limits.max_feedback_batch)"));
  }
  for (int i = 0; i < count; ++i) {
    if (absl::Status status =
            CheckFeedback(request.feedback(i), limits, rewards);
        !status.ok()) {
      return InField(absl::StrCat("feedback[", i, "]"), status);
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
