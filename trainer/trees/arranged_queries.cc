#include "trainer/trees/arranged_queries.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "absl/strings/string_view.h"
#include "core/base/hash.h"

namespace sortition {
namespace {

template <typename T>
absl::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

struct Row {
  std::span<const uint32_t> columns;  // Empty for dense rows.
  std::span<const float> values;
  uint32_t relevance = 0;
};

Row RowOf(const LabelledItems& query, uint32_t i) {
  const Candidates& items = query.items;
  if (!items.sparse()) {
    const size_t d = items.num_features();
    return {{}, items.values().subspan(i * d, d), query.relevances[i]};
  }
  const uint32_t begin = items.row_offsets()[i];
  const uint32_t size = items.row_offsets()[i + 1] - begin;
  return {items.columns().subspan(begin, size),
          items.values().subspan(begin, size), query.relevances[i]};
}

Hash128 HashOf(const Row& row) {
  return StableHash(HashDomain::kTraining,
                    {"arrange", BytesOf(row.columns), BytesOf(row.values),
                     BytesOf(std::span(&row.relevance, 1))});
}

bool IsBefore(const Hash128& a, const Hash128& b) {
  return std::tie(a.high, a.low) < std::tie(b.high, b.low);
}

// Returns the indexes of the hashes, sorted by hash.
std::vector<uint32_t> ByHash(const std::vector<Hash128>& hashes) {
  std::vector<uint32_t> order(hashes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return IsBefore(hashes[a], hashes[b]);
  });
  return order;
}

}  // namespace

ArrangedQueries::ArrangedQueries(std::span<const LabelledItems> queries) {
  std::vector<std::vector<uint32_t>> orders;  // Of the rows, by query.
  std::vector<size_t> begins = {0};
  std::vector<Hash128> query_hashes;
  for (const LabelledItems& query : queries) {
    std::vector<Hash128> hashes;
    for (uint32_t i = 0; i < query.relevances.size(); ++i) {
      hashes.push_back(HashOf(RowOf(query, i)));
    }
    orders.push_back(ByHash(hashes));
    begins.push_back(begins.back() + hashes.size());
    std::vector<uint64_t> sorted;
    for (const uint32_t i : orders.back()) {
      sorted.insert(sorted.end(), {hashes[i].high, hashes[i].low});
    }
    query_hashes.push_back(
        HashBytes(BytesOf(std::span<const uint64_t>(sorted))));
  }
  for (const uint32_t q : ByHash(query_hashes)) {
    Query& query = queries_.emplace_back();
    const bool sparse = queries[q].items.sparse();
    if (sparse) query.offsets.push_back(0);
    for (const uint32_t i : orders[q]) {
      const Row row = RowOf(queries[q], i);
      query.columns.insert(query.columns.end(), row.columns.begin(),
                           row.columns.end());
      query.values.insert(query.values.end(), row.values.begin(),
                          row.values.end());
      query.relevances.push_back(row.relevance);
      origins_.push_back(begins[q] + i);
      if (sparse) {
        query.offsets.push_back(static_cast<uint32_t>(query.values.size()));
      }
    }
    const uint32_t d = queries[q].items.num_features();
    views_.push_back({sparse
                          ? Candidates::SparseUnchecked(
                                query.offsets, query.columns, query.values, d)
                          : Candidates::DenseUnchecked(query.values, d),
                      query.relevances});
  }
}

std::vector<float> ArrangedQueries::Arrange(
    std::span<const float> values) const {
  std::vector<float> arranged;
  for (const size_t origin : origins_) arranged.push_back(values[origin]);
  return arranged;
}

}  // namespace sortition
