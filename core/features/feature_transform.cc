#include "core/features/feature_transform.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/feature_work.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

double Cut(double value) {
  return std::clamp(value, -FeatureTransform::kMostValue,
                    FeatureTransform::kMostValue);
}

absl::Status TooManyError(uint64_t cells) {
  return absl::InvalidArgumentError(
      absl::StrCat("columns make ", cells, " features of candidates or more, ",
                   "must make at most ", FeatureTransform::kMostCells));
}

// Statistics are there for all columns and dense features, or there are none.
absl::Status CheckStatistics(const Schema& schema,
                             const std::vector<std::string>& dense_names,
                             const model::v1::LearnedFeatures& learned) {
  const auto check = [](absl::string_view field, int size, size_t required) {
    if (size == 0 || static_cast<size_t>(size) == required) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("learned.", field, " has ", size,
                     " statistics, must have ", required, ", or none"));
  };
  RETURN_IF_ERROR(check("column", learned.column_size(), schema.size()));
  return check("feature", learned.feature_size(), dense_names.size());
}

}  // namespace

FeatureScratch::FeatureScratch() = default;
FeatureScratch::~FeatureScratch() = default;

absl::StatusOr<FeatureTransform> FeatureTransform::Create(
    const model::v1::Features& features) {
  ASSIGN_OR_RETURN(Schema schema, Schema::Create(features.spec().schema()));
  if (features.schema_hash() != schema.hash()) {
    return absl::InvalidArgumentError(
        absl::StrCat("schema_hash is '", features.schema_hash(), "', must be ",
                     schema.hash(), ", that of the schema"));
  }
  ASSIGN_OR_RETURN(model::v1::FeatureSpec spec,
                   CheckedSpec(schema, features.spec()));
  ASSIGN_OR_RETURN(FeatureBlocks blocks,
                   MakeFeatureBlocks(schema, spec, features.learned()));
  RETURN_IF_ERROR(
      CheckStatistics(schema, blocks.dense_names, features.learned()));
  FeatureTransform transform;
  transform.schema_ = std::make_shared<const Schema>(std::move(schema));
  transform.spec_ =
      std::make_shared<const model::v1::FeatureSpec>(std::move(spec));
  transform.blocks_ = std::make_shared<const FeatureBlocks>(std::move(blocks));
  return transform;
}

uint64_t FeatureTransform::CountSteps(const BoundColumns& columns) const {
  return sortition::CountSteps(*schema_, *spec_, blocks_->dense_names.size(),
                               columns);
}

absl::Status FeatureTransform::Apply(const Columns& columns,
                                     FeatureScratch* scratch,
                                     FeatureMatrix* matrix) const {
  RETURN_IF_ERROR(scratch->columns_.Bind(*schema_, columns));
  const uint32_t num_rows = columns.num_candidates();
  if (const uint64_t steps = CountSteps(scratch->columns_);
      steps > kMostSteps) {
    return absl::InvalidArgumentError(
        absl::StrCat("columns take ", steps,
                     " steps to make features of (values, words, "
                     "and pairs of them that are crossed), must take at most ",
                     kMostSteps));
  }
  const uint64_t cells = uint64_t{num_rows} * blocks_->dense_names.size();
  if (cells > kMostCells) return TooManyError(cells);
  RETURN_IF_ERROR(SplitTexts(scratch));
  const FeatureInput input = {&scratch->columns_, scratch->texts_};
  ApplyDense(input, scratch);
  matrix->num_features = blocks_->num_features;
  matrix->values.clear();
  matrix->columns.clear();
  matrix->row_offsets.clear();
  if (blocks_->sparse.empty()) {
    matrix->values.reserve(scratch->dense_.size());
    for (const double value : scratch->dense_) {
      matrix->values.push_back(static_cast<float>(value));
    }
    return absl::OkStatus();
  }
  matrix->row_offsets.push_back(0);
  for (uint32_t row = 0; row < num_rows; ++row) {
    RETURN_IF_ERROR(AppendRow(input, row, scratch, matrix));
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::SplitTexts(FeatureScratch* scratch) const {
  if (scratch->texts_.size() < blocks_->texts.size()) {
    scratch->texts_.resize(blocks_->texts.size());
  }
  for (size_t slot = 0; slot < blocks_->texts.size(); ++slot) {
    const FeatureBlocks::Text& text = blocks_->texts[slot];
    std::unique_ptr<WordSplitter>& splitter = scratch->splitters_[text.stemmer];
    if (splitter == nullptr) {
      ASSIGN_OR_RETURN(splitter, WordSplitter::Create(text.stemmer));
    }
    TextSlot& words = scratch->texts_[slot];
    words.one_value = text.one_value;
    const uint32_t num_rows =
        text.one_value ? 1 : scratch->columns_.num_candidates();
    if (words.rows.size() < num_rows) words.rows.resize(num_rows);
    const BoundColumn& column = scratch->columns_.column(text.column);
    for (uint32_t row = 0; row < num_rows; ++row) {
      splitter->Split(column.Missing(row) ? "" : column.Text(row),
                      &words.rows[row]);
    }
  }
  return absl::OkStatus();
}

void FeatureTransform::ApplyDense(const FeatureInput& input,
                                  FeatureScratch* scratch) const {
  const size_t stride = blocks_->dense_names.size();
  const uint32_t num_rows = scratch->columns_.num_candidates();
  scratch->dense_.resize(stride * num_rows);
  const DenseRows rows = {scratch->dense_.data(), stride, num_rows};
  for (const FeatureBlocks::Dense& dense : blocks_->dense) {
    dense.block->Apply(input, rows, dense.first, &scratch->blocks_);
    for (uint32_t i = 0; i < num_rows; ++i) {
      for (double& value : rows.row(i).subspan(dense.first, dense.size)) {
        value = Cut(value);
      }
    }
  }
}

absl::Status FeatureTransform::AppendRow(const FeatureInput& input,
                                         uint32_t row, FeatureScratch* scratch,
                                         FeatureMatrix* matrix) const {
  const auto append = [&](size_t column, double value) {
    const auto rounded = static_cast<float>(Cut(value));
    if (rounded == 0) return;
    matrix->columns.push_back(static_cast<uint32_t>(column));
    matrix->values.push_back(rounded);
  };
  const size_t stride = blocks_->dense_names.size();
  for (size_t j = 0; j < stride; ++j) {
    append(j, scratch->dense_[row * stride + j]);
  }
  std::vector<SparseEntry>& entries = scratch->entries_;
  for (const FeatureBlocks::Sparse& sparse : blocks_->sparse) {
    entries.clear();
    sparse.block->AppendRow(input, row, &entries);
    // Values at the same place add up in their own order: the same bits
    // however they are sorted.
    std::sort(entries.begin(), entries.end(),
              [](const SparseEntry& a, const SparseEntry& b) {
                return a.index != b.index ? a.index < b.index
                                          : a.value < b.value;
              });
    for (size_t i = 0; i < entries.size();) {
      const uint32_t index = entries[i].index;
      double sum = 0;
      for (; i < entries.size() && entries[i].index == index; ++i) {
        sum += Cut(entries[i].value);
      }
      append(size_t{sparse.first} + index, sum);
    }
  }
  if (matrix->columns.size() > kMostCells) {
    return TooManyError(matrix->columns.size());
  }
  matrix->row_offsets.push_back(static_cast<uint32_t>(matrix->columns.size()));
  return absl::OkStatus();
}

}  // namespace sortition
