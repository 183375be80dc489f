#include "trainer/tuples/rank_outcomes.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/loss_scaling.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

// Sums of the same rewards may differ by so much, relative to the range.
constexpr double kRounding = 1e-9;
// What the log exposed less counts as if it had exposed it so much: a bounded
// gain that is too small rather than one that varies without bound.
constexpr double kLeastExposure = 1e-3;

// Returns the row of the candidate at each of the first ranks.
std::vector<size_t> RowsOf(const log::v1::Decision& decision,
                           size_t num_ranks) {
  std::vector<size_t> rows;
  const auto& eligible = decision.eligible();
  for (size_t k = 0; k < num_ranks; ++k) {
    const int32_t document = decision.action(static_cast<int>(k));
    rows.push_back(static_cast<size_t>(
        eligible.empty()
            ? document
            : std::count(eligible.begin(), eligible.begin() + document, true)));
  }
  return rows;
}

double SumOf(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

size_t RankOutcome::bytes() const {
  const size_t numbers =
      ranks.losses.capacity() + ranks.log_conditionals.capacity() +
      ranks.log_marginals.capacity() + exposed.exposures.capacity() +
      exposed.gains.capacity();
  return sizeof(RankOutcome) + sizeof(RankedTuple) + sizeof(ExposedTuple) +
         numbers * sizeof(double);
}

std::string RankOptionText(const PoemOptions& options) {
  return options.objective() == PoemOptions::EXPOSURE
             ? "poem.objective is EXPOSURE"
             : absl::StrCat(
                   "poem.rank_weights is ",
                   PoemOptions::RankWeights_Name(options.rank_weights()));
}

RankOutcomes::RankOutcomes(const config::v1::TrainOptions& options,
                           Overrides overrides, RankUse use,
                           RankMarginals marginals)
    : options_(options.poem()),
      range_(RewardRange::Of(options)),
      overrides_(overrides),
      use_(use),
      marginals_(std::move(marginals)),
      needs_(NeedsOf(options.poem())) {}

absl::StatusOr<RankOutcomes> RankOutcomes::Create(
    const config::v1::TrainOptions& options, Overrides overrides, RankUse use,
    RankMarginals marginals) {
  RankOutcomes outcomes(options, overrides, use, std::move(marginals));
  if (!outcomes.are_needed()) return outcomes;
  if (options.poem().objective() == PoemOptions::LOG_SMOOTHING &&
      (options.reward_min() < 0 || options.clamp_rewards())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "poem.objective is LOG_SMOOTHING and ", RankOptionText(options.poem()),
        ", while ",
        options.clamp_rewards()
            ? "clamp_rewards is true"
            : absl::StrCat("reward_min is ", options.reward_min()),
        ": it needs rewards by rank of at least 0 that are not clamped; take "
        "poem.objective CRM, or poem.rank_weights ORDER"));
  }
  CHECK(!outcomes.ascribes() || outcomes.marginals_ != nullptr);
  return outcomes;
}

const log::v1::RankReward* RankOutcomes::FindOutside(
    const log::v1::BanditTuple& logged) const {
  if (!are_needed() || range_.clamps) return nullptr;
  // Ranks of which nothing came have the reward 0.
  const double least = std::min(range_.min, 0.0);
  for (const log::v1::RankReward& rank : logged.rank_rewards()) {
    if (!(rank.reward() >= least && rank.reward() <= range_.max)) return &rank;
  }
  return nullptr;
}

absl::Status RankOutcomes::NoPropensities(
    const log::v1::Decision& decision) const {
  return absl::FailedPreconditionError(absl::StrCat(
      "decision '", decision.decision_id(),
      "' has no propensity of each rank of its own (it was imported, or the "
      "caller's baseline had a part that its log does not tell by rank), must "
      "have one as ",
      RankOptionText(options_), ", poem.objective ",
      PoemOptions::Objective_Name(options_.objective()),
      "; take rank_weights PREFIXES without a model, or other decisions "
      "(--versions, --since)"));
}

absl::Status RankOutcomes::CheckOne(const log::v1::BanditTuple& logged) const {
  if (!ascribes() || logged.reward() == 0) return absl::OkStatus();
  const log::v1::Decision& decision = logged.decision();
  if (!HasFiniteRankPropensities(decision)) return NoPropensities(decision);
  return absl::FailedPreconditionError(absl::StrCat(
      "something else than decision '", decision.decision_id(),
      "' was shown, and which of its ranks earned ", logged.reward(),
      " is not known, must be as ", RankOptionText(options_),
      "; take --overrides=as_shown, or rank_weights PREFIXES"));
}

absl::StatusOr<std::vector<double>> RankOutcomes::RewardsOf(
    const log::v1::BanditTuple& logged, const RankPrefix& prefix,
    RankOutcome* outcome) const {
  std::vector<double> rewards(prefix.ranks, 0);
  // What came of something else says nothing about the action.
  if (prefix.shown_otherwise && overrides_ == Overrides::kAsShown) {
    return rewards;
  }
  const log::v1::Decision& decision = logged.decision();
  if (prefix.shown_otherwise || !HasFiniteRankPropensities(decision)) {
    RETURN_IF_ERROR(CheckOne(logged));
    outcome->is_one = true;
    rewards.back() = logged.reward();
    return rewards;
  }
  for (const log::v1::RankReward& rank : logged.rank_rewards()) {
    if (rank.rank() >= prefix.ranks) continue;
    rewards[rank.rank()] += rank.reward();
    outcome->has_rewards = true;
  }
  const double sum = SumOf(rewards);
  const double rest = logged.reward() - sum;
  if (std::abs(rest) <= kRounding * (range_.max - range_.min)) return rewards;
  const std::string what =
      absl::StrCat("reward of decision '", decision.decision_id(), "' is ",
                   logged.reward(), ", of its ranks ", sum);
  if (rest < 0 && !range_.clamps && range_.min >= 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ", must be at least as much as ",
                     RankOptionText(options_), "; join with aggregation SUM"));
  }
  if (ascribes()) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ", must be the same as ", RankOptionText(options_),
        ": no rank can be weighed for the rest; report feedback with `rank`, "
        "or take rank_weights PREFIXES"));
  }
  rewards.back() += rest;
  return rewards;
}

absl::Status RankOutcomes::FillMarginals(const log::v1::Decision& decision,
                                         const BanditTuple& tuple,
                                         RankedTuple* ranks) const {
  const size_t m = tuple.num_candidates();
  std::vector<double> marginals;
  RETURN_IF_ERROR(marginals_(decision, ranks->num_shown(), &marginals));
  ranks->log_marginals.reserve(ranks->num_shown());
  double log_prefix = 0;
  for (size_t k = 0; k < ranks->num_shown(); ++k) {
    // At least as probable as this very order down to here, whatever rounding
    // left of a tiny integral.
    log_prefix += ranks->log_conditionals[k];
    const double log =
        std::log(marginals[k * m + static_cast<size_t>(tuple.action[k])]);
    ranks->log_marginals.push_back(
        std::min(log > log_prefix ? log : log_prefix, 0.0));
  }
  return absl::OkStatus();
}

std::vector<double> RankOutcomes::LossesOf(const std::vector<double>& rewards,
                                           bool is_one) const {
  std::vector<double> losses(rewards.size(), 0);
  const double size = range_.max - range_.min;
  if (ascribes() || (range_.min == 0 && !range_.clamps)) {
    for (size_t k = 0; k < rewards.size(); ++k) {
      if (rewards[k] != 0) {
        losses[k] = std::clamp(-rewards[k] / size, -1.0, 1.0);
      }
    }
    return losses;
  }
  const auto loss_of = [this](double sum) {
    return RewardToLoss(std::clamp(sum, range_.min, range_.max), range_.min,
                        range_.max);
  };
  if (is_one) {
    losses.back() = loss_of(SumOf(rewards));
    return losses;
  }
  double sum = 0;
  double before = 0;
  for (size_t k = 0; k < rewards.size(); ++k) {
    sum += rewards[k];
    const double loss = loss_of(sum);
    losses[k] = loss - before;
    before = loss;
  }
  return losses;
}

absl::Status RankOutcomes::FillRanks(const log::v1::BanditTuple& logged,
                                     const BanditTuple& tuple,
                                     std::vector<double> losses,
                                     RankedTuple* ranks) const {
  const size_t counted = losses.size();
  const bool earns = std::any_of(losses.begin(), losses.end(),
                                 [](double loss) { return loss != 0; });
  ranks->losses = std::move(losses);
  ranks->log_conditionals.resize(counted, 0);
  const log::v1::Decision& decision = logged.decision();
  if (!HasFiniteRankPropensities(decision)) {
    // A model would correct every rank by a weight that nobody knows.
    if (options_.objective() == PoemOptions::DOUBLY_ROBUST) {
      return NoPropensities(decision);
    }
    ranks->log_conditionals.back() = tuple.log_propensity;
    return absl::OkStatus();
  }
  for (size_t k = 0; k < counted; ++k) {
    // 1 may have been rounded up.
    ranks->log_conditionals[k] = std::min(
        decision.conditional_log_propensities(static_cast<int>(k)), 0.0);
  }
  if (!needs_.marginals || !earns) return absl::OkStatus();
  return FillMarginals(decision, tuple, ranks);
}

absl::Status RankOutcomes::FillExposures(const log::v1::BanditTuple& logged,
                                         const std::vector<double>& rewards,
                                         bool is_hidden, size_t num_rows,
                                         ExposedTuple* exposed) const {
  const log::v1::Decision& decision = logged.decision();
  const size_t shown = is_hidden ? NumRanks(decision) : ShownRanks(logged);
  const size_t ranks =
      std::min(shown, static_cast<size_t>(options_.examination_size()));
  std::vector<double> marginals;
  RETURN_IF_ERROR(marginals_(decision, ranks, &marginals));
  exposed->exposures.assign(num_rows, 0);
  exposed->gains.assign(num_rows, 0);
  for (size_t k = 0; k < ranks; ++k) {
    const double examination = options_.examination(static_cast<int>(k));
    for (size_t row = 0; row < num_rows; ++row) {
      exposed->exposures[row] += examination * marginals[k * num_rows + row];
    }
  }
  for (double& exposure : exposed->exposures) {
    exposure = std::max(exposure, kLeastExposure);
  }
  if (is_hidden) return absl::OkStatus();
  const std::vector<size_t> rows = RowsOf(decision, ranks);
  for (size_t k = 0; k < ranks; ++k) {
    const int rank = static_cast<int>(k);
    const double click =
        k < rewards.size() ? std::clamp(rewards[k], 0.0, 1.0) : 0;
    const double offset =
        rank < options_.click_offsets_size() ? options_.click_offsets(rank) : 0;
    exposed->gains[rows[k]] = (click - offset) / exposed->exposures[rows[k]];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RankOutcome>> RankOutcomes::Read(
    const log::v1::BanditTuple& logged, const BanditTuple& tuple) const {
  const log::v1::Decision& decision = logged.decision();
  if (decision.action_kind() != log::v1::RANK) {
    return absl::InvalidArgumentError(absl::StrCat(
        RankOptionText(options_), ", decision '", decision.decision_id(),
        "' is no ranking, must be one; --action=rank leaves others out"));
  }
  auto outcome = std::make_unique<RankOutcome>();
  const RankPrefix prefix = PrefixOf(logged, use_);
  ASSIGN_OR_RETURN(const std::vector<double> rewards,
                   RewardsOf(logged, prefix, outcome.get()));
  if (needs_.ranks) {
    RETURN_IF_ERROR(FillRanks(logged, tuple, LossesOf(rewards, outcome->is_one),
                              &outcome->ranks));
  }
  if (needs_.exposures) {
    RETURN_IF_ERROR(FillExposures(logged, rewards, prefix.shown_otherwise,
                                  tuple.num_candidates(), &outcome->exposed));
  }
  return outcome;
}

}  // namespace sortition
