#include "core/games/f_beta_restricted_game.h"

#include <cmath>

namespace sortition {
namespace {

double PayoffOf(const SortedFBetaGame& game, std::span<const uint64_t> row,
                int s, std::span<const uint64_t> column, int t) {
  if (s == 0 || t == 0) return s == t ? 1 : 0;
  return game.Weight(s, t) * SizeOfIntersection(row, column);
}

}  // namespace

void FBetaRestrictedGame::Clear(const SortedFBetaGame& game,
                                double perturbation) {
  game_ = &game;
  for (Actions* actions : {&rows_, &columns_}) {
    actions->sets.Clear(game.num_items);
    actions->age.clear();
  }
  cost_.clear();
  simplex_.Clear(/*lowest_payoff=*/0, perturbation);
  prefix_.Clear(game.num_items);
  prefix_.AddEmpty();
}

std::span<const uint64_t> FBetaRestrictedGame::Prefix(int size) {
  prefix_.MakeEmpty(0);
  prefix_.AddRange(0, 0, size);
  return prefix_.bits(0);
}

// Items that differ from {ψ > 0}; each costs its |ψ|.
double FBetaRestrictedGame::CostOf(std::span<const uint64_t> set) const {
  double cost = 0;
  for (size_t w = 0; w < set.size(); ++w) {
    const int positive =
        std::clamp(game_->num_positive - 64 * static_cast<int>(w), 0, 64);
    const uint64_t free =
        positive == 64 ? ~uint64_t{0} : (uint64_t{1} << positive) - 1;
    const uint64_t different[] = {set[w] ^ free};
    ForEachItem(different,
                [&](int item) { cost += std::abs(game_->psi[64 * w + item]); });
  }
  return cost;
}

bool FBetaRestrictedGame::AddRow(std::span<const uint64_t> set, int size) {
  if (rows_.sets.Find(set, size) >= 0) return false;
  const ItemSets& columns = columns_.sets;
  payoffs_.resize(columns.count());
  for (int j = 0; j < columns.count(); ++j) {
    payoffs_[j] =
        PayoffOf(*game_, set, size, columns.bits(j), columns.size(j)) +
        cost_[j];
  }
  rows_.sets.Add(set, size);
  rows_.age.push_back(0);
  simplex_.AddRow(payoffs_);
  return true;
}

bool FBetaRestrictedGame::AddColumn(std::span<const uint64_t> set, int size) {
  if (columns_.sets.Find(set, size) >= 0) return false;
  const ItemSets& rows = rows_.sets;
  const double cost = CostOf(set);
  payoffs_.resize(rows.count());
  for (int i = 0; i < rows.count(); ++i) {
    payoffs_[i] =
        PayoffOf(*game_, rows.bits(i), rows.size(i), set, size) + cost;
  }
  columns_.sets.Add(set, size);
  columns_.age.push_back(0);
  cost_.push_back(cost);
  simplex_.AddColumn(payoffs_);
  return true;
}

bool FBetaRestrictedGame::AddPrefixRow(int size) {
  return AddRow(Prefix(size), size);
}

bool FBetaRestrictedGame::AddPrefixColumn(int size) {
  return AddColumn(Prefix(size), size);
}

bool FBetaRestrictedGame::Solve() { return simplex_.Solve(); }

int FBetaRestrictedGame::CountPlayed(Actions* actions,
                                     std::span<const double> strategy) {
  int played = 0;
  for (size_t i = 0; i < strategy.size(); ++i) {
    int& age = actions->age[i];
    age = strategy[i] > 0 ? 0 : age + 1;
    played += strategy[i] > 0;
  }
  return played;
}

void FBetaRestrictedGame::Purge(int max_age, double keep) {
  const double max_rows = keep * CountPlayed(&rows_, row_strategy());
  const double max_columns = keep * CountPlayed(&columns_, column_strategy());
  for (int i = rows().count() - 1; i >= 0 && rows().count() > max_rows; --i) {
    if (rows_.age[i] <= max_age || !simplex_.RowIsIdle(i)) continue;
    simplex_.RemoveRow(i);
    rows_.sets.Remove(i);
    rows_.age[i] = rows_.age.back();
    rows_.age.pop_back();
  }
  for (int j = columns().count() - 1; j > 0 && columns().count() > max_columns;
       --j) {
    if (columns_.age[j] <= max_age || !simplex_.ColumnIsIdle(j)) continue;
    simplex_.RemoveColumn(j);
    columns_.sets.Remove(j);
    columns_.age[j] = columns_.age.back();
    columns_.age.pop_back();
    cost_[j] = cost_.back();
    cost_.pop_back();
  }
}

void MixMarginals(int num_items, const SizeMarginals* incumbent, double alpha,
                  const ItemSets& sets, std::span<const double> weights,
                  std::vector<int>* row_of_size, SizeMarginals* mixture) {
  row_of_size->assign(num_items + 1, 0);
  for (int i = 0; i < sets.count(); ++i) {
    if (weights[i] > 0) (*row_of_size)[sets.size(i)] = 1;
  }
  if (alpha > 0) {
    for (const int size : incumbent->sizes) (*row_of_size)[size] = 1;
  }
  mixture->sizes.clear();
  for (int s = 1; s <= num_items; ++s) {
    if ((*row_of_size)[s] == 0) continue;
    (*row_of_size)[s] = static_cast<int>(mixture->sizes.size());
    mixture->sizes.push_back(s);
  }
  mixture->empty = 0;
  mixture->probability.assign(mixture->sizes.size(), 0);
  mixture->items.assign(mixture->sizes.size() * num_items, 0);
  for (int i = 0; i < sets.count(); ++i) {
    const double weight = (1 - alpha) * weights[i];
    if (weight <= 0) continue;
    if (sets.size(i) == 0) {
      mixture->empty += weight;
      continue;
    }
    const int k = (*row_of_size)[sets.size(i)];
    mixture->probability[k] += weight;
    const std::span<double> row = mixture->row(k, num_items);
    ForEachItem(sets.bits(i), [&](int item) { row[item] += weight; });
  }
  if (alpha <= 0) return;
  mixture->empty += alpha * incumbent->empty;
  for (size_t j = 0; j < incumbent->sizes.size(); ++j) {
    const int k = (*row_of_size)[incumbent->sizes[j]];
    mixture->probability[k] += alpha * incumbent->probability[j];
    const std::span<const double> from =
        incumbent->row(static_cast<int>(j), num_items);
    const std::span<double> row = mixture->row(k, num_items);
    for (int i = 0; i < num_items; ++i) row[i] += alpha * from[i];
  }
}

}  // namespace sortition
