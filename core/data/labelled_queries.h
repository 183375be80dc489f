#pragma once
// Queries whose candidates are labelled: the training data of learners from
// labels.
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/data/candidates.h"
#include "core/data/labelled_items.h"

namespace sortition::v1 {
class Columns;
}

namespace sortition {

// Which features the lines of a file state. Other features are absent: 0 in
// dense rows, and for trees whatever their model says
// (TreeEnsemble.absent_feature).
struct StatedFeatures {
  uint32_t width = 0;      // Features from here on are absent.
  std::vector<bool> bits;  // Row-major, rows of `width`; empty: all.

  bool Has(size_t row, uint32_t feature) const {
    return feature < width && (bits.empty() || bits[row * width + feature]);
  }
};

// One query with its candidates as dense rows.
struct LabelledQuery {
  std::string id;
  std::vector<float> features;       // Row-major, relevance.size() × d.
  std::vector<uint32_t> relevances;  // One per candidate.
  // The place of each candidate among all candidates of the file, from 0; with
  // ReadLabelledData() among those of all files. Empty where the query was not
  // read from a file.
  std::vector<uint32_t> file_rows = {};
  // What callers send instead of features, for a model that makes the features
  // of them; null: callers send features.
  std::shared_ptr<const v1::Columns> columns = nullptr;
  // Null: every feature is stated.
  std::shared_ptr<const StatedFeatures> stated = nullptr;
};

struct LabelledQueries {
  uint32_t num_features = 0;  // d, the largest feature number in the data.
  std::vector<LabelledQuery> queries;
  uint64_t absent_values = 0;   // Of n × d, those that no line states.
  uint64_t extreme_values = 0;  // No finite floats, and read by an option.
  std::string groups = {};  // File with the sizes of the queries; empty: none.
};

// InvalidArgument if there are no queries, or if one has no items, a number of
// features or labels that differs from what it should be, a feature that is NaN
// or infinite, or a relevance above `max_relevance`.
absl::Status CheckQueries(
    std::span<const LabelledItems> queries,
    uint32_t max_relevance = std::numeric_limits<uint32_t>::max());

// Makes labels binary: those of at least `cut` become 1, others 0. 0: leaves
// them as they are.
void CutRelevances(uint32_t cut, std::span<uint32_t> relevances);

// Writes scores[i] = w·x_i for all items. Requires as many scores as items and
// as many weights as features.
void ScoreAll(const Candidates& items, std::span<const double> weights,
              std::span<double> scores);

}  // namespace sortition
