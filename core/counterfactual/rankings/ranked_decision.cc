#include "core/counterfactual/rankings/ranked_decision.h"

#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/rankings/field_checks.h"

namespace sortition {
namespace {

// Logarithms of probabilities of 1 may be so much above 0 by rounding.
constexpr double kRounding = 1e-9;

absl::Status CheckLogs(absl::string_view field, std::span<const double> logs,
                       size_t expected, bool may_be_impossible) {
  RETURN_IF_ERROR(CheckSize(field, logs.size(), expected));
  for (size_t k = 0; k < logs.size(); ++k) {
    // NaN fails the comparison, too.
    if (!(logs[k] <= kRounding)) {
      return OutOfRange(field, k, logs[k], "at most 0");
    }
    if (!may_be_impossible && std::isinf(logs[k])) {
      return OutOfRange(field, k, logs[k], "finite");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckModel(absl::string_view field, std::span<const double> model,
                        size_t expected) {
  RETURN_IF_ERROR(CheckSize(field, model.size(), expected));
  for (size_t k = 0; k < model.size(); ++k) {
    if (!std::isfinite(model[k])) {
      return OutOfRange(field, k, model[k], "finite");
    }
  }
  return absl::OkStatus();
}

}  // namespace

double RankingValue::Largest() const {
  return std::accumulate(rank_weights.begin(), rank_weights.end(),
                         whole_weight);
}

absl::Status CheckRankingValue(const RankingValue& value) {
  if (value.rank_weights.size() > RankingValue::kMaxCountedRanks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rank_weights has ", value.rank_weights.size(),
        " numbers, must have at most ", RankingValue::kMaxCountedRanks));
  }
  for (size_t k = 0; k < value.rank_weights.size(); ++k) {
    const double weight = value.rank_weights[k];
    if (!(weight >= 0) || !std::isfinite(weight)) {
      return OutOfRange("rank_weights", k, weight, "finite and at least 0");
    }
  }
  if (!(value.whole_weight >= 0) || !std::isfinite(value.whole_weight)) {
    return absl::InvalidArgumentError(
        absl::StrCat("whole_weight is ", value.whole_weight,
                     ", must be finite and at least 0"));
  }
  if (!(value.Largest() > 0)) {
    return absl::InvalidArgumentError(
        "rank_weights and whole_weight are 0, one must be above 0");
  }
  return absl::OkStatus();
}

absl::Status CheckRankedDecision(const RankedDecision& decision,
                                 bool needs_marginals) {
  const size_t shown = decision.rewards.size();
  for (size_t k = 0; k < shown; ++k) {
    if (!IsUnit(decision.rewards[k])) {
      return OutOfRange("rewards", k, decision.rewards[k], "in [0, 1]");
    }
  }
  if (!IsUnit(decision.whole_reward)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "whole_reward is ", decision.whole_reward, ", must be in [0, 1]"));
  }
  const size_t logged = decision.log_conditionals.size();
  if (shown > logged) {
    return absl::InvalidArgumentError(
        absl::StrCat("rewards has ", shown,
                     " numbers, must have at most as many as "
                     "log_conditionals: ",
                     logged));
  }
  RETURN_IF_ERROR(CheckLogs("log_conditionals", decision.log_conditionals,
                            logged, /*may_be_impossible=*/false));
  if (!needs_marginals) return absl::OkStatus();
  return CheckLogs("log_marginals", decision.log_marginals, shown,
                   /*may_be_impossible=*/false);
}

absl::Status CheckJudgedRanking(const RankedDecision& decision,
                                const JudgedRanking& judged,
                                const RankingInputs& inputs) {
  const size_t shown = decision.rewards.size();
  RETURN_IF_ERROR(CheckLogs("log_conditionals of a policy",
                            judged.log_conditionals,
                            decision.log_conditionals.size(),
                            /*may_be_impossible=*/true));
  if (inputs.marginals) {
    RETURN_IF_ERROR(CheckLogs("log_marginals of a policy", judged.log_marginals,
                              shown, /*may_be_impossible=*/true));
  }
  if (inputs.prefix_model) {
    RETURN_IF_ERROR(CheckModel("prefix_logged", judged.prefix_logged, shown));
    RETURN_IF_ERROR(CheckModel("prefix_policy", judged.prefix_policy, shown));
  }
  if (inputs.position_model) {
    RETURN_IF_ERROR(
        CheckModel("position_logged", judged.position_logged, shown));
    RETURN_IF_ERROR(
        CheckModel("position_policy", judged.position_policy, shown));
  }
  if (inputs.pseudo_inverse &&
      (!judged.pseudo_inverse_weight.has_value() ||
       !std::isfinite(*judged.pseudo_inverse_weight))) {
    return absl::InvalidArgumentError(
        "pseudo_inverse_weight is missing or not finite");
  }
  return absl::OkStatus();
}

}  // namespace sortition
