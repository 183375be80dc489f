#include "core/games/f_beta_double_oracle.h"

#include <cmath>
#include <limits>

namespace sortition {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Perturbation of the simplex, relative to the tolerance: moves the value by
// less than what matters.
constexpr double kPerturbation = 1e-3;
constexpr int kPrefixResponses = 8;  // New ones a round and player, at most.
constexpr int kResponses = 16;
constexpr int kMaxAge = 3;
constexpr double kKeep = 1.5;
// Responses have to be better than the restricted value by this part of the
// tolerance.
constexpr double kMargin = 0.1;
constexpr double kSlack = 0.01;
// Below this size mixing with the incumbent loses more rounds than it saves.
constexpr int kMixFrom = 65;
// Share of the incumbent at first.
constexpr double kMix = 0.5;

}  // namespace

void FBetaDoubleOracle::Start(const SortedFBetaGame& game, double tolerance) {
  game_ = &game;
  tolerance_ = tolerance;
  rounds_ = 0;
  restricted_.Clear(game, kPerturbation * tolerance);
  // {ψ > 0} is always there: see SortedFBetaGame.
  restricted_.AddPrefixColumn(game.num_positive);
  restricted_.AddPrefixRow(game.num_positive);
  restricted_.AddPrefixRow(0);
  restricted_.AddPrefixColumn(0);
}

// The sizes of the largest `payoffs` above the threshold among local maxima.
void FBetaDoubleOracle::SelectOptima(std::span<const double> payoffs,
                                     double threshold,
                                     std::vector<int>* sizes) const {
  sizes->clear();
  const size_t n = payoffs.size();
  for (size_t s = 0; s < n; ++s) {
    if (payoffs[s] <= threshold || (s > 0 && payoffs[s - 1] >= payoffs[s]) ||
        (s + 1 < n && payoffs[s + 1] > payoffs[s])) {
      continue;
    }
    if (sizes->size() < kPrefixResponses) {
      sizes->push_back(static_cast<int>(s));
      continue;
    }
    const auto least =
        std::min_element(sizes->begin(), sizes->end(),
                         [&](int a, int b) { return payoffs[a] < payoffs[b]; });
    if (payoffs[*least] < payoffs[s]) *least = static_cast<int>(s);
  }
}

// Responses to the restricted equilibrium among prefixes; the payoff of a of
// size s against y of size t is W_st min(s, t).
bool FBetaDoubleOracle::AddPrefixResponses(double margin) {
  const int n = game_->num_items;
  const double value = restricted_.value();
  bool added = false;
  payoffs_.resize(n + 1);
  // The adversary's: payoffs are negated.
  for (int t = 0; t <= n; ++t) payoffs_[t] = -game_->PrefixCost(t);
  for (int i = 0; i < restricted_.rows().count(); ++i) {
    const double weight = restricted_.row_strategy()[i];
    const int s = restricted_.rows().size(i);
    if (weight == 0) continue;
    if (s == 0) payoffs_[0] -= weight;
    for (int t = 1; t <= n; ++t) {
      payoffs_[t] -= weight * std::min(s, t) * game_->Weight(s, t);
    }
  }
  const double lo = -*std::max_element(payoffs_.begin(), payoffs_.end());
  SelectOptima(payoffs_, -value + margin, &sizes_);
  // The predictor's, before the columns change.
  std::fill(payoffs_.begin(), payoffs_.end(), 0.0);
  double cost = 0;
  for (int j = 0; j < restricted_.columns().count(); ++j) {
    const double weight = restricted_.column_strategy()[j];
    const int t = restricted_.columns().size(j);
    if (weight == 0) continue;
    cost += weight * game_->PrefixCost(t);
    if (t == 0) payoffs_[0] += weight;
    for (int s = 1; s <= n; ++s) {
      payoffs_[s] += weight * std::min(s, t) * game_->Weight(s, t);
    }
  }
  for (double& payoff : payoffs_) payoff += cost;
  prefix_gap_ = *std::max_element(payoffs_.begin(), payoffs_.end()) - lo;
  for (const int t : sizes_) added |= restricted_.AddPrefixColumn(t);
  if (added && !restricted_.Solve()) return false;
  SelectOptima(payoffs_, value + margin, &sizes_);
  for (const int s : sizes_) added |= restricted_.AddPrefixRow(s);
  return added;
}

bool FBetaDoubleOracle::SolvePrefixGame(const FBetaOptions& options) {
  if (!restricted_.Solve()) return false;
  const double tolerance = kMargin * tolerance_;
  for (int round = 0; round < options.max_rounds; ++round) {
    const bool added = AddPrefixResponses(tolerance / 2);
    if (!restricted_.Solve()) return false;
    if (!added || prefix_gap_ <= tolerance) break;
    if (options.stop && options.stop()) break;
  }
  prefix_value_ = restricted_.value();
  restricted_.Purge(/*max_age=*/0, /*keep=*/1);
  return true;
}

// Whether the incumbent became better. Leaves the responses in columns_.
bool FBetaDoubleOracle::EvaluatePredictor(double alpha, FBetaIncumbent* best) {
  MixMarginals(*game_, &best->predictor, alpha, restricted_.rows(),
               restricted_.row_strategy(), &row_of_size_, &mixture_);
  const double lo =
      best_response_.Adversary(*game_, mixture_,
                               {restricted_.value() - kMargin * tolerance_,
                                kSlack * tolerance_, kResponses},
                               &columns_);
  if (lo <= best->lo) return false;
  best->lo = lo;
  std::swap(best->predictor, mixture_);
  return true;
}

bool FBetaDoubleOracle::EvaluateAdversary(double alpha, FBetaIncumbent* best) {
  MixMarginals(*game_, &best->adversary, alpha, restricted_.columns(),
               restricted_.column_strategy(), &row_of_size_, &mixture_);
  const double hi =
      best_response_.Predictor(*game_, mixture_,
                               {restricted_.value() + kMargin * tolerance_,
                                kSlack * tolerance_, kResponses},
                               &rows_);
  if (hi >= best->hi) return false;
  best->hi = hi;
  std::swap(best->adversary, mixture_);
  return true;
}

bool FBetaDoubleOracle::AddColumns() {
  bool added = false;
  for (int k = 0; k < columns_.sets.count(); ++k) {
    added |=
        restricted_.AddColumn(columns_.sets.bits(k), columns_.sets.size(k));
  }
  return added;
}

bool FBetaDoubleOracle::AddRows() {
  bool added = false;
  for (int k = 0; k < rows_.sets.count(); ++k) {
    added |= restricted_.AddRow(rows_.sets.bits(k), rows_.sets.size(k));
  }
  return added;
}

FBetaTermination FBetaDoubleOracle::Run(const FBetaOptions& options,
                                        FBetaIncumbent* best) {
  double alpha_rows = 0;
  double alpha_columns = 0;
  const double alpha = game_->num_items < kMixFrom ? 0 : kMix;
  if (!restricted_.Solve()) return FBetaTermination::kStalled;
  for (rounds_ = 1;; ++rounds_) {
    EvaluatePredictor(alpha_rows, best);
    EvaluateAdversary(alpha_columns, best);
    if (best->hi - best->lo <= tolerance_) return FBetaTermination::kConverged;
    if (rounds_ >= options.max_rounds) return FBetaTermination::kRoundLimit;
    if (options.stop && options.stop()) return FBetaTermination::kStopped;
    const double next_rows = rounds_ == 1 ? alpha : alpha_rows;
    const double next_columns = rounds_ == 1 ? alpha : alpha_columns;
    // A mixed point may lie where nothing new is better than the restricted
    // value; the restricted equilibrium itself then tells.
    bool added_columns = AddColumns();
    if (!added_columns && alpha_rows > 0) {
      EvaluatePredictor(0, best);
      added_columns = AddColumns();
    }
    if (!restricted_.Solve()) return FBetaTermination::kStalled;
    bool added_rows = AddRows();
    if (!added_rows && alpha_columns > 0) {
      EvaluateAdversary(0, best);
      added_rows = AddRows();
    }
    if (!restricted_.Solve()) return FBetaTermination::kStalled;
    alpha_rows = added_columns ? next_rows : next_rows / 2;
    alpha_columns = added_rows ? next_columns : next_columns / 2;
    if (best->hi - best->lo <= tolerance_) return FBetaTermination::kConverged;
    if (!added_columns && !added_rows) return FBetaTermination::kStalled;
    restricted_.Purge(kMaxAge, kKeep);
  }
}

}  // namespace sortition
