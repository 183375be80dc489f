#include "core/scoring/tree_ensemble.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/base/check.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"
#include "core/scoring/tree_walk.h"

namespace sortition {
namespace {

// Rows of a block should stay in the first-level cache beside a tree.
constexpr size_t kBlockBytes = size_t{24} << 10;
// At least a few groups of the inner loop.
constexpr size_t kFewestBlockRows = 32;

size_t BlockRows(size_t num_columns) {
  const size_t fitting = kBlockBytes / (sizeof(float) * num_columns);
  return std::max(kFewestBlockRows, fitting / 16 * 16);
}

}  // namespace

absl::StatusOr<TreeEnsemble> TreeEnsemble::Create(
    const model::v1::TreeEnsemble& ensemble) {
  RETURN_IF_ERROR(CheckTreeEnsemble(ensemble));
  TreeEnsemble result;
  result.num_features_ = ensemble.num_features();
  result.base_score_ = ensemble.base_score();
  result.absent_ = ensemble.absent_feature() == model::v1::TreeEnsemble::MISSING
                       ? std::numeric_limits<float>::quiet_NaN()
                       : 0;
  result.has_float_sums_ =
      ensemble.number_format() == model::v1::TreeEnsemble::FLOAT;
  result.layout_ = MakeTreeLayout(ensemble);
  return result;
}

void TreeEnsemble::FillSparseRow(const Candidates& candidates,
                                 uint32_t document_index, float* row) const {
  const std::vector<uint32_t>& features = layout_.features;
  std::fill_n(row, features.size(), absent_);
  uint32_t i = candidates.row_offsets()[document_index];
  const uint32_t end = candidates.row_offsets()[document_index + 1];
  // Both lists ascend. Of texts a row has few of many features, which are
  // looked up one by one.
  constexpr size_t kFewest = 16;
  if ((end - i) * kFewest < features.size()) {
    auto column = features.begin();
    for (; i < end && column != features.end(); ++i) {
      column =
          std::lower_bound(column, features.end(), candidates.columns()[i]);
      if (column != features.end() && *column == candidates.columns()[i]) {
        row[column - features.begin()] = candidates.values()[i];
      }
    }
    return;
  }
  for (size_t column = 0; column < features.size() && i < end;) {
    const uint32_t feature = candidates.columns()[i];
    if (feature == features[column]) {
      row[column++] = candidates.values()[i++];
    } else if (feature < features[column]) {
      ++i;
    } else {
      ++column;
    }
  }
}

bool TreeEnsemble::FillRows(const Candidates& candidates,
                            std::span<const uint32_t> document_indexes,
                            float* rows) const {
  const std::vector<uint32_t>& features = layout_.features;
  float* row = rows;
  for (const uint32_t document_index : document_indexes) {
    if (candidates.sparse()) {
      FillSparseRow(candidates, document_index, row);
    } else {
      const float* const values =
          candidates.values().data() +
          static_cast<size_t>(document_index) * num_features_;
      if (features.size() == num_features_) {
        std::copy_n(values, num_features_, row);
      } else {
        for (size_t column = 0; column < features.size(); ++column) {
          row[column] = values[features[column]];
        }
      }
    }
    row += features.size();
  }
  bool has_missing = false;
  for (const float* value = rows; value < row; ++value) {
    has_missing |= *value != *value;
  }
  return has_missing;
}

void TreeEnsemble::Scores(const Candidates& candidates,
                          std::span<const uint32_t> document_indexes,
                          TreeScratch* scratch,
                          std::span<double> scores) const {
  DCHECK(candidates.num_features() == num_features_);
  DCHECK(scores.size() == document_indexes.size());
  // Not 0, even where no tree has a split.
  const size_t num_columns = std::max<size_t>(layout_.features.size(), 1);
  const size_t block_rows =
      std::min(BlockRows(num_columns), document_indexes.size());
  if (scratch->rows.size() < block_rows * num_columns) {
    scratch->rows.resize(block_rows * num_columns);
  }
  if (scratch->float_sums.size() < block_rows) {
    scratch->float_sums.resize(block_rows);
  }
  for (size_t begin = 0; begin < document_indexes.size(); begin += block_rows) {
    const size_t size = std::min(block_rows, document_indexes.size() - begin);
    float* const rows = scratch->rows.data();
    const TreeRows block{
        rows, size, num_columns,
        FillRows(candidates, document_indexes.subspan(begin, size), rows)};
    const std::span<double> block_scores = scores.subspan(begin, size);
    if (has_float_sums_) {
      const std::span<float> sums(scratch->float_sums.data(), size);
      std::fill(sums.begin(), sums.end(), static_cast<float>(base_score_));
      AddTrees(layout_, block, sums);
      std::copy(sums.begin(), sums.end(), block_scores.begin());
    } else {
      std::fill(block_scores.begin(), block_scores.end(), base_score_);
      AddTrees(layout_, block, block_scores);
    }
  }
}

}  // namespace sortition
