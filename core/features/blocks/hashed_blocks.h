#pragma once
// Features at hashes of several values: n-grams of words, and crosses.
#include <memory>
#include <optional>

#include "core/features/blocks/block.h"
#include "core/features/blocks/ngrams.h"
#include "core/features/blocks/number_blocks.h"
#include "core/features/text/word_counts.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// A side of a cross.
struct CrossSide {
  ColumnPlace column;
  model::v1::ColumnSchema::Type type = model::v1::ColumnSchema::CATEGORY;
  std::optional<size_t> slot = {};  // Of a text.
  // Of a text whose words have weights.
  std::shared_ptr<const InverseFrequencies> frequencies = {};
  // A number x has the value (x - mean) / scale, after log1p(x) if `log1p`.
  bool log1p = false;
  double mean = 0;
  double scale = 1;
};

// Require checked messages.
std::unique_ptr<SparseBlock> MakeNgramBlock(
    const ColumnPlace& column, size_t slot,
    const model::v1::NgramTransform& transform,
    std::optional<PlaceFrequencies> frequencies);
std::unique_ptr<SparseBlock> MakeCrossBlock(
    const CrossSide& left, const CrossSide& right,
    const model::v1::CrossTransform& transform);

}  // namespace sortition
