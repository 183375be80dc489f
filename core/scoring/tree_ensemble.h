#pragma once
// Ensembles of decision trees as scorers (trees.proto). The score of a document
// is the margin that XGBoost or LightGBM would compute: the base score and a
// leaf of each tree, added in the order and the precision of that library, and
// without fused operations: the same bits on every machine.
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/candidates.h"
#include "core/scoring/tree_layout.h"
#include "sortition/model/v1/trees.pb.h"

namespace sortition {

// Reused between queries by one thread: no allocation when warm.
struct TreeScratch {
  std::vector<float> rows;
  std::vector<float> float_sums;
};

// Immutable, thread-safe.
class TreeEnsemble {
 public:
  // InvalidArgument as CheckTreeEnsemble() says.
  static absl::StatusOr<TreeEnsemble> Create(
      const model::v1::TreeEnsemble& ensemble);

  // Number of features that a query must have.
  uint32_t num_features() const { return num_features_; }

  // True if a feature that a sparse row lacks is missing; otherwise it is 0.
  bool absent_is_missing() const { return std::isnan(absent_); }

  // Writes scores[i], that of document_indexes[i]. Always finite. Features of
  // dense rows may be NaN, which stands for a missing feature (of
  // Candidates::DenseUnchecked(), because Dense() refuses NaN) or infinite.
  // What sparse rows do not have is missing or 0, as the ensemble says.
  // Requires num_features() to match and as many scores as documents.
  void Scores(const Candidates& candidates,
              std::span<const uint32_t> document_indexes, TreeScratch* scratch,
              std::span<double> scores) const;

 private:
  TreeEnsemble() = default;

  // Copies the features that splits use. Returns whether any is missing.
  bool FillRows(const Candidates& candidates,
                std::span<const uint32_t> document_indexes, float* rows) const;
  void FillSparseRow(const Candidates& candidates, uint32_t document_index,
                     float* row) const;

  uint32_t num_features_ = 0;
  double base_score_ = 0;
  float absent_ = 0;  // What stands for a feature that a sparse row lacks.
  bool has_float_sums_ = false;
  TreeLayout layout_;
};

}  // namespace sortition
