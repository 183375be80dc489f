#include "core/features/feature_transform.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/feature_blocks.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/feature_work.h"

namespace sortition {
namespace {

using sortition::v1::Columns;

double Cut(double value) {
  return std::clamp(value, -FeatureTransform::kMostValue,
                    FeatureTransform::kMostValue);
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

struct FeatureScratch::Buffers {
  BoundColumns columns;
  std::map<std::string, std::unique_ptr<WordSplitter>> splitters;
  std::vector<TextSlot> texts;
  BlockScratch blocks;
  std::vector<double> dense;
  std::vector<SparseEntry> entries;
};

FeatureScratch::FeatureScratch() : buffers_(std::make_unique<Buffers>()) {}
FeatureScratch::~FeatureScratch() = default;

const BoundColumns& FeatureScratch::columns() const {
  return buffers_->columns;
}

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

uint32_t FeatureTransform::num_features() const {
  return blocks_->num_features;
}

uint32_t FeatureTransform::num_dense_features() const {
  return static_cast<uint32_t>(blocks_->dense_names.size());
}

std::string FeatureTransform::FeatureName(uint32_t index) const {
  return blocks_->Name(index);
}

absl::StatusOr<uint64_t> FeatureTransform::CountSteps(
    const BoundColumns& columns) const {
  const uint64_t steps = sortition::CountSteps(
      *schema_, *spec_, blocks_->dense_names.size(), columns);
  if (steps <= kMostSteps) return steps;
  return absl::InvalidArgumentError(
      absl::StrCat("columns take ", steps,
                   " steps to make features of (values, words, "
                   "and pairs of them that are crossed), must take at most ",
                   kMostSteps));
}

absl::Status FeatureTransform::Apply(const Columns& columns,
                                     FeatureScratch* scratch,
                                     FeatureMatrix* matrix) const {
  Buffers* const buffers = scratch->buffers_.get();
  RETURN_IF_ERROR(
      buffers->columns.Bind(*schema_, columns, {.absent_is_missing = true}));
  const uint32_t num_rows = columns.num_candidates();
  RETURN_IF_ERROR(CountSteps(buffers->columns).status());
  RETURN_IF_ERROR(SplitTexts(buffers));
  const FeatureInput input = {&buffers->columns, buffers->texts};
  ApplyDense(input, buffers);
  matrix->num_features = blocks_->num_features;
  matrix->values.clear();
  matrix->columns.clear();
  matrix->row_offsets.clear();
  if (blocks_->sparse.empty()) {
    matrix->values.reserve(buffers->dense.size());
    for (const double value : buffers->dense) {
      matrix->values.push_back(static_cast<float>(value));
    }
    return absl::OkStatus();
  }
  matrix->row_offsets.push_back(0);
  for (uint32_t row = 0; row < num_rows; ++row) {
    AppendRow(input, row, buffers, matrix);
  }
  return absl::OkStatus();
}

absl::Status FeatureTransform::SplitTexts(Buffers* buffers) const {
  if (buffers->texts.size() < blocks_->texts.size()) {
    buffers->texts.resize(blocks_->texts.size());
  }
  for (size_t slot = 0; slot < blocks_->texts.size(); ++slot) {
    const FeatureBlocks::Text& text = blocks_->texts[slot];
    std::unique_ptr<WordSplitter>& splitter = buffers->splitters[text.stemmer];
    if (splitter == nullptr) {
      ASSIGN_OR_RETURN(splitter, WordSplitter::Create(text.stemmer));
    }
    TextSlot& words = buffers->texts[slot];
    words.one_value = text.one_value;
    const uint32_t num_rows =
        text.one_value ? 1 : buffers->columns.num_candidates();
    if (words.rows.size() < num_rows) words.rows.resize(num_rows);
    const BoundColumn& column = buffers->columns.column(text.column);
    for (uint32_t row = 0; row < num_rows; ++row) {
      splitter->Split(column.Missing(row) ? "" : column.Text(row),
                      &words.rows[row]);
    }
  }
  return absl::OkStatus();
}

void FeatureTransform::ApplyDense(const FeatureInput& input,
                                  Buffers* buffers) const {
  const size_t stride = blocks_->dense_names.size();
  const uint32_t num_rows = buffers->columns.num_candidates();
  buffers->dense.resize(stride * num_rows);
  const DenseRows rows = {buffers->dense.data(), stride, num_rows};
  for (const FeatureBlocks::Dense& dense : blocks_->dense) {
    dense.block->Apply(input, rows, dense.first, &buffers->blocks);
    for (uint32_t i = 0; i < num_rows; ++i) {
      for (double& value : rows.row(i).subspan(dense.first, dense.size)) {
        value = Cut(value);
      }
    }
  }
}

void FeatureTransform::AppendRow(const FeatureInput& input, uint32_t row,
                                 Buffers* buffers,
                                 FeatureMatrix* matrix) const {
  const auto append = [&](size_t column, double value) {
    const auto rounded = static_cast<float>(Cut(value));
    if (rounded == 0) return;
    matrix->columns.push_back(static_cast<uint32_t>(column));
    matrix->values.push_back(rounded);
  };
  const size_t stride = blocks_->dense_names.size();
  for (size_t j = 0; j < stride; ++j) {
    append(j, buffers->dense[row * stride + j]);
  }
  std::vector<SparseEntry>& entries = buffers->entries;
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
  matrix->row_offsets.push_back(static_cast<uint32_t>(matrix->columns.size()));
}

}  // namespace sortition
