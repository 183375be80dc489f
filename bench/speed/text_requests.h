#pragma once
// Requests with texts, made up, and what becomes of them.
#include <cstdint>
#include <string>

#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// A transform of the words and pairs of words of a sentence.
inline constexpr char kHashedText[] =
    "transform { ngrams { column: 'sentence' longest: 2 bits: 18 } }";

// A question of 10 words, and for each candidate a sentence of 30, a price and
// a color. A function of the seed.
v1::Columns RandomTextRequest(uint32_t num_candidates, bool ascii,
                              uint64_t seed);

// Returns the features that these transforms learn from such requests.
model::v1::Features TextFeatures(const std::string& transforms);

}  // namespace sortition
