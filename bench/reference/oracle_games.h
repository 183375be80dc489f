#pragma once
// The prediction games of [WangXingAsifZiebart15] with their best responses
// (sec. 3.4, algorithm 2 [DembczynskiEtAl11]), for the double oracle and for
// enumeration. The payoff for row ŷ and column y is score(ŷ, y) - Σ_i ψ(i,
// y_i), where ψ(i, 0) = 0 if y is binary.
#include <vector>

#include "bench/reference/double_oracle.h"

namespace sortition {

// How many positives the adversary may have; fewest ≤ most ≤ n.
struct PositivesRange {
  int fewest = 0;
  int most = 0;
};

// P@k: |ŷ ∩ y| / k; ŷ has k positives. Requires 1 ≤ k ≤ n.
OracleGame PrecisionAtKGame(const Eigen::VectorXd& psi, int k,
                            PositivesRange positives);

// DCG: Σ_r discounts[r] y_ŷ(r), ŷ an order; discounts do not increase.
OracleGame DcgGame(const Eigen::VectorXd& psi, const Eigen::VectorXd& discounts,
                   PositivesRange positives);

// DCG of levels 0 .. K-1: Σ_r discounts[r] gains[y_ŷ(r)]; psi is n × K.
OracleGame GradedDcgGame(const Eigen::MatrixXd& psi,
                         const Eigen::VectorXd& gains,
                         const Eigen::VectorXd& discounts);

// F-beta: (1 + β²) |ŷ ∩ y| / (|ŷ| + β² |y|), 1 if both are empty.
OracleGame FBetaGame(const Eigen::VectorXd& psi, double beta);

// Returns 1 / log2(rank + 2) for each rank from 0.
Eigen::VectorXd DcgDiscounts(int n);

// Returns every y in {0, ..., levels - 1}^n.
std::vector<GameAction> AllLabellings(int n, int levels);
// Returns the sets whose size is in the range.
std::vector<GameAction> AllSets(int n, PositivesRange positives);
std::vector<GameAction> AllOrders(int n);

}  // namespace sortition
