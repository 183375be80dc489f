#include "bench/reference/oracle_games.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {
namespace {

// Returns the items from the largest value to the smallest, ties by item.
GameAction Descending(const Eigen::VectorXd& values) {
  GameAction order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return values[a] > values[b]; });
  return order;
}

// Returns the `size` items of largest value, as labels.
GameAction Largest(const Eigen::VectorXd& values, int size) {
  const GameAction order = Descending(values);
  GameAction labels(order.size(), 0);
  for (int r = 0; r < size; ++r) labels[order[r]] = 1;
  return labels;
}

// Returns the set y with the smallest Σ_{i in y} costs_i among the permitted
// sizes.
GameAction CheapestSet(const Eigen::VectorXd& costs, PositivesRange positives) {
  const auto negative = static_cast<int>((costs.array() < 0).count());
  return Largest(-costs,
                 std::clamp(negative, positives.fewest, positives.most));
}

// Returns E[y_i].
Eigen::VectorXd Marginals(const MixedStrategy& strategy, int n) {
  Eigen::VectorXd marginals = Eigen::VectorXd::Zero(n);
  for (size_t a = 0; a < strategy.actions.size(); ++a) {
    for (int i = 0; i < n; ++i) {
      marginals[i] += strategy.probabilities[static_cast<Eigen::Index>(a)] *
                      strategy.actions[a][i];
    }
  }
  return marginals;
}

// Returns E[discounts[rank of i]].
Eigen::VectorXd ExpectedDiscounts(const MixedStrategy& orders,
                                  const Eigen::VectorXd& discounts) {
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(discounts.size());
  for (size_t a = 0; a < orders.actions.size(); ++a) {
    for (Eigen::Index r = 0; r < discounts.size(); ++r) {
      expected[orders.actions[a][r]] +=
          orders.probabilities[static_cast<Eigen::Index>(a)] * discounts[r];
    }
  }
  return expected;
}

double PotentialOf(const Eigen::VectorXd& psi, const GameAction& y) {
  double sum = 0;
  for (Eigen::Index i = 0; i < psi.size(); ++i) sum += y[i] * psi[i];
  return sum;
}

int Size(const GameAction& y) { return std::accumulate(y.begin(), y.end(), 0); }

double FBeta(const GameAction& a, const GameAction& y, double b) {
  const int both = std::inner_product(a.begin(), a.end(), y.begin(), 0);
  const double scale = Size(a) + b * Size(y);
  return scale == 0 ? 1 : (1 + b) * both / scale;
}

// Returns scores(i, s-1) = Σ_a P(a) a_i W(|a|, s), where W is the F-score per
// common item against a set of size s. This is matrix F of algorithm 2, without
// ψ.
template <typename Weight>
Eigen::MatrixXd ScoresBySize(const MixedStrategy& sets, int n, Weight weight) {
  Eigen::MatrixXd scores = Eigen::MatrixXd::Zero(n, n);
  for (size_t a = 0; a < sets.actions.size(); ++a) {
    const double p = sets.probabilities[static_cast<Eigen::Index>(a)];
    const int size = Size(sets.actions[a]);
    if (p == 0 || size == 0) continue;
    for (int s = 1; s <= n; ++s) {
      for (int i = 0; i < n; ++i) {
        scores(i, s - 1) += p * sets.actions[a][i] * weight(size, s);
      }
    }
  }
  return scores;
}

double ProbabilityOfEmpty(const MixedStrategy& sets) {
  double sum = 0;
  for (size_t a = 0; a < sets.actions.size(); ++a) {
    if (Size(sets.actions[a]) == 0) {
      sum += sets.probabilities[static_cast<Eigen::Index>(a)];
    }
  }
  return sum;
}

// Algorithm 2: for each size the best set is found greedily. `empty` is the
// score of the empty set.
GameAction LargestOverSizes(const Eigen::MatrixXd& scores, double empty) {
  const auto n = static_cast<int>(scores.rows());
  GameAction best(n, 0);
  double best_score = empty;
  for (int s = 1; s <= n; ++s) {
    const GameAction candidate = Largest(scores.col(s - 1), s);
    const double score = PotentialOf(scores.col(s - 1), candidate);
    if (score <= best_score) continue;
    best_score = score;
    best = candidate;
  }
  return best;
}

}  // namespace

OracleGame PrecisionAtKGame(const Eigen::VectorXd& psi, int k,
                            PositivesRange positives) {
  const auto n = static_cast<int>(psi.size());
  OracleGame game;
  game.payoff = [psi, k](const GameAction& row, const GameAction& column) {
    return std::inner_product(row.begin(), row.end(), column.begin(), 0.0) / k -
           PotentialOf(psi, column);
  };
  game.best_row = [n, k](const MixedStrategy& columns) {
    return Largest(Marginals(columns, n), k);
  };
  game.best_column = [psi, n, k, positives](const MixedStrategy& rows) {
    return CheapestSet(Marginals(rows, n) / k - psi, positives);
  };
  game.first_row = Largest(psi, k);
  game.first_column = Largest(psi, positives.most);
  return game;
}

OracleGame DcgGame(const Eigen::VectorXd& psi, const Eigen::VectorXd& discounts,
                   PositivesRange positives) {
  const auto n = static_cast<int>(psi.size());
  OracleGame game;
  game.payoff = [psi, discounts](const GameAction& row,
                                 const GameAction& column) {
    double score = -PotentialOf(psi, column);
    for (size_t r = 0; r < row.size(); ++r) {
      score += discounts[static_cast<Eigen::Index>(r)] * column[row[r]];
    }
    return score;
  };
  game.best_row = [n](const MixedStrategy& columns) {
    return Descending(Marginals(columns, n));
  };
  game.best_column = [psi, discounts, positives](const MixedStrategy& rows) {
    return CheapestSet(ExpectedDiscounts(rows, discounts) - psi, positives);
  };
  game.first_row = Descending(psi);
  game.first_column = Largest(psi, positives.most);
  return game;
}

OracleGame GradedDcgGame(const Eigen::MatrixXd& psi,
                         const Eigen::VectorXd& gains,
                         const Eigen::VectorXd& discounts) {
  OracleGame game;
  game.payoff = [=](const GameAction& row, const GameAction& column) {
    double score = 0;
    for (Eigen::Index r = 0; r < discounts.size(); ++r) {
      score += discounts[r] * gains[column[row[r]]] - psi(r, column[r]);
    }
    return score;
  };
  game.best_row = [=](const MixedStrategy& columns) {
    Eigen::VectorXd expected_gains = Eigen::VectorXd::Zero(psi.rows());
    for (size_t a = 0; a < columns.actions.size(); ++a) {
      for (Eigen::Index i = 0; i < psi.rows(); ++i) {
        expected_gains[i] +=
            columns.probabilities[static_cast<Eigen::Index>(a)] *
            gains[columns.actions[a][i]];
      }
    }
    return Descending(expected_gains);
  };
  game.best_column = [=](const MixedStrategy& rows) {
    const Eigen::VectorXd expected = ExpectedDiscounts(rows, discounts);
    GameAction levels(psi.rows());
    for (Eigen::Index i = 0; i < psi.rows(); ++i) {
      (expected[i] * gains.transpose() - psi.row(i)).minCoeff(&levels[i]);
    }
    return levels;
  };
  game.first_row = Descending(psi.rightCols(1));
  game.first_column.assign(psi.rows(), 0);
  return game;
}

OracleGame FBetaGame(const Eigen::VectorXd& psi, double beta) {
  const auto n = static_cast<int>(psi.size());
  const double b = beta * beta;
  OracleGame game;
  game.payoff = [psi, b](const GameAction& row, const GameAction& column) {
    return FBeta(row, column, b) - PotentialOf(psi, column);
  };
  game.best_row = [n, b](const MixedStrategy& columns) {
    return LargestOverSizes(
        ScoresBySize(columns, n,
                     [b](int size, int s) { return (1 + b) / (s + b * size); }),
        ProbabilityOfEmpty(columns));
  };
  game.best_column = [psi, n, b](const MixedStrategy& rows) {
    const Eigen::MatrixXd scores = ScoresBySize(
        rows, n, [b](int size, int s) { return (1 + b) / (size + b * s); });
    return LargestOverSizes(-(scores.colwise() - psi),
                            -ProbabilityOfEmpty(rows));
  };
  game.first_row.assign(n, 1);
  game.first_column.assign(n, 0);
  return game;
}

Eigen::VectorXd DcgDiscounts(int n) {
  return Eigen::VectorXd::NullaryExpr(n, [](Eigen::Index rank) {
    return 1 / std::log2(static_cast<double>(rank + 2));
  });
}

std::vector<GameAction> AllLabellings(int n, int levels) {
  std::vector<GameAction> all;
  GameAction y(n, 0);
  for (;;) {
    all.push_back(y);
    int i = n - 1;
    while (i >= 0 && y[i] == levels - 1) y[i--] = 0;
    if (i < 0) return all;
    ++y[i];
  }
}

std::vector<GameAction> AllSets(int n, PositivesRange positives) {
  std::vector<GameAction> all = AllLabellings(n, 2);
  std::erase_if(all, [&](const GameAction& y) {
    return Size(y) < positives.fewest || Size(y) > positives.most;
  });
  return all;
}

std::vector<GameAction> AllOrders(int n) {
  std::vector<GameAction> all;
  GameAction order(n);
  std::iota(order.begin(), order.end(), 0);
  do {
    all.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
  return all;
}

}  // namespace sortition
