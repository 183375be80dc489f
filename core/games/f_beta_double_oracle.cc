#include "core/games/f_beta_double_oracle.h"

namespace sortition {
namespace {

// Perturbation of the simplex, relative to the tolerance: moves the value by
// less than what matters.
constexpr double kPerturbation = 1e-3;
constexpr int kResponses = 16;  // Of each player that are added in a round.
// What leaves the restricted game: see FBetaRestrictedGame::Purge(). Keeping
// less makes games cycle, keeping more makes pivots dear.
constexpr int kMaxAge = 3;
constexpr double kKeep = 1.5;
// Responses have to be better than the restricted value by this part of the
// tolerance.
constexpr double kMargin = 0.1;
// What a bound may lose, as a part of the tolerance, by skipping sizes.
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

bool FBetaDoubleOracle::SolvePrefixGame(const FBetaOptions& options) {
  if (!prefix_game_.Solve(*game_, kMargin * options.tolerance,
                          options.max_rounds, options.stop, &restricted_)) {
    return false;
  }
  prefix_value_ = restricted_.value();
  restricted_.Purge(/*max_age=*/0, /*keep=*/1);
  return true;
}

// Leaves the responses in columns_.
void FBetaDoubleOracle::EvaluatePredictor(double alpha, FBetaIncumbent* best) {
  MixMarginals(*game_, &best->predictor, alpha, restricted_.rows(),
               restricted_.row_strategy(), &row_of_size_, &mixture_);
  const double lo =
      best_response_.Adversary(*game_, mixture_,
                               {restricted_.value() - kMargin * tolerance_,
                                kSlack * tolerance_, kResponses},
                               &columns_);
  if (lo <= best->lo) return;
  best->lo = lo;
  std::swap(best->predictor, mixture_);
}

void FBetaDoubleOracle::EvaluateAdversary(double alpha, FBetaIncumbent* best) {
  MixMarginals(*game_, &best->adversary, alpha, restricted_.columns(),
               restricted_.column_strategy(), &row_of_size_, &mixture_);
  const double hi =
      best_response_.Predictor(*game_, mixture_,
                               {restricted_.value() + kMargin * tolerance_,
                                kSlack * tolerance_, kResponses},
                               &rows_);
  if (hi >= best->hi) return;
  best->hi = hi;
  std::swap(best->adversary, mixture_);
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
