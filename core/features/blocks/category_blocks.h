#pragma once
// Features of categories and sets of them: sparse indicators.
#include <memory>
#include <string>

#include "core/features/blocks/block.h"
#include "core/features/blocks/number_blocks.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Requires checked messages.
std::unique_ptr<SparseBlock> MakeVocabularyBlock(
    const ColumnPlace& column, const model::v1::VocabularyTransform& transform,
    const model::v1::LearnedTransform& learned, bool is_set);
std::unique_ptr<SparseBlock> MakeHashBlock(
    const ColumnPlace& column, const model::v1::HashTransform& transform,
    bool is_set);

}  // namespace sortition
