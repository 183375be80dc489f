#include "core/games/f_beta/f_beta_prefix_game.h"

#include <algorithm>

namespace sortition {
namespace {

// Maximum number added for each player in a round.
constexpr int kMaxPrefixResponses = 8;
constexpr int kMaxRounds = 1000;

}  // namespace

// Finds the sizes of the largest local maxima of `payoffs` above the threshold.
void FBetaPrefixGame::SelectOptima(std::span<const double> payoffs,
                                   double threshold,
                                   std::vector<int>* sizes) const {
  sizes->clear();
  const size_t n = payoffs.size();
  for (size_t s = 0; s < n; ++s) {
    if (payoffs[s] <= threshold || (s > 0 && payoffs[s - 1] >= payoffs[s]) ||
        (s + 1 < n && payoffs[s + 1] > payoffs[s])) {
      continue;
    }
    if (sizes->size() < kMaxPrefixResponses) {
      sizes->push_back(static_cast<int>(s));
      continue;
    }
    const auto least =
        std::min_element(sizes->begin(), sizes->end(),
                         [&](int a, int b) { return payoffs[a] < payoffs[b]; });
    if (payoffs[*least] < payoffs[s]) *least = static_cast<int>(s);
  }
}

// Adds responses to the restricted equilibrium among prefixes. The payoff of a
// prefix of size s against one of size t is W_st min(s, t).
bool FBetaPrefixGame::AddResponses(const SortedFBetaGame& game, double margin,
                                   FBetaRestrictedGame* restricted) {
  const int n = game.num_items;
  const double value = restricted->value();
  bool added = false;
  payoffs_.resize(n + 1);
  // The adversary's responses; payoffs are negated.
  for (int t = 0; t <= n; ++t) payoffs_[t] = -game.PrefixCost(t);
  for (int i = 0; i < restricted->rows().count(); ++i) {
    const double weight = restricted->row_strategy()[i];
    const int s = restricted->rows().size(i);
    if (weight == 0) continue;
    if (s == 0) payoffs_[0] -= weight;
    for (int t = 1; t <= n; ++t) {
      payoffs_[t] -= weight * std::min(s, t) * game.Weight(s, t);
    }
  }
  const double lo = -*std::max_element(payoffs_.begin(), payoffs_.end());
  SelectOptima(payoffs_, -value + margin, &sizes_);
  // The predictor's responses, found before the columns change.
  std::fill(payoffs_.begin(), payoffs_.end(), 0.0);
  double cost = 0;
  for (int j = 0; j < restricted->columns().count(); ++j) {
    const double weight = restricted->column_strategy()[j];
    const int t = restricted->columns().size(j);
    if (weight == 0) continue;
    cost += weight * game.PrefixCost(t);
    if (t == 0) payoffs_[0] += weight;
    for (int s = 1; s <= n; ++s) {
      payoffs_[s] += weight * std::min(s, t) * game.Weight(s, t);
    }
  }
  for (double& payoff : payoffs_) payoff += cost;
  gap_ = *std::max_element(payoffs_.begin(), payoffs_.end()) - lo;
  for (const int t : sizes_) added |= restricted->AddPrefixColumn(t);
  if (added && !restricted->Solve()) return false;
  SelectOptima(payoffs_, value + margin, &sizes_);
  for (const int s : sizes_) added |= restricted->AddPrefixRow(s);
  return added;
}

bool FBetaPrefixGame::Solve(const SortedFBetaGame& game, double tolerance,
                            StopSignal* stop, FBetaRestrictedGame* restricted) {
  if (!restricted->Solve()) return false;
  for (int round = 0; round < kMaxRounds; ++round) {
    const bool added = AddResponses(game, tolerance / 2, restricted);
    if (!restricted->Solve()) return false;
    if (!added || gap_ <= tolerance) break;
    if (stop->Ask()) break;
  }
  return true;
}

}  // namespace sortition
