#pragma once
// The format of a version's files, which its manifest says.
#include <cstdint>

#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The largest format_version. A version tells programs that know only lower
// ones that a model has fields which they would ignore. 2: rank_factors; 3:
// inverse document frequencies of n-grams, of crosses and in TF_IDF_COSINE; 4:
// scaled numbers in crosses.
inline constexpr uint32_t kNewestFormatVersion = 4;

// Returns the smallest format_version whose readers know the model's fields.
uint32_t FormatVersionOf(const model::v1::Model& model);

}  // namespace sortition
