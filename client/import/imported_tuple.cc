#include "client/import/imported_tuple.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/data/action.h"
#include "io/segments/decision_view.h"
#include "io/segments/shown_action.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

absl::Status Bad(absl::string_view name, double value,
                 absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, ", must be ", permitted));
}

// `end` is the number of things to choose from.
absl::Status CheckAction(const log::v1::Decision& decision, uint32_t end,
                         std::span<const bool> eligible) {
  const bool select = decision.action_kind() == log::v1::SELECT;
  const bool rank = decision.action_kind() == log::v1::RANK;
  const int lowest = select && decision.can_abstain() ? kAbstain : 0;
  const auto error = [&](absl::string_view permitted) {
    return absl::InvalidArgumentError(
        absl::StrCat("action is [", absl::StrJoin(decision.action(), ", "),
                     "], must be ", permitted));
  };
  if (select && decision.action_size() != 1) return error("one index");
  if (rank && decision.action().empty()) return error("at least one index");
  std::vector<bool> seen(end);
  for (const int32_t index : decision.action()) {
    if (index == kAbstain && lowest == kAbstain) continue;
    const auto i = static_cast<uint32_t>(index);
    if (i >= end || seen[i]) {
      return error(
          absl::StrCat("different indexes in [", lowest, ", ", end, ")"));
    }
    if (!eligible.empty() && !eligible[i]) return error("eligible");
    seen[i] = true;
  }
  return absl::OkStatus();
}

// Ends what was shown with something that is not the action's next rank.
void AddSomethingElse(const log::v1::Decision& decision,
                      log::v1::Shown* shown) {
  if (!shown->shown().empty()) {
    shown->add_shown(shown->shown(0));  // It has its rank already.
  } else if (NumRanks(decision) == 0) {
    shown->add_shown(0);  // Anything is something else.
  } else if (shown->has_seen_ranks()) {
    shown->add_shown(decision.action(0) == 0 ? 1 : 0);
  } else {
    shown->set_not_shown(true);
  }
}

}  // namespace

void SetModel(const config::v1::LogImportOptions& options,
              log::v1::Decision* decision) {
  if (options.has_model()) {
    decision->set_model(options.model());
  } else if (decision->model().empty()) {
    decision->set_model("default");
  }
  if (options.has_version()) decision->set_version(options.version());
}

absl::Status SetPropensity(std::optional<double> propensity,
                           std::optional<double> log_propensity,
                           log::v1::Decision* decision) {
  // Of a propensity that was rounded to 0 or 1 the logarithm says more.
  constexpr double kAgree = 1e-6;
  // Sums of float probabilities are up to this much above 1.
  constexpr double kAboveOne = 1e-6;
  if (propensity && *propensity > 1 && *propensity <= 1 + kAboveOne) {
    propensity = 1;
  }
  if (propensity && !(*propensity >= 0 && *propensity <= 1)) {
    return Bad("propensity", *propensity, "in (0, 1]");
  }
  if (!log_propensity) {
    if (!propensity) return absl::InvalidArgumentError("propensity is missing");
    if (*propensity == 0) return Bad("propensity", 0, "in (0, 1]");
    decision->set_log_propensity(std::log(*propensity));
    return absl::OkStatus();
  }
  if (!(*log_propensity <= 1e-9) || std::isinf(*log_propensity)) {
    return Bad("log_propensity", *log_propensity,
               "a logarithm of a number in (0, 1]");
  }
  if (propensity &&
      std::abs(*propensity - std::exp(*log_propensity)) >
          kAgree * *propensity + std::numeric_limits<double>::min()) {
    return absl::InvalidArgumentError(
        absl::StrCat("propensity is ", *propensity, ", must be ",
                     std::exp(*log_propensity), ", that of log_propensity"));
  }
  decision->set_log_propensity(*log_propensity);
  return absl::OkStatus();
}

absl::Status ReadAttributes(const JsonValue& object, absl::string_view name,
                            log::v1::Decision* decision) {
  if (!object.IsObject()) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is ", Describe(object), ", must be an object of strings"));
  }
  for (const auto& member : object.GetObject()) {
    const absl::string_view attribute = TextOf(member.name);
    ASSIGN_OR_RETURN(
        const absl::string_view value,
        Text(member.value, absl::StrCat(name, ".", Shown(attribute))));
    (*decision->mutable_attributes())[std::string(attribute)] =
        std::string(value);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<uint32_t>> CountShownRanks(
    const std::vector<std::optional<bool>>& by_rank) {
  const auto was_shown = [](std::optional<bool> flag) {
    return flag.value_or(true);
  };
  const auto end = std::find_if_not(by_rank.begin(), by_rank.end(), was_shown);
  const auto beyond = std::find_if(end, by_rank.end(), was_shown);
  if (beyond != by_rank.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_shown is 0 at the rank ", end - by_rank.begin() + 1,
        " and not at the rank ", beyond - by_rank.begin() + 1,
        " behind it, must be 1 at the first ranks and 0 at all others"));
  }
  const bool is_said = std::any_of(by_rank.begin(), by_rank.end(),
                                   [](auto flag) { return flag.has_value(); });
  if (!is_said) return std::optional<uint32_t>();
  return std::optional<uint32_t>(static_cast<uint32_t>(end - by_rank.begin()));
}

absl::Status SetShown(const ImportedShown& known, log::v1::BanditTuple* tuple) {
  const log::v1::Decision& decision = tuple->decision();
  const uint32_t ranks = NumRanks(decision);
  const uint32_t shown_ranks =
      known.shown_ranks.value_or(known.is_action ? ranks : 0);
  if (shown_ranks > ranks) {
    return Bad("number of ranks shown", shown_ranks,
               absl::StrCat("in [0, ", ranks, "]"));
  }
  if (known.seen_ranks == 0u) return Bad("seen_ranks", 0, "at least 1");
  const bool is_action = known.is_action && (shown_ranks > 0 || ranks == 0);
  const bool is_whole = is_action && shown_ranks == ranks;
  if (is_whole && !known.seen_ranks) return absl::OkStatus();
  log::v1::Shown* shown = tuple->mutable_shown();
  shown->set_decision_id(decision.decision_id());
  if (known.seen_ranks) shown->set_seen_ranks(*known.seen_ranks);
  if (is_whole) return absl::OkStatus();
  for (uint32_t rank = 0; rank < shown_ranks; ++rank) {
    shown->add_shown(
        static_cast<uint32_t>(decision.action(static_cast<int>(rank))));
  }
  if (!is_action) AddSomethingElse(decision, shown);
  return absl::OkStatus();
}

absl::Status SetKeepProbability(double keep, log::v1::BanditTuple* tuple) {
  if (!(keep > 0 && keep <= 1))
    return Bad("keep_probability", keep, "in (0, 1]");
  if (keep < 1) tuple->set_keep_probability(keep);
  return absl::OkStatus();
}

absl::Status CheckConditionals(const log::v1::Decision& decision) {
  constexpr double kAgree = 1e-6;
  if (decision.conditional_log_propensities().empty()) return absl::OkStatus();
  double sum = 0;
  for (const double conditional : decision.conditional_log_propensities()) {
    if (!std::isfinite(conditional) || conditional > 1e-9) {
      return Bad("conditional_log_propensity", conditional,
                 "a logarithm of a number in (0, 1]");
    }
    sum += conditional;
  }
  if (std::abs(sum - decision.log_propensity()) > kAgree * (1 - sum)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the conditional log-propensities add up to ", sum, ", must be ",
        decision.log_propensity(), ", that of the decision"));
  }
  return absl::OkStatus();
}

absl::Status CheckTuple(const log::v1::BanditTuple& tuple) {
  const log::v1::Decision& decision = tuple.decision();
  if (decision.decision_id().empty()) {
    return absl::InvalidArgumentError("the decision id is empty");
  }
  if (!std::isfinite(tuple.reward())) {
    return Bad("reward", tuple.reward(), "a finite number");
  }
  if (!(tuple.keep_probability() >= 0 && tuple.keep_probability() <= 1)) {
    return Bad("keep_probability", tuple.keep_probability(), "in (0, 1]");
  }
  // Rounding may put the logarithm of a certain action above 0.
  const double log_propensity = decision.log_propensity();
  if (!std::isfinite(log_propensity) || log_propensity > 1e-9) {
    return Bad("log_propensity", log_propensity,
               "a logarithm of a number in (0, 1]");
  }
  ASSIGN_OR_RETURN(const DecisionView view, ViewDecision(decision));
  if (decision.action_kind() == log::v1::LABELS) {
    return CheckAction(decision, decision.num_labels(), {});
  }
  if (!ActionKindOf(decision)) {
    return Bad("action_kind", decision.action_kind(),
               "SELECT, RANK, SUBSET or LABELS");
  }
  const int conditionals = decision.conditional_log_propensities_size();
  if (conditionals != 0 && conditionals != decision.action_size()) {
    return Bad("number of conditional_log_propensities", conditionals,
               "that of the ranks");
  }
  RETURN_IF_ERROR(CheckConditionals(decision));
  return CheckAction(decision, view.num_candidates(), view.eligible);
}

}  // namespace sortition
