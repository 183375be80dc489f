#include "io/models/policy_check.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr double kMaxInverseTemperature = 1e6;
constexpr double kMaxAbstainScore = 1e6;
constexpr double kMaxThreshold = 1e6;
constexpr uint32_t kMaxCutoff = 1'000'000;
constexpr int kMaxRankWeights = 1'000'000;
constexpr uint32_t kMaxHead = 16;
constexpr uint32_t kMinChainLabels = 2;
constexpr uint32_t kMaxChainLabels = 1000;

// Digits enough to tell a value from the bound that it misses.
std::string Number(double value) { return absl::StrFormat("%.15g", value); }

absl::Status ValidateGame(const model::v1::GameRanking& game) {
  const bool precision = game.discount() == model::v1::GameRanking::PRECISION;
  if (!precision && game.discount() != model::v1::GameRanking::DCG) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.game_ranking.discount is ", static_cast<int>(game.discount()),
        ", must be DCG (1) or PRECISION (2)"));
  }
  if (game.cutoff() > kMaxCutoff || (precision && game.cutoff() == 0)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.game_ranking.cutoff is ", game.cutoff(), ", must be in [",
        precision ? 1 : 0, ", ", kMaxCutoff, "]"));
  }
  if (game.has_block_mixing() &&
      !(game.block_mixing() >= 0 && game.block_mixing() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.game_ranking.block_mixing is ",
                     Number(game.block_mixing()), ", must be in [0, 1]"));
  }
  const double share = game.plackett_luce_mixture();
  if (!(share >= 0 && share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.game_ranking.plackett_luce_mixture is ",
                     Number(share), ", must be in [0, 1]"));
  }
  const double scale = game.plackett_luce_scale();
  if (!(scale >= 0 && scale <= kMaxInverseTemperature)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.game_ranking.plackett_luce_scale is ", Number(scale),
        ", must be in [0, ", Number(kMaxInverseTemperature), "]"));
  }
  return absl::OkStatus();
}

absl::Status ValidateRankWeights(const model::v1::BoltzmannRanking& boltzmann) {
  using model::v1::BoltzmannRanking;
  const bool custom = boltzmann.rank_weights() == BoltzmannRanking::CUSTOM;
  if (!custom && boltzmann.rank_weights() != BoltzmannRanking::DCG &&
      boltzmann.rank_weights() != BoltzmannRanking::LINEAR) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.boltzmann_ranking.rank_weights is ",
                     static_cast<int>(boltzmann.rank_weights()),
                     ", must be DCG (1), LINEAR (2) or CUSTOM (3)"));
  }
  const int size = boltzmann.weights_size();
  if (custom ? size < 1 || size > kMaxRankWeights : size > 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.boltzmann_ranking.weights has ", size, " values, must have ",
        custom ? absl::StrCat("1 to ", kMaxRankWeights, " with CUSTOM")
               : "none but with rank_weights CUSTOM"));
  }
  for (int r = 0; r < size; ++r) {
    const double weight = boltzmann.weights(r);
    if (std::isfinite(weight) &&
        (r == 0 || weight <= boltzmann.weights(r - 1))) {
      continue;
    }
    return absl::InvalidArgumentError(
        absl::StrCat("policy.boltzmann_ranking.weights[", r, "] is ",
                     Number(weight), ", must be finite",
                     r == 0 ? ""
                            : absl::StrCat(" and at most the one before, ",
                                           Number(boltzmann.weights(r - 1)))));
  }
  return absl::OkStatus();
}

absl::Status ValidateBoltzmann(const model::v1::BoltzmannRanking& boltzmann) {
  RETURN_IF_ERROR(ValidateRankWeights(boltzmann));
  const auto check = [](absl::string_view field, double value, double most) {
    if (value >= 0 && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("policy.boltzmann_ranking.", field, " is ", Number(value),
                     ", must be in [0, ", Number(most), "]"));
  };
  RETURN_IF_ERROR(check("cutoff", boltzmann.cutoff(), kMaxCutoff));
  RETURN_IF_ERROR(check("head", boltzmann.head(), kMaxHead));
  RETURN_IF_ERROR(
      check("tail_scale", boltzmann.tail_scale(), kMaxInverseTemperature));
  RETURN_IF_ERROR(
      check("plackett_luce_mixture", boltzmann.plackett_luce_mixture(), 1));
  return check("plackett_luce_scale", boltzmann.plackett_luce_scale(),
               kMaxInverseTemperature);
}

absl::Status ValidateChain(const model::v1::LabelChain& chain) {
  const uint32_t q = chain.num_labels();
  if (q < kMinChainLabels || q > kMaxChainLabels) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.label_chain.num_labels is ", q, ", must be in [",
                     kMinChainLabels, ", ", kMaxChainLabels, "]"));
  }
  const auto size = static_cast<uint32_t>(chain.transitions_size());
  if (size != 0 && size != q * q) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.label_chain.transitions has ", size,
                     " values, must have ", q * q, " or none"));
  }
  for (int i = 0; i < chain.transitions_size(); ++i) {
    if (std::isfinite(chain.transitions(i))) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("policy.label_chain.transitions[", i, "] is ",
                     Number(chain.transitions(i)), ", must be finite"));
  }
  return absl::OkStatus();
}

absl::Status ValidateThreshold(absl::string_view field, double threshold) {
  if (std::abs(threshold) <= kMaxThreshold) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.", field, ".threshold is ", Number(threshold), ", must be in [",
      Number(-kMaxThreshold), ", ", Number(kMaxThreshold), "]"));
}

// `value` must be 0, for the default, or within [least, most].
absl::Status ValidateRange(absl::string_view field, double value, double least,
                           double most) {
  if (value == 0 || (value >= least && value <= most)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.game_subset.", field, " is ", Number(value), ", must be in [",
      Number(least), ", ", Number(most), "], or 0 for the default"));
}

absl::Status ValidateGameSubset(const model::v1::GameSubset& game) {
  const bool precision = game.measure() == model::v1::GameSubset::PRECISION;
  if (!precision && game.measure() != model::v1::GameSubset::F_BETA) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.game_subset.measure is ", static_cast<int>(game.measure()),
        ", must be PRECISION (1) or F_BETA (2)"));
  }
  if (precision && (game.k() == 0 || game.k() > kMaxCutoff)) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.game_subset.k is ", game.k(), ", must be in [1, ",
                     kMaxCutoff, "]"));
  }
  if (game.has_block_mixing() &&
      !(game.block_mixing() >= 0 && game.block_mixing() <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.game_subset.block_mixing is ",
                     Number(game.block_mixing()), ", must be in [0, 1]"));
  }
  RETURN_IF_ERROR(ValidateRange("beta", game.beta(), 1e-3, 1e3));
  RETURN_IF_ERROR(ValidateRange("tolerance", game.tolerance(), 1e-9, 1));
  RETURN_IF_ERROR(ValidateRange("max_rounds", game.max_rounds(), 1, 1e6));
  return ValidateThreshold("game_subset", game.threshold());
}

absl::Status ValidateSubset(const model::v1::IndependentSubset& subset) {
  if (subset.k() > kMaxCutoff) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.independent_subset.k is ", subset.k(),
                     ", must be in [1, ", kMaxCutoff, "], or 0 for any size"));
  }
  return ValidateThreshold("independent_subset", subset.threshold());
}

}  // namespace

absl::Status ValidatePolicy(const model::v1::Policy& policy) {
  if (policy.kind_case() == model::v1::Policy::KIND_NOT_SET) {
    return absl::InvalidArgumentError(
        "policy.kind is not set, must be softmax_selection, plackett_luce, "
        "game_ranking, boltzmann_ranking, game_subset, independent_subset, "
        "independent_labels or label_chain");
  }
  const double alpha = policy.inverse_temperature();
  if (!(alpha > 0 && alpha <= kMaxInverseTemperature)) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.inverse_temperature is ", Number(alpha),
                     ", must be in (0, ", Number(kMaxInverseTemperature), "]"));
  }
  const double epsilon = policy.uniform_mixture();
  if (!(epsilon >= 0 && epsilon <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.uniform_mixture is ", Number(epsilon), ", must be in [0, 1]"));
  }
  const double abstain = policy.softmax_selection().abstain_score();
  if (!(std::abs(abstain) <= kMaxAbstainScore)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.softmax_selection.abstain_score is ", Number(abstain),
        ", must be in [", Number(-kMaxAbstainScore), ", ",
        Number(kMaxAbstainScore), "]"));
  }
  if (policy.has_game_ranking()) return ValidateGame(policy.game_ranking());
  if (policy.has_game_subset()) return ValidateGameSubset(policy.game_subset());
  if (policy.has_independent_subset()) {
    return ValidateSubset(policy.independent_subset());
  }
  if (policy.has_boltzmann_ranking()) {
    return ValidateBoltzmann(policy.boltzmann_ranking());
  }
  if (policy.has_label_chain()) {
    RETURN_IF_ERROR(ValidateChain(policy.label_chain()));
  } else if (!policy.has_independent_labels()) {
    return absl::OkStatus();
  } else if (policy.independent_labels().num_labels() == 0) {
    return absl::InvalidArgumentError(
        "policy.independent_labels.num_labels is 0, must be at least 1");
  }
  if (epsilon == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "policy.uniform_mixture is ", Number(epsilon), ", must be 0 for ",
      policy.has_label_chain() ? "label_chain" : "independent_labels"));
}

}  // namespace sortition
