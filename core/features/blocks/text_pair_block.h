#pragma once
// Measures of a text of the query and one of the candidate as features.
#include <memory>

#include "core/features/blocks/block.h"
#include "core/features/blocks/number_blocks.h"
#include "core/features/text/word_counts.h"
#include "core/features/text/word_vectors.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

struct TextPairPlaces {
  ColumnPlace query;
  ColumnPlace candidate;
  size_t query_slot = 0;
  size_t candidate_slot = 0;
  std::shared_ptr<const InverseFrequencies> frequencies;
  std::shared_ptr<const WordVectors> vectors;  // Null: not needed.
};

// Returns how many features the block has.
size_t NumPairFeatures(const model::v1::TextPairTransform& transform);

// Requires checked messages.
std::unique_ptr<DenseBlock> MakeTextPairBlock(
    const TextPairPlaces& places, const model::v1::TextPairTransform& transform,
    const model::v1::LearnedTransform& learned);

}  // namespace sortition
