#pragma once
// What must hold for all terms of rankings.
#include <numeric>
#include <vector>

#include "Eigen/Core"
#include "core/counterfactual/tuple_terms.h"
#include "gtest/gtest.h"
#include "tests/testing/central_differences.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// Compares the gradient of mean and deviation with central differences, and
// tuples asked one by one, in another order, with all of them.
inline void CheckTerms(TupleTerms* terms, const Eigen::VectorXd& point,
                       double tolerance = 1e-7) {
  ASSERT_OK_AND_ASSIGN(const TermObjective objective,
                       TermObjective::Create(terms, 0.7, 0.1));
  Eigen::VectorXd gradient(point.size());
  objective.Evaluate(point, &gradient);
  EXPECT_LT((gradient - CentralDifferences(objective, point)).norm(),
            tolerance * (1 + gradient.norm()));
  const std::vector<double> values = AllValues(point, terms);
  Eigen::VectorXd whole = Eigen::VectorXd::Zero(point.size());
  std::vector<uint32_t> all(terms->num_tuples());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<double> some(all.size());
  terms->Values(point, all, some);
  terms->AddGradient(std::vector<double>(all.size(), 2), &whole);
  Eigen::VectorXd single = Eigen::VectorXd::Zero(point.size());
  for (uint32_t i = static_cast<uint32_t>(values.size()); i-- > 0;) {
    double value = 0;
    const double factor = 2;
    terms->Values(point, {&i, 1}, {&value, 1});
    EXPECT_EQ(value, values[i]) << i;
    terms->AddGradient({&factor, 1}, &single);
  }
  EXPECT_LT((whole - single).norm(), 1e-12 * (1 + whole.norm()));
}

}  // namespace sortition
