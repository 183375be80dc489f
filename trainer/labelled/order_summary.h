#pragma once
// Means of metrics over queries, as `evaluate` reports them.
#include <cstdint>
#include <string>
#include <vector>

#include "core/metrics/tied_ranking.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "trainer/labelled/order_metrics.h"

namespace sortition {

// Means over the queries that have the metric, with a line for each query.
class OrderSummary {
 public:
  OrderSummary(std::vector<OrderMetric> metrics,
               const config::v1::EvaluateOptions& options);

  // Adds a query, unless it has nothing relevant and the options leave such
  // queries out.
  void Add(const std::string& id, const ScoredQuery& query);

  // Writes means, numbers of queries and candidates, and what is tied.
  void Fill(config::v1::EvaluateReport* report) const;
  // Returns a line for each query (TSV) with a header.
  const std::string& table() const { return table_; }

 private:
  const std::vector<OrderMetric> metrics_;
  const uint32_t relevant_from_;
  const bool skip_irrelevant_;
  std::vector<double> sums_;
  std::vector<uint64_t> counts_;
  uint64_t queries_ = 0;     // Without those that are left out.
  uint64_t candidates_ = 0;  // Of these queries.
  uint64_t irrelevant_ = 0;  // Queries without a relevant candidate.
  TiedPairs ties_;
  std::string table_;
};

}  // namespace sortition
