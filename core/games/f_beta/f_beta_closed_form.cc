#include "core/games/f_beta/f_beta_closed_form.h"

#include <cmath>

namespace sortition {
namespace {

// A smaller share of sets may be due to rounding.
constexpr double kDust = 1e-12;

// Returns the root v of the budget equation, and writes the number of items
// that are active there.
double FindValue(const SortedFBetaGame& game, int* num_active) {
  const double beta2 = game.beta2;
  const double budget = 1 + beta2;
  *num_active = 0;
  if (game.psi[0] <= -1) return 1;  // v = 1 alone uses up the budget.
  // Returns the root if the budget pays for `active` items and, if `positive`,
  // for the empty set.
  const auto root = [&](int active, bool positive) {
    const double slope = active + beta2 + (positive ? budget : 0);
    return (budget - game.sums[active] - beta2 * game.psi[0]) / slope;
  };
  for (const bool positive : {true, false}) {
    int active = 1;
    double v = root(active, positive);
    while (active < game.num_items && v + game.psi[active] > 0) {
      v = root(++active, positive);
    }
    *num_active = active;
    if (v >= 0 || !positive) return v;
  }
  return 0;  // This is never reached.
}

void FillAdversary(const SortedFBetaGame& game, double v, int num_active,
                   SizeMarginals* adversary) {
  const int size = 1;
  adversary->Reset({&size, num_active > 0 ? size_t{1} : size_t{0}},
                   game.num_items);
  adversary->empty = 1;
  if (num_active == 0) return;
  const double beta2 = game.beta2;
  const double slope = num_active + beta2 + (v >= 0 ? 1 + beta2 : 0);
  adversary->empty = v >= 0 ? (1 + beta2) / slope : 0;
  adversary->probability[0] = 1 - adversary->empty;
  int equal = 1;
  while (equal < num_active && game.psi[equal] == game.psi[0]) ++equal;
  for (int i = 0; i < num_active; ++i) {
    adversary->items[i] = (1 + (i < equal ? beta2 / equal : 0)) / slope;
  }
}

// Splits the masses m_i = (v+ψ_i)⁺ between sets of size s and s + 1. With
// total_t of mass for the larger sets, any split has m_is within [m_i -
// total_t, total_s], clipped to [0, m_i]. Takes the same share of each range,
// so that equal potentials get equal marginals.
void FillPredictor(const SortedFBetaGame& game, FBetaClosedForm* form) {
  const int active = form->num_active;
  const double v = form->value - game.sums[game.num_positive];
  const double total = form->total;
  const double sum = active * v + game.sums[active];
  const int s =
      std::clamp(static_cast<int>(std::floor(sum / total + kDust)), 1, active);
  double total_t = std::clamp(sum - s * total, 0.0, total);
  if (total_t < kDust * total) total_t = 0;
  const double total_s = total - total_t;
  const int sizes[] = {s, s + 1};
  form->predictor.Reset({sizes, total_t > 0 && s < active ? 2u : 1u},
                        game.num_items);
  SizeMarginals& predictor = form->predictor;
  predictor.empty = std::max(v, 0.0);
  const auto probability = [&](int size) {
    return (size + game.beta2) / (1 + game.beta2);
  };
  const auto mass = [&](int i) { return v + game.psi[i]; };
  const auto lowest = [&](int i) { return std::max(0.0, mass(i) - total_t); };
  double low_sum = 0;
  double high_sum = 0;
  for (int i = 0; i < active; ++i) {
    low_sum += lowest(i);
    high_sum += std::min(total_s, mass(i));
  }
  const double range = high_sum - low_sum;
  const double share =
      range > 0 ? std::clamp((s * total_s - low_sum) / range, 0.0, 1.0) : 0;
  for (size_t k = 0; k < predictor.sizes.size(); ++k) {
    const double factor = probability(sizes[k]);
    predictor.probability[k] = factor * (k == 0 ? total_s : total_t);
    const std::span<double> row =
        predictor.row(static_cast<int>(k), game.num_items);
    for (int i = 0; i < active; ++i) {
      const double low = lowest(i);
      const double m = low + share * (std::min(total_s, mass(i)) - low);
      row[i] = factor * (k == 0 ? m : mass(i) - m);
    }
  }
}

}  // namespace

void SolveFBetaClosedForm(const SortedFBetaGame& game,
                          FBetaClosedForm* result) {
  const double v = FindValue(game, &result->num_active);
  result->value = v + game.sums[game.num_positive];
  result->total = std::max(v + game.psi[0], 0.0);
  FillAdversary(game, v, result->num_active, &result->adversary);
  if (result->num_active > 0) {
    FillPredictor(game, result);
  } else {
    result->predictor.Reset({}, game.num_items);
    result->predictor.empty = 1;
  }
}

// Item i holds [C_{i-1}, C_i) of the cumulated marginals. A set has the items
// that hold u, u + 1, ... It changes when u passes the fractional part of some
// C_i.
void AppendSystematicSets(const SortedFBetaGame& game, int limit,
                          FBetaClosedForm* form, ItemSets* sets) {
  if (form->num_active == 0) return;
  const double v = form->value - game.sums[game.num_positive];
  std::vector<double>& cumulated = form->cumulated;
  std::vector<double>& starts = form->starts;
  cumulated.assign(form->num_active + 1, 0);
  starts.assign(1, 0);
  for (int i = 0; i < form->num_active; ++i) {
    cumulated[i + 1] = cumulated[i] + (v + game.psi[i]) / form->total;
    starts.push_back(cumulated[i + 1] - std::floor(cumulated[i + 1]));
  }
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  const double step = std::max(1.0, static_cast<double>(starts.size()) / limit);
  for (double place = 0; place < static_cast<double>(starts.size());
       place += step) {
    const auto k = static_cast<size_t>(place);
    const double end = k + 1 < starts.size() ? starts[k + 1] : 1.0;
    const double u = (starts[k] + end) / 2;
    const int set = sets->AddEmpty();
    for (int i = 0; i < form->num_active; ++i) {
      if (std::ceil(cumulated[i + 1] - u) > std::ceil(cumulated[i] - u)) {
        sets->AddRange(set, i, i + 1);
      }
    }
  }
}

}  // namespace sortition
