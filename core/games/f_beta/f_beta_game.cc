#include "core/games/f_beta/f_beta_game.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kMaxPotential = 1e9;
constexpr double kCut = 2;  // See SortedFBetaGame.
// More single items and systematic sets than this are not worth their pivots.
constexpr int kMaxSeeds = 256;

absl::Status OutOfRange(absl::string_view field, double value, double lowest,
                        double highest) {
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is ", value, ", must be within [", lowest, ", ", highest, "]"));
}

absl::Status Check(std::span<const double> potentials,
                   const FBetaOptions& options) {
  for (size_t i = 0; i < potentials.size(); ++i) {
    if (!(std::abs(potentials[i]) <= kMaxPotential)) {
      return OutOfRange(absl::StrCat("potentials[", i, "]"), potentials[i],
                        -kMaxPotential, kMaxPotential);
    }
  }
  if (!(options.beta >= 1e-3 && options.beta <= 1e3)) {
    return OutOfRange("beta", options.beta, 1e-3, 1e3);
  }
  if (!(options.tolerance >= 1e-9 && options.tolerance <= 1)) {
    return OutOfRange("tolerance", options.tolerance, 1e-9, 1);
  }
  if (options.max_rounds < 0) {
    return OutOfRange("max_rounds", options.max_rounds, 0,
                      std::numeric_limits<int>::max());
  }
  return absl::OkStatus();
}

}  // namespace

void FBetaSolver::Sort(std::span<const double> potentials, double beta) {
  const int n = static_cast<int>(potentials.size());
  game_.num_items = n;
  game_.beta2 = beta * beta;
  game_.item.resize(n);
  std::iota(game_.item.begin(), game_.item.end(), 0);
  std::sort(game_.item.begin(), game_.item.end(), [&](int a, int b) {
    return potentials[a] > potentials[b] ||
           (potentials[a] == potentials[b] && a < b);
  });
  game_.psi.resize(n);
  game_.sums.assign(n + 1, 0);
  position_.resize(n);
  game_.num_positive = 0;
  game_.positive_sum = 0;
  for (int p = 0; p < n; ++p) {
    const double psi = potentials[game_.item[p]];
    position_[game_.item[p]] = p;
    game_.psi[p] = std::clamp(psi, -kCut, kCut);
    game_.sums[p + 1] = game_.sums[p] + game_.psi[p];
    if (psi > 0) {
      ++game_.num_positive;
      game_.positive_sum += psi;
    }
  }
  game_.ties.clear();
  for (int begin = 0, end = 0; begin < n; begin = end) {
    while (end < n && game_.psi[end] == game_.psi[begin]) ++end;
    if (end - begin > 1) game_.ties.push_back({begin, end});
  }
}

// Begins with strategies that cost O(n): those of the closed form or, if its
// adversary does worse than {ψ > 0}, that set for both players. No payoff is
// below 0. None is above 1 against that set, which costs nothing.
void FBetaSolver::BeginSimply() {
  best_.lo = kUnknownBound;
  closed_form_.value = kUnbounded;
  // The adversary's sets that are worth playing have all items of ψ > 1, so the
  // closed form applies only if there are none.
  if (game_.psi[0] <= 1) SolveFBetaClosedForm(game_, &closed_form_);
  if (closed_form_.value <= 1) {
    best_.hi = closed_form_.value;
    best_.adversary = closed_form_.adversary;
    best_.predictor = closed_form_.predictor;
    return;
  }
  best_.hi = 1;
  const int size = game_.num_positive;
  best_.predictor.Reset({&size, 1}, game_.num_items);
  best_.predictor.probability[0] = 1;
  std::fill_n(best_.predictor.items.begin(), size, 1.0);
  best_.adversary = best_.predictor;
}

// The closed form's adversary is optimal in the whole game if and only if its
// predictor keeps its guarantee against larger sets.
bool FBetaSolver::TryClosedForm(double tolerance) {
  if (closed_form_.value > 1) return false;
  const SizeMarginals& p = closed_form_.predictor;
  const int n = game_.num_items;
  // Most predictors fail already against a prefix, which takes O(n) to find.
  std::vector<double>& sums = prefix_sums_;
  sums.assign(p.sizes.size(), 0);
  for (int t = 1; t <= n; ++t) {
    double payoff = game_.PrefixCost(t);
    for (size_t k = 0; k < sums.size(); ++k) {
      sums[k] += p.row(static_cast<int>(k), n)[t - 1];
      payoff += game_.Weight(p.sizes[k], t) * sums[k];
    }
    if (payoff < closed_form_.value - tolerance) return false;
  }
  const double lo = best_response_.Adversary(game_, p,
                                             {.threshold = closed_form_.value,
                                              .slack = 0.01 * tolerance,
                                              .stop = &stop_},
                                             nullptr);
  if (stop_.stopped()) return false;
  best_.lo = lo;
  return best_.hi - best_.lo <= tolerance;
}

void FBetaSolver::Remap(const ItemSets& from, bool to_positions, ItemSets* to) {
  to->Clear(game_.num_items);
  const std::vector<int>& map = to_positions ? position_ : game_.item;
  for (int k = 0; k < from.count(); ++k) {
    const int set = to->AddEmpty();
    ForEachItem(from.bits(k),
                [&](int i) { to->AddRange(set, map[i], map[i] + 1); });
  }
}

// Adds the sets to start with. These are the sets of the last similar game.
// Without one, they are the equilibrium of the prefix game and, if the closed
// form's adversary does better than prefixes, its sets.
void FBetaSolver::Seed(const FBetaWarmStart* warm_start) {
  FBetaRestrictedGame& restricted = oracle_.restricted();
  if (warm_start != nullptr && warm_start->num_items == game_.num_items &&
      warm_start->predictor.count() > 0) {
    Remap(warm_start->predictor, /*to_positions=*/true, &remapped_);
    for (int k = 0; k < remapped_.count(); ++k) {
      restricted.AddRow(remapped_.bits(k), remapped_.size(k));
    }
    Remap(warm_start->adversary, /*to_positions=*/true, &remapped_);
    for (int k = 0; k < remapped_.count(); ++k) {
      restricted.AddColumn(remapped_.bits(k), remapped_.size(k));
    }
    return;
  }
  if (!oracle_.SolvePrefixGame() || stop_.stopped() ||
      closed_form_.value >= oracle_.prefix_value()) {
    return;
  }
  seeds_.Clear(game_.num_items);
  AppendSystematicSets(game_, kMaxSeeds, &closed_form_, &seeds_);
  for (int k = 0; k < seeds_.count(); ++k) {
    restricted.AddRow(seeds_.bits(k), seeds_.size(k));
  }
  restricted.Solve();
  const int singles = std::min(closed_form_.num_active, kMaxSeeds);
  for (int i = 0; i < singles; ++i) {
    seeds_.Clear(game_.num_items);
    seeds_.AddRange(seeds_.AddEmpty(), i, i + 1);
    restricted.AddColumn(seeds_.bits(0), 1);
  }
}

// Converts to conditional marginals in the order of the caller's items.
// Rounding may put them an ulp outside [0, 1].
void FBetaSolver::Export(const SizeMarginals& mixture,
                         std::vector<SizedSetMarginals>* sets) const {
  const int n = game_.num_items;
  double total = mixture.empty > kFBetaDust ? mixture.empty : 0;
  size_t num_sizes = total > 0 ? 1 : 0;
  for (const double p : mixture.probability) {
    if (p <= kFBetaDust) continue;
    total += p;
    ++num_sizes;
  }
  sets->resize(num_sizes);
  auto out = sets->begin();
  if (mixture.empty > kFBetaDust) {
    out->size = 0;
    out->probability = mixture.empty / total;
    out->inclusion_probabilities.clear();
    ++out;
  }
  for (size_t k = 0; k < mixture.sizes.size(); ++k) {
    if (mixture.probability[k] <= kFBetaDust) continue;
    const std::span<const double> row = mixture.row(static_cast<int>(k), n);
    out->size = mixture.sizes[k];
    out->probability = mixture.probability[k] / total;
    out->inclusion_probabilities.resize(n);
    for (int p = 0; p < n; ++p) {
      out->inclusion_probabilities[game_.item[p]] =
          std::clamp(row[p] / mixture.probability[k], 0.0, 1.0);
    }
    ++out;
  }
}

void FBetaSolver::SaveWarmStart(FBetaWarmStart* warm_start) {
  const FBetaRestrictedGame& restricted = oracle_.restricted();
  const auto save = [&](const ItemSets& sets, std::span<const double> strategy,
                        ItemSets* to) {
    seeds_.Clear(game_.num_items);
    for (int k = 0; k < sets.count(); ++k) {
      if (strategy[k] > 0) seeds_.Add(sets.bits(k), sets.size(k));
    }
    Remap(seeds_, /*to_positions=*/false, to);
  };
  warm_start->num_items = game_.num_items;
  save(restricted.rows(), restricted.row_strategy(), &warm_start->predictor);
  save(restricted.columns(), restricted.column_strategy(),
       &warm_start->adversary);
}

void FBetaSolver::FillResult(FBetaTermination termination, bool with_adversary,
                             FBetaEquilibrium* result) {
  result->lo = std::max(best_.lo, 0.0) - game_.positive_sum;
  result->hi = best_.hi - game_.positive_sum;
  result->termination = termination;
  result->rounds = searched_ ? oracle_.rounds() : 0;
  Export(best_.predictor, &result->predictor);
  result->adversary_marginals.clear();
  if (!with_adversary) {
    result->adversary.clear();
    return;
  }
  Export(best_.adversary, &result->adversary);
  result->adversary_marginals.assign(game_.num_items, 0);
  for (const SizedSetMarginals& sets : result->adversary) {
    if (sets.size == 0) continue;
    for (int i = 0; i < game_.num_items; ++i) {
      result->adversary_marginals[i] +=
          sets.probability * sets.inclusion_probabilities[i];
    }
  }
}

// Leaves the best strategies in best_.
FBetaTermination FBetaSolver::Search(const FBetaOptions& options,
                                     FBetaWarmStart* warm_start) {
  searched_ = false;
  stop_ = StopSignal(&options.stop);
  if (game_.num_items == 0) {
    best_.lo = best_.hi = 1;
    best_.predictor.Reset({}, 0);
    best_.adversary.Reset({}, 0);
    best_.predictor.empty = best_.adversary.empty = 1;
    return FBetaTermination::kConverged;
  }
  BeginSimply();
  if (options.max_rounds == 0) return FBetaTermination::kRoundLimit;
  if (TryClosedForm(options.tolerance)) return FBetaTermination::kConverged;
  if (stop_.stopped()) return FBetaTermination::kStopped;
  searched_ = true;
  oracle_.Start(game_, options.tolerance, &stop_);
  Seed(warm_start);
  if (stop_.stopped()) return FBetaTermination::kStopped;
  const FBetaTermination end = oracle_.Run(options.max_rounds, &best_);
  if (warm_start != nullptr && oracle_.rounds() > 0) SaveWarmStart(warm_start);
  return end;
}

absl::Status FBetaSolver::Solve(std::span<const double> potentials,
                                const FBetaOptions& options,
                                FBetaWarmStart* warm_start,
                                FBetaEquilibrium* result) {
  if (absl::Status status = Check(potentials, options); !status.ok()) {
    return status;
  }
  Sort(potentials, options.beta);
  const FBetaTermination termination = Search(options, warm_start);
  if (termination == FBetaTermination::kStalled && oracle_.rounds() == 0) {
    return absl::InternalError("the simplex method failed");
  }
  FillResult(termination, options.with_adversary, result);
  return absl::OkStatus();
}

}  // namespace sortition
