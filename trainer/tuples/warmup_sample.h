#pragma once
// The queries that are stored with a model for the warm-up of servers.
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Keeps the queries with the smallest hashes, as many as there is room for, so
// that their order does not matter.
class WarmupSample {
 public:
  WarmupSample(uint64_t most_queries, double most_bytes)
      : most_queries_(most_queries), most_bytes_(most_bytes) {}

  // `hash` in [0, 1) is that of the decision's id.
  void Add(double hash, const log::v1::Decision& decision);

  // Returns the queries by ascending hash, and keeps none.
  std::vector<log::v1::Decision> Take();

 private:
  const uint64_t most_queries_;
  const double most_bytes_;
  std::map<double, log::v1::Decision> queries_;  // By hash, below end_.
  double end_ = 1;
  size_t bytes_ = 0;
};

}  // namespace sortition
