#pragma once
// Labelled queries for trees.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "core/base/random.h"
#include "core/data/labelled_items.h"

namespace sortition {

inline constexpr uint32_t kTreeFeatures = 6;

// Owns what its views point to. Relevance is 0, 1 or 2 by the sign of x0 x1 and
// the size of x2, with noise: no linear score orders it.
class TreeQueries {
 public:
  struct Shape {
    size_t num_queries = 60;
    size_t num_items = 20;
    double missing = 0;  // Share of features that are missing.
    bool sparse = false;
    double noise = 0.1;
    // Features have this many values above 0 and as many below; 0: any value.
    int levels = 0;
  };

  TreeQueries(const Shape& shape, uint64_t seed) {
    RandomSequence random(SeedKey(seed));
    for (size_t q = 0; q < shape.num_queries; ++q) {
      Query& query = queries_.emplace_back();
      query.offsets.push_back(0);
      for (size_t i = 0; i < shape.num_items; ++i) {
        AddItem(shape, &random, &query);
      }
      views_.push_back(
          {shape.sparse
               ? Candidates::SparseUnchecked(query.offsets, query.columns,
                                             query.values, kTreeFeatures)
               : Candidates::DenseUnchecked(query.values, kTreeFeatures),
           query.relevances});
    }
  }

  const std::vector<LabelledItems>& views() const { return views_; }

 private:
  struct Query {
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> columns;
    std::vector<float> values;
    std::vector<uint32_t> relevances;
  };

  static void AddItem(const Shape& shape, RandomSequence* random,
                      Query* query) {
    double x[kTreeFeatures];
    for (uint32_t j = 0; j < kTreeFeatures; ++j) {
      x[j] = random->Normal();
      if (shape.levels > 0) {
        x[j] = std::clamp(std::floor(x[j]), -1.0 * shape.levels,
                          shape.levels - 1.0) +
               0.5;
      }
      if (random->Uniform() < shape.missing) {
        if (shape.sparse) continue;
        query->values.push_back(std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      query->columns.push_back(j);
      query->values.push_back(static_cast<float>(x[j]));
    }
    query->offsets.push_back(static_cast<uint32_t>(query->columns.size()));
    const double worth = (x[0] * x[1] > 0 ? 1 : 0) + (x[2] > 1 ? 1 : 0) +
                         shape.noise * random->Normal();
    query->relevances.push_back(worth > 1.5 ? 2 : worth > 0.5 ? 1 : 0);
  }

  std::deque<Query> queries_;
  std::vector<LabelledItems> views_;
};

}  // namespace sortition
