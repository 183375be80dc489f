#include "core/games/f_beta/f_beta_double_oracle.h"

namespace sortition {
namespace {

// Perturbation of the simplex method, relative to the tolerance. It moves the
// value by less than matters.
constexpr double kPerturbation = 1e-3;
// Maximum number added for each player in a round.
constexpr int kMaxResponses = 16;
// Limits of FBetaRestrictedGame::Purge(). With fewer actions games would cycle,
// with more of them pivots would be expensive.
constexpr int kMaxAge = 3;
constexpr double kKeep = 1.5;
// Responses must be better than the restricted value by this share of the
// tolerance.
constexpr double kMargin = 0.1;
// How much of the bound may be given up to skip sizes, as a share of the
// tolerance.
constexpr double kSlack = 0.01;
// With fewer items than this, mixing with the incumbent costs more rounds than
// it saves.
constexpr int kMixFrom = 65;
// The initial share of the incumbent.
constexpr double kMix = 0.5;

}  // namespace

void FBetaDoubleOracle::Start(const SortedFBetaGame& game, double tolerance,
                              StopSignal* stop) {
  game_ = &game;
  stop_ = stop;
  tolerance_ = tolerance;
  rounds_ = 0;
  restricted_.Clear(game, kPerturbation * tolerance);
  // The set {ψ > 0} is always in the game: see SortedFBetaGame.
  restricted_.AddPrefixColumn(game.num_positive);
  restricted_.AddPrefixRow(game.num_positive);
  restricted_.AddPrefixRow(0);
  restricted_.AddPrefixColumn(0);
}

bool FBetaDoubleOracle::SolvePrefixGame() {
  if (!prefix_game_.Solve(*game_, kMargin * tolerance_, stop_, &restricted_)) {
    return false;
  }
  prefix_value_ = restricted_.value();
  restricted_.Purge(/*max_age=*/0, /*keep=*/1);
  return true;
}

// Writes the responses to columns_. If it replaces the predictor, leaves the
// old one in mixture_.
bool FBetaDoubleOracle::EvaluatePredictor(double alpha, FBetaIncumbent* best) {
  MixMarginals(*game_, &best->predictor, alpha, restricted_.rows(),
               restricted_.row_strategy(), &row_of_size_, &mixture_);
  const double lo =
      best_response_.Adversary(*game_, mixture_,
                               {restricted_.value() - kMargin * tolerance_,
                                kSlack * tolerance_, kMaxResponses, stop_},
                               &columns_);
  if (stop_->stopped()) return false;
  if (lo <= best->lo) return true;
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
                                kSlack * tolerance_, kMaxResponses, stop_},
                               &rows_);
  if (stop_->stopped()) return false;
  if (hi >= best->hi) return true;
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

// Against a mixed strategy there may be no new response that is better than the
// restricted value. Then the restricted equilibrium itself decides.
std::optional<FBetaTermination> FBetaDoubleOracle::Extend(
    Shares* shares, FBetaIncumbent* best) {
  bool added_columns = AddColumns();
  if (!added_columns && shares->rows > 0) {
    const double lo = best->lo;
    if (!EvaluatePredictor(0, best)) return FBetaTermination::kStopped;
    if (best->lo > lo) {
      round_lo_ = lo;
      std::swap(round_predictor_, mixture_);
    }
    added_columns = AddColumns();
  }
  if (!restricted_.Solve()) return FBetaTermination::kStalled;
  bool added_rows = AddRows();
  if (!added_rows && shares->columns > 0) {
    if (!EvaluateAdversary(0, best)) return FBetaTermination::kStopped;
    added_rows = AddRows();
  }
  if (!restricted_.Solve()) return FBetaTermination::kStalled;
  if (best->hi - best->lo <= tolerance_) return FBetaTermination::kConverged;
  if (!added_columns && !added_rows) return FBetaTermination::kStalled;
  if (rounds_ == 1 && game_->num_items >= kMixFrom) *shares = {kMix, kMix};
  if (!added_columns) shares->rows /= 2;
  if (!added_rows) shares->columns /= 2;
  restricted_.Purge(kMaxAge, kKeep);
  return std::nullopt;
}

// Restores the predictor with which round `rounds_` ended.
void FBetaDoubleOracle::ReturnToRound(FBetaIncumbent* best) {
  if (!round_lo_.has_value()) return;
  best->lo = *round_lo_;
  std::swap(best->predictor, round_predictor_);
}

FBetaTermination FBetaDoubleOracle::Run(int max_rounds, FBetaIncumbent* best) {
  Shares shares;
  round_lo_.reset();
  if (!restricted_.Solve()) return FBetaTermination::kStalled;
  for (;;) {
    if (!EvaluatePredictor(shares.rows, best)) {
      ReturnToRound(best);
      if (best->lo == kUnknownBound) {
        std::swap(best->predictor, mixture_);
        ++rounds_;
      }
      return FBetaTermination::kStopped;
    }
    round_lo_.reset();
    ++rounds_;
    if (!EvaluateAdversary(shares.columns, best)) {
      return FBetaTermination::kStopped;
    }
    if (best->hi - best->lo <= tolerance_) return FBetaTermination::kConverged;
    if (rounds_ >= max_rounds) return FBetaTermination::kRoundLimit;
    if (stop_->Ask()) return FBetaTermination::kStopped;
    const std::optional<FBetaTermination> end = Extend(&shares, best);
    if (!end.has_value()) continue;
    if (*end == FBetaTermination::kStopped) ReturnToRound(best);
    return *end;
  }
}

}  // namespace sortition
