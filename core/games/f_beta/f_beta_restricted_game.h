#pragma once
// The F-beta game restricted to lists of sets, which grow and shrink. A set
// stands for all sets that differ from it only by permutations of items with
// equal potentials. They are played with equal probability.
#include <span>
#include <vector>

#include "core/games/f_beta/f_beta_sorted.h"
#include "core/games/f_beta/item_sets.h"
#include "core/optim/matrix_simplex.h"

namespace sortition {

// Reusable: allocates nothing once it has met as large a game. `game` must
// outlive its use.
class FBetaRestrictedGame {
 public:
  void Clear(const SortedFBetaGame& game, double perturbation);

  // Return false and add nothing if the set is already there.
  bool AddRow(std::span<const uint64_t> set, int size);  // For the predictor.
  bool AddColumn(std::span<const uint64_t> set,
                 int size);  // For the adversary.
  bool AddPrefixRow(int size);
  bool AddPrefixColumn(int size);

  // Solves the game. Must be called between additions of rows and of columns
  // (see MatrixSimplex). Returns false if the simplex method failed.
  bool Solve();
  double value() const { return simplex_.value(); }

  // Removes actions that were not played in the last `max_age` solutions, if
  // there are more than `keep` times as many actions as are played. Keeps the
  // first column, {ψ > 0}.
  void Purge(int max_age, double keep);

  const ItemSets& rows() const { return rows_.sets; }
  const ItemSets& columns() const { return columns_.sets; }
  std::span<const double> row_strategy() const {
    return simplex_.row_strategy();
  }
  std::span<const double> column_strategy() const {
    return simplex_.column_strategy();
  }
  int64_t num_pivots() const { return simplex_.num_pivots(); }

 private:
  struct Actions {
    ItemSets sets;         // The first items of each tie.
    std::vector<int> age;  // Solutions since the set was last played.
    // [set · ties + tie]: number of items of the tie in the set.
    std::vector<int> tied;
  };
  bool Append(std::span<const uint64_t> set, int size, Actions* actions);
  void Remove(int set, Actions* actions) const;
  double Score(int row, int column) const;
  double CostOf(std::span<const uint64_t> set) const;
  std::span<const uint64_t> Prefix(int size);
  static int CountPlayed(Actions* actions, std::span<const double> strategy);

  const SortedFBetaGame* game_ = nullptr;
  Actions rows_;
  Actions columns_;
  std::vector<double> cost_;  // [column]
  MatrixSimplex simplex_;
  std::vector<double> payoffs_;
  ItemSets scratch_;
};

// Writes alpha · incumbent + (1 - alpha) · the mixture of `sets` with
// `weights`, averaged over ties. `incumbent` may be null if alpha is 0.
// `row_of_size` is scratch space.
void MixMarginals(const SortedFBetaGame& game, const SizeMarginals* incumbent,
                  double alpha, const ItemSets& sets,
                  std::span<const double> weights,
                  std::vector<int>* row_of_size, SizeMarginals* mixture);

}  // namespace sortition
