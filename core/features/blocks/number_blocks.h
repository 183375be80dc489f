#pragma once
// Features of numbers and vectors.
#include <memory>
#include <string>

#include "core/features/blocks/block.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Where a block's column stands, and what its features are called.
struct ColumnPlace {
  size_t index = 0;
  std::string name;
};

// Returns sign(x) log(1 + |x|).
double SignedLog1p(double x);

// Returns log1p of the absolute value, with the sign, where it is asked for,
// then clipped: what a number is before it is standardised.
double PreparedNumber(const model::v1::NumberTransform& transform, double x);

// Requires checked messages.
std::unique_ptr<DenseBlock> MakeNumberBlock(
    const ColumnPlace& column, const model::v1::NumberTransform& transform,
    const model::v1::LearnedTransform& learned);
std::unique_ptr<DenseBlock> MakeVectorBlock(
    const ColumnPlace& column, uint32_t size,
    const model::v1::VectorTransform& transform,
    const model::v1::LearnedTransform& learned);
std::unique_ptr<DenseBlock> MakeCosineBlock(const ColumnPlace& left,
                                            const ColumnPlace& right);

}  // namespace sortition
