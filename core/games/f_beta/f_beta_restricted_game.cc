#include "core/games/f_beta/f_beta_restricted_game.h"

#include <cmath>

namespace sortition {
namespace {

// Makes marginals equal within each tie, since its items are permuted at
// random.
void AverageTies(const SortedFBetaGame& game, SizeMarginals* mixture) {
  for (size_t k = 0; k < mixture->sizes.size(); ++k) {
    const std::span<double> row =
        mixture->row(static_cast<int>(k), game.num_items);
    for (const auto& [begin, end] : game.ties) {
      double sum = 0;
      for (int i = begin; i < end; ++i) sum += row[i];
      std::fill_n(row.begin() + begin, end - begin, sum / (end - begin));
    }
  }
}

void AddScaled(int num_items, const SizeMarginals& from, double scale,
               std::span<const int> row_of_size, SizeMarginals* mixture) {
  mixture->empty += scale * from.empty;
  for (size_t j = 0; j < from.sizes.size(); ++j) {
    if (scale * from.probability[j] <= kFBetaDust) continue;
    const int k = row_of_size[from.sizes[j]];
    mixture->probability[k] += scale * from.probability[j];
    const std::span<const double> source =
        from.row(static_cast<int>(j), num_items);
    const std::span<double> row = mixture->row(k, num_items);
    for (int i = 0; i < num_items; ++i) row[i] += scale * source[i];
  }
}

}  // namespace

void FBetaRestrictedGame::Clear(const SortedFBetaGame& game,
                                double perturbation) {
  game_ = &game;
  for (Actions* actions : {&rows_, &columns_}) {
    actions->sets.Clear(game.num_items);
    actions->age.clear();
    actions->tied.clear();
  }
  cost_.clear();
  simplex_.Clear(/*lowest_payoff=*/0, perturbation);
  scratch_.Clear(game.num_items);
  scratch_.AddEmpty();
  scratch_.AddEmpty();
}

std::span<const uint64_t> FBetaRestrictedGame::Prefix(int size) {
  scratch_.MakeEmpty(0);
  scratch_.AddRange(0, 0, size);
  return scratch_.bits(0);
}

// Returns the cost of a set: the sum of |ψ| over the items in which it differs
// from {ψ > 0}.
double FBetaRestrictedGame::CostOf(std::span<const uint64_t> set) const {
  double cost = 0;
  for (size_t w = 0; w < set.size(); ++w) {
    const int positive =
        std::clamp(game_->num_positive - 64 * static_cast<int>(w), 0, 64);
    const uint64_t different[] = {set[w] ^ Ones(positive)};
    ForEachItem(different,
                [&](int item) { cost += std::abs(game_->psi[64 * w + item]); });
  }
  return cost;
}

// Returns F(row, column), where the items of a tie meet as often as if both
// sets drew them at random.
double FBetaRestrictedGame::Score(int row, int column) const {
  const int s = rows_.sets.size(row);
  const int t = columns_.sets.size(column);
  if (s == 0 || t == 0) return s == t ? 1 : 0;
  double common =
      SizeOfIntersection(rows_.sets.bits(row), columns_.sets.bits(column));
  const size_t num_ties = game_->ties.size();
  const int* tied_row = rows_.tied.data() + row * num_ties;
  const int* tied_column = columns_.tied.data() + column * num_ties;
  for (size_t k = 0; k < num_ties; ++k) {
    const int a = tied_row[k];
    const int y = tied_column[k];
    const int size = game_->ties[k].end - game_->ties[k].begin;
    common += static_cast<double>(a) * y / size - std::min(a, y);
  }
  return game_->Weight(s, t) * common;
}

// Returns false if there is already a set with as many items of each tie.
bool FBetaRestrictedGame::Append(std::span<const uint64_t> set, int size,
                                 Actions* actions) {
  const size_t old_end = actions->tied.size();
  std::span<const uint64_t> wanted = set;
  if (!game_->ties.empty()) {
    scratch_.Replace(1, set, size);
    for (const auto& [begin, end] : game_->ties) {
      const int count = scratch_.TakeRange(1, begin, end);
      scratch_.AddRange(1, begin, begin + count);
      actions->tied.push_back(count);
    }
    wanted = scratch_.bits(1);
  }
  if (actions->sets.Find(wanted, size) >= 0) {
    actions->tied.resize(old_end);
    return false;
  }
  actions->sets.Add(wanted, size);
  actions->age.push_back(0);
  return true;
}

void FBetaRestrictedGame::Remove(int set, Actions* actions) const {
  actions->sets.Remove(set);
  actions->age[set] = actions->age.back();
  actions->age.pop_back();
  const size_t num_ties = game_->ties.size();
  std::copy(actions->tied.end() - static_cast<std::ptrdiff_t>(num_ties),
            actions->tied.end(), actions->tied.begin() + set * num_ties);
  actions->tied.resize(actions->tied.size() - num_ties);
}

bool FBetaRestrictedGame::AddRow(std::span<const uint64_t> set, int size) {
  if (!Append(set, size, &rows_)) return false;
  const int row = rows().count() - 1;
  payoffs_.resize(columns().count());
  for (int j = 0; j < columns().count(); ++j) {
    payoffs_[j] = Score(row, j) + cost_[j];
  }
  simplex_.AddRow(payoffs_);
  return true;
}

bool FBetaRestrictedGame::AddColumn(std::span<const uint64_t> set, int size) {
  if (!Append(set, size, &columns_)) return false;
  const int column = columns().count() - 1;
  cost_.push_back(CostOf(columns().bits(column)));
  payoffs_.resize(rows().count());
  for (int i = 0; i < rows().count(); ++i) {
    payoffs_[i] = Score(i, column) + cost_.back();
  }
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
    Remove(i, &rows_);
  }
  for (int j = columns().count() - 1; j > 0 && columns().count() > max_columns;
       --j) {
    if (columns_.age[j] <= max_age || !simplex_.ColumnIsIdle(j)) continue;
    simplex_.RemoveColumn(j);
    Remove(j, &columns_);
    cost_[j] = cost_.back();
    cost_.pop_back();
  }
}

void MixMarginals(const SortedFBetaGame& game, const SizeMarginals* incumbent,
                  double alpha, const ItemSets& sets,
                  std::span<const double> weights,
                  std::vector<int>* row_of_size, SizeMarginals* mixture) {
  const int num_items = game.num_items;
  row_of_size->assign(num_items + 1, 0);
  for (int i = 0; i < sets.count(); ++i) {
    if (weights[i] > 0) (*row_of_size)[sets.size(i)] = 1;
  }
  if (alpha > 0) {
    for (size_t j = 0; j < incumbent->sizes.size(); ++j) {
      if (alpha * incumbent->probability[j] <= kFBetaDust) continue;
      (*row_of_size)[incumbent->sizes[j]] = 1;
    }
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
  AverageTies(game, mixture);
  if (alpha > 0) AddScaled(num_items, *incumbent, alpha, *row_of_size, mixture);
}

}  // namespace sortition
