#pragma once
// Bandit tuples whose action is a set of labels, for multi-label classification
// from partial feedback [SwaminathanJoachims15, sec. 5.2 and 6].
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortition {

// Each context x once, however many tuples it has, as sparse rows (CSR).
struct LabelContexts {
  uint32_t num_features = 0;  // p
  uint32_t num_labels = 0;    // q
  // Where each row begins; last: number of values.
  std::vector<uint64_t> row_offsets = {0};
  std::vector<uint32_t> columns;  // Below p, ascending in a row.
  std::vector<float> values;

  size_t size() const { return row_offsets.size() - 1; }
};

struct LabelTuples {
  std::vector<uint32_t> contexts;        // n: the context of each tuple.
  std::vector<uint8_t> labels;           // y: n × q, row-major, 0 or 1.
  std::vector<double> log_propensities;  // n; finite, at most 0.
  std::vector<double> losses;            // n; δ in [-1, 0].
  std::vector<double> weights = {};      // n; how much each counts; empty: 1.

  size_t size() const { return contexts.size(); }
};

}  // namespace sortition
