#pragma once
// Trusted orders for tests, and their cost by definition.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "core/aggregation/submodular_function.h"
#include "core/base/random.h"
#include "core/learners/labelled/trusted_orders.h"
#include "gtest/gtest.h"
#include "tests/testing/random_queries.h"

namespace sortition {

inline std::vector<double> ScoresOf(const LabelledItems& query,
                                    const std::vector<double>& weights) {
  std::vector<double> scores;
  for (uint32_t i = 0; i < query.items.num_candidates(); ++i) {
    scores.push_back(query.items.Score(i, weights));
  }
  return scores;
}

inline std::vector<Order> OrdersBy(const TestQueries& queries,
                                   const std::vector<double>& weights) {
  std::vector<Order> orders;
  for (const LabelledItems& query : queries.views()) {
    orders.push_back(OrderOf(ScoresOf(query, weights)));
  }
  return orders;
}

inline std::vector<Order> RandomOrders(const TestQueries& queries,
                                       uint64_t seed) {
  RandomSequence random(SeedKey(seed));
  std::vector<Order> orders;
  for (const LabelledItems& query : queries.views()) {
    Order& order = orders.emplace_back(query.items.num_candidates());
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
  }
  return orders;
}

struct TrustedKind {
  config::v1::OrderDivergence::Kind kind;
  uint32_t cutoff;
};

inline std::vector<TrustedKind> TrustedKinds() {
  using config::v1::OrderDivergence;
  return {{OrderDivergence::DCG, 0},
          {OrderDivergence::DCG, 3},
          {OrderDivergence::ALL_PAIRS, 0},
          {OrderDivergence::TOP, 2}};
}

inline TrustedOrders TrustedOf(const TestQueries& queries,
                               const std::vector<Order>& orders,
                               const TrustedKind& of) {
  return *TrustedOrders::Create(queries.views(), orders, of.kind, of.cutoff);
}

// f of n candidates, chosen independently of the library.
inline std::unique_ptr<CardinalityFunction> FunctionOf(const TrustedKind& of,
                                                       size_t n) {
  using config::v1::OrderDivergence;
  if (of.kind == OrderDivergence::ALL_PAIRS) {
    return CardinalityFunction::AllPairs(n);
  }
  if (of.kind == OrderDivergence::TOP) {
    return CardinalityFunction::Top(n, of.cutoff);
  }
  return CardinalityFunction::Dcg(n, of.cutoff);
}

// The mean over the queries, by eq. 12.
inline double MeanByDefinition(const TestQueries& queries,
                               const std::vector<Order>& orders,
                               const TrustedKind& of,
                               const std::vector<double>& weights) {
  double sum = 0;
  for (size_t q = 0; q < orders.size(); ++q) {
    sum += DivergenceByDefinition(*FunctionOf(of, orders[q].size()),
                                  ScoresOf(queries.views()[q], weights),
                                  orders[q]);
  }
  return sum / static_cast<double>(orders.size());
}

}  // namespace sortition
