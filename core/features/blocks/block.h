#pragma once
// Blocks of features: what one transform makes of the columns of a request.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/features/schema/bound_columns.h"
#include "core/features/text/pair_measures.h"
#include "core/features/text/word_splitter.h"

namespace sortition {

// The words of a text column, split once for all blocks that need them.
struct TextSlot {
  std::vector<TextWords> rows;  // At least as many as the column has.
  bool one_value = false;       // Of the query.

  const TextWords& at(uint32_t row) const { return rows[one_value ? 0 : row]; }
};

// What blocks see of a request.
struct FeatureInput {
  const BoundColumns* columns = nullptr;
  std::span<const TextSlot> texts;
};

// Memory that blocks reuse from request to request; nothing in it outlasts one
// call.
struct BlockScratch {
  PairMeasures pairs;
  std::vector<double> query_sums;
  std::vector<double> sums;
  std::vector<double> row;
  std::vector<double> sorted;
};

// The dense features of a query before they are rounded to floats: rows of
// `stride` numbers, one row per candidate.
struct DenseRows {
  double* values = nullptr;
  size_t stride = 0;
  uint32_t num_rows = 0;

  std::span<double> row(uint32_t i) const {
    return {values + i * stride, stride};
  }
};

// Immutable; its features are a pure function of its declaration, of what was
// learned, and of the input.
class DenseBlock {
 public:
  virtual ~DenseBlock() = default;

  virtual std::vector<std::string> Names() const = 0;

  // Writes the features, from place `first` of each row on. Places before it
  // hold those of the blocks declared before.
  virtual void Apply(const FeatureInput& input, const DenseRows& rows,
                     size_t first, BlockScratch* scratch) const = 0;
};

// A feature that is not 0.
struct SparseEntry {
  uint32_t index = 0;  // Within its block.
  double value = 0;
};

// As DenseBlock, for many features most of which are 0.
class SparseBlock {
 public:
  virtual ~SparseBlock() = default;

  virtual uint32_t size() const = 0;
  // Requires index < size().
  virtual std::string Name(uint32_t index) const = 0;

  // Appends the features of a row in any order. Values of an index that is
  // there twice add up.
  virtual void AppendRow(const FeatureInput& input, uint32_t row,
                         std::vector<SparseEntry>* entries) const = 0;
};

}  // namespace sortition
