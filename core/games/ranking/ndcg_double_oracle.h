#pragma once
// Solves the NDCG game of ndcg_game.h if the adversary mixes sizes: a double
// oracle [McMahanGordonBlum03] over strategies rather than actions. The payoff
// is bilinear in the predictor's d and the adversary's w = E[y / Z_|y|], so a
// row may be any d and a column any sets of one size. If it starts from the
// equilibria of single sizes, it ends after a few rounds. The best responses
// are the order of w and, for every size, the cheapest items.
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/games/ranking/discounts.h"
#include "core/games/ranking/ndcg_certificate.h"
#include "core/optim/matrix_simplex.h"

namespace sortition {

// Reusable; deterministic.
class NdcgDoubleOracle {
 public:
  // Begins a game. The spans must outlive it. Requires Z_1 > 0.
  void Start(std::span<const double> psi, const Discounts& discounts,
             std::optional<double> empty_score);

  // Add the first strategies, at least one of each player.
  void AddPredictor(std::vector<double> expected_discounts);
  // q: the items' probabilities to be positive given |y|; they add up to
  // num_positives.
  void AddAdversary(size_t num_positives, std::vector<double> q);

  // Plays one round: solves the game of the strategies so far, updates what the
  // players' strategies guarantee, and adds the best answers. Returns false if
  // there is nothing left to add, or the linear program failed.
  bool Round();

  // The best bounds so far; lower <= value <= upper.
  double lower() const { return lower_; }
  double upper() const { return upper_; }
  const std::vector<double>& expected_discounts() const { return best_d_; }
  const std::vector<NdcgSets>& sets() const { return best_sets_; }

 private:
  struct Column {
    size_t num_positives;
    std::vector<double> q;
    double normaliser;
    double constant;  // -ψ·q or, for the empty set, its score.
  };
  struct Answer {
    double value;
    size_t num_positives;
  };

  double Payoff(std::span<const double> d, const Column& column) const;
  bool AnswerPredictor();
  bool AnswerAdversary();
  std::vector<double> CheapestSet(std::span<const double> d, size_t size,
                                  double* value);

  std::span<const double> psi_;
  const Discounts* discounts_ = nullptr;
  std::optional<double> empty_score_;
  std::vector<double> normalisers_;  // Z_t, t from 0.
  MatrixSimplex simplex_;
  std::vector<std::vector<double>> rows_;
  std::vector<Column> columns_;
  std::vector<double> payoffs_;
  std::vector<std::pair<double, size_t>> costs_;
  double lower_ = 0;
  double upper_ = 0;
  std::vector<double> best_d_;
  std::vector<NdcgSets> best_sets_;
};

}  // namespace sortition
