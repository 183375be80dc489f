#include "core/learners/games/query_game.h"

#include <algorithm>
#include <numeric>

#include "core/base/status_macros.h"
#include "core/games/f_beta/f_beta_certificate.h"
#include "core/games/ranking/smoothed_adversary.h"

namespace sortition {
namespace {

using config::v1::GameOptions;

// The F-beta solver clips larger potentials. Its upper bound then need not be
// what its adversary guarantees for the unclipped ones.
constexpr double kUncutPotential = 2;

double Dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

bool CanSmooth(const GameTask& task) {
  return !task.per_level && task.options.measure() != GameOptions::F_BETA;
}

QueryGame::QueryGame(const GameTask& task) : task_(task) {
  item_indexes_.resize(task.max_items);
  std::iota(item_indexes_.begin(), item_indexes_.end(), 0u);
}

// Sets labels and potentials. If features are centred, ψ_i is s_i minus the
// query's mean of s.
void QueryGame::Prepare(const LabelledItems& query,
                        std::span<const double> theta) {
  const size_t n = query.relevances.size();
  const size_t d = task_.num_features;
  labels_.resize(n);
  for (size_t i = 0; i < n; ++i) labels_[i] = task_.gains[query.relevances[i]];
  scores_.resize(n * task_.num_blocks);
  residuals_.resize(scores_.size());
  for (uint32_t b = 0; b < task_.num_blocks; ++b) {
    const std::span<double> scores(scores_.data() + b * n, n);
    query.items.Scores({item_indexes_.data(), n}, theta.subspan(b * d, d),
                       scores);
    if (!task_.options.centre_features()) continue;
    const double mean = std::accumulate(scores.begin(), scores.end(), 0.0) /
                        static_cast<double>(n);
    for (double& score : scores) score -= mean;
  }
}

PositivesBound QueryGame::Positives() const {
  switch (task_.options.adversary()) {
    case GameOptions::SAME_TOTAL: {
      const double total = std::accumulate(labels_.begin(), labels_.end(), 0.0);
      return {total, total};
    }
    case GameOptions::K_POSITIVES: {
      const auto k = static_cast<double>(
          std::min<size_t>(task_.options.k(), labels_.size()));
      return {k, k};
    }
    case GameOptions::FREE:
      break;
  }
  return {};
}

absl::Status QueryGame::SolveRanking(const QueryRules& rules) {
  if (task_.options.measure() == GameOptions::PRECISION) {
    return precision_.Solve(scores_, task_.options.k(), Positives(), &ranked_);
  }
  return ranking_.Solve(scores_, rules.discounts, Positives(), &ranked_);
}

// Smoothed or not, q falls in the order of ψ and is constant in blocks. So d is
// among the best answers to it, and G(q) = d·q.
absl::Status QueryGame::AddRanking(const QueryRules& rules, GameSums* sums) {
  RETURN_IF_ERROR(SolveRanking(rules));
  std::vector<double>& q = ranked_.positive_probabilities;
  double value = ranked_.value;
  if (rules.mu > 0) {
    ASSIGN_OR_RETURN(value, SmoothAdversary(scores_, ranked_.expected_discounts,
                                            Positives(), rules.mu, q));
  }
  const double of_labels = Dot(scores_, labels_);
  sums->lower += ranked_.value + of_labels;
  sums->upper += value + of_labels;
  sums->score += Dot(ranked_.expected_discounts, q);
  for (size_t i = 0; i < q.size(); ++i) residuals_[i] = q[i] - labels_[i];
  return absl::OkStatus();
}

absl::Status QueryGame::AddFBeta(const QueryRules& rules, GameSums* sums) {
  RETURN_IF_ERROR(
      f_beta_.Solve(scores_,
                    {.beta = task_.options.beta(),
                     .tolerance = rules.effort.tolerance,
                     .max_rounds = static_cast<int>(rules.effort.max_rounds)},
                    rules.warm_start, &sets_));
  const std::vector<double>& q = sets_.adversary_marginals;
  const double potential = Dot(scores_, q);
  double score = sets_.hi + potential;
  if (std::ranges::any_of(scores_, [](double psi) {
        return psi > kUncutPotential || psi < -kUncutPotential;
      })) {
    psi_.assign(scores_.size(), 0);
    score = FBetaUpperBound(psi_, task_.options.beta(), sets_.adversary);
  }
  const double of_labels = Dot(scores_, labels_);
  sums->lower += sets_.lo + of_labels;
  sums->upper += score - potential + of_labels;
  sums->score += score;
  for (size_t i = 0; i < q.size(); ++i) residuals_[i] = q[i] - labels_[i];
  return absl::OkStatus();
}

// ψ_i0 = 0. G(Q) is the score of d for the mean gains, since d is optimal.
absl::Status QueryGame::AddGraded(const LabelledItems& query,
                                  const QueryRules& rules, GameSums* sums) {
  const size_t n = labels_.size();
  const size_t num_levels = task_.gains.size();
  psi_.assign(n * num_levels, 0);
  for (size_t l = 1; l < num_levels; ++l) {
    for (size_t i = 0; i < n; ++i) {
      psi_[i * num_levels + l] = scores_[(l - 1) * n + i];
    }
  }
  RETURN_IF_ERROR(
      graded_game_.Solve(psi_, task_.gains, rules.discounts, &graded_));
  double value = graded_.value;
  for (size_t i = 0; i < n; ++i) {
    const uint32_t label = query.relevances[i];
    value += psi_[i * num_levels + label];
    double gain = 0;
    for (size_t l = 1; l < num_levels; ++l) {
      const double q = graded_.level_probabilities[i * num_levels + l];
      gain += task_.gains[l] * q;
      residuals_[(l - 1) * n + i] = q - (label == l ? 1 : 0);
    }
    sums->score += graded_.expected_discounts[i] * gain;
  }
  sums->lower += value;
  sums->upper += value;
  return absl::OkStatus();
}

// Uses Σ_i r_i (x_i - mean) = Σ_i (r_i - mean of r) x_i.
void QueryGame::AddMoments(const LabelledItems& query,
                           std::span<double> moments) const {
  const size_t n = query.relevances.size();
  const size_t d = task_.num_features;
  for (uint32_t b = 0; b < task_.num_blocks; ++b) {
    const std::span<const double> residuals(residuals_.data() + b * n, n);
    const double mean =
        task_.options.centre_features()
            ? std::accumulate(residuals.begin(), residuals.end(), 0.0) /
                  static_cast<double>(n)
            : 0;
    for (size_t i = 0; i < n; ++i) {
      const double factor = residuals[i] - mean;
      if (factor == 0) continue;
      query.items.AddRow(static_cast<uint32_t>(i), factor,
                         moments.subspan(b * d, d));
    }
  }
}

absl::Status QueryGame::Add(const LabelledItems& query,
                            std::span<const double> theta,
                            const QueryRules& rules, GameSums* sums) {
  Prepare(query, theta);
  if (task_.per_level) {
    RETURN_IF_ERROR(AddGraded(query, rules, sums));
  } else if (task_.options.measure() == GameOptions::F_BETA) {
    RETURN_IF_ERROR(AddFBeta(rules, sums));
  } else {
    RETURN_IF_ERROR(AddRanking(rules, sums));
  }
  AddMoments(query, sums->moments);
  return absl::OkStatus();
}

// Returns Σ P_is W_st y_i with t = |y|; for the empty set 1 if t = 0, else 0.
double QueryGame::ExpectedFBeta() const {
  const double beta2 = task_.options.beta() * task_.options.beta();
  const double num_positives =
      std::accumulate(labels_.begin(), labels_.end(), 0.0);
  double expected = 0;
  for (const SizedSetMarginals& sets : sets_.predictor) {
    if (sets.size == 0) {
      expected += num_positives == 0 ? sets.probability : 0;
      continue;
    }
    expected += sets.probability * (1 + beta2) /
                (sets.size + beta2 * num_positives) *
                Dot(sets.inclusion_probabilities, labels_);
  }
  return expected;
}

absl::StatusOr<double> QueryGame::ExpectedScore(const LabelledItems& query,
                                                std::span<const double> theta,
                                                const QueryRules& rules) {
  Prepare(query, theta);
  GameSums unused;
  if (task_.options.measure() == GameOptions::F_BETA) {
    RETURN_IF_ERROR(AddFBeta(rules, &unused));
    return ExpectedFBeta();
  }
  if (task_.per_level) {
    RETURN_IF_ERROR(AddGraded(query, rules, &unused));
    return Dot(graded_.expected_discounts, labels_);
  }
  RETURN_IF_ERROR(SolveRanking(rules));
  return Dot(ranked_.expected_discounts, labels_);
}

}  // namespace sortition
