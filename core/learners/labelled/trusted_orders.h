#pragma once
// Orders that are trusted beside the labels [IyerBilmes13, eq. 23]. For N
// queries with features X_q their penalty is
//   D(w) = (1/N) Σ_q d(X_q w‖σ_q),
// where d is the divergence of a function of cardinality. It is convex, and d(s
// w) = s d(w) for s >= 0. So with a subgradient g at w, D(w) = g·w, and g·v <=
// D(v) everywhere: a plane through 0. D falls as scores shrink, so its
// influence on an objective depends on the scale of the scores that the other
// terms prefer.
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/aggregation/order.h"
#include "core/aggregation/submodular_function.h"
#include "core/data/labelled_items.h"
#include "sortition/config/v1/labelled.pb.h"

namespace sortition {

// Immutable. Functions of weights require one finite weight for each feature.
class TrustedOrders {
 public:
  // orders[q] has the candidates of queries[q]. What the queries view must
  // outlive it. InvalidArgument if there is no query, an order is not one of
  // its query's candidates, or the cutoff has no meaning for the divergence.
  static absl::StatusOr<TrustedOrders> Create(
      std::span<const LabelledItems> queries, std::vector<Order> orders,
      config::v1::OrderDivergence::Kind divergence, uint32_t cutoff);

  // Returns the same orders over `queries`, which has other features of the
  // same candidates and must outlive the result.
  TrustedOrders Over(std::span<const LabelledItems> queries) const;

  size_t num_queries() const { return queries_.size(); }  // N
  std::span<const uint32_t> order(size_t q) const { return orders_[q]; }
  const CardinalityFunction& function(size_t q) const {
    return *functions_.at(orders_[q].size());
  }

  // Returns scale · d(X_q w‖σ_q) and adds scale times its subgradient to
  // `slope`. Ties of the scores are broken by σ_q. Costs one sort.
  double Add(size_t q, double scale, std::span<const double> weights,
             std::span<double> slope) const;
  // Returns scale · D(w) and adds scale times its subgradient to `slope`.
  double AddMean(double scale, std::span<const double> weights,
                 std::span<double> slope) const;

  // How far the scores of w are from the orders.
  struct Distance {
    double divergence = 0;  // D(w)
    // Mean, over the queries that have a pair, of the share of pairs that the
    // scores invert. Equal scores do not count as inverted.
    double inverted_pairs = 0;
  };
  Distance Measure(std::span<const double> weights) const;

 private:
  TrustedOrders() = default;

  std::vector<Candidates> queries_;
  std::vector<Order> orders_;
  std::map<size_t, std::shared_ptr<const CardinalityFunction>>
      functions_;  // [n]
};

// A term weight · D(w) of an objective. Without orders there is no term.
struct OrderPull {
  const TrustedOrders* orders = nullptr;
  double weight = 0;
};

}  // namespace sortition
