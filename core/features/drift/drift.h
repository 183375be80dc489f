#pragma once
// Whether what is served still looks like what training saw.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/features/blocks/feature_matrix.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// The population stability index of counts against counts of training,
//   PSI = Σ_b (o_b - e_b) ln(o_b / e_b),  o_b = (n_b + ½) / (n + ½ B),
// over B bins, e_b likewise from training: half a value more in each bin keeps
// it finite. By custom below 0.1 nothing happened, above 0.25 something did.
// Requires equal sizes, at least one.
double StabilityIndex(std::span<const uint64_t> training,
                      std::span<const uint64_t> served);

struct DriftFigure {
  std::string name;
  bool is_feature = false;  // Otherwise a column.
  double stability_index = 0;
  uint64_t count = 0;  // Values served, missing ones included.
  size_t num_bins = 0;
};

// Counts what is served in the bins of what was learned. Not thread-safe: count
// in each thread, and merge.
class DriftCounts {
 public:
  // InvalidArgument where statistics do not fit the schema, edges do not
  // ascend, or counts are not as many as bins.
  static absl::StatusOr<DriftCounts> Create(
      const Schema& schema, const model::v1::LearnedFeatures& learned);

  // Adds a request. `columns` are bound to the schema, and the first features
  // of `matrix` are those with statistics. Of the candidates every `step`-th
  // counts.
  void Add(const BoundColumns& columns, const FeatureMatrix& matrix,
           uint32_t step = 1);

  // Forgets what was served.
  void Reset();

  // Requires counts of the same model.
  void Merge(const DriftCounts& other);

  // Columns and features that have statistics.
  size_t num_counted() const { return bins_.size(); }

  // Returns the figures with the largest index first (ties by name), at most
  // `most`. What was not counted yet is left out.
  std::vector<DriftFigure> TopMovers(size_t most) const;

 private:
  // Bins of one column or feature; the last one is of missing values.
  struct Bins {
    model::v1::ValueStatistics statistics;
    bool is_feature = false;
    absl::flat_hash_map<std::string, size_t> categories;
    std::vector<uint64_t> training;
    std::vector<uint64_t> served;
  };

  static absl::StatusOr<Bins> MakeBins(
      const model::v1::ValueStatistics& statistics, bool is_feature,
      bool is_category);
  void AddColumn(const model::v1::ColumnSchema& schema,
                 const BoundColumn& column, uint32_t num_rows, uint32_t step,
                 Bins* bins);
  void AddFeatures(const FeatureMatrix& matrix, uint32_t num_rows,
                   uint32_t step);

  std::vector<model::v1::ColumnSchema> columns_;
  std::vector<Bins> bins_;  // Columns first, then features.
  std::vector<float> row_;
};

}  // namespace sortition
