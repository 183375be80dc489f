#pragma once
// The candidates of a labelled query as those of a request.
#include <cstdint>

#include "core/data/labelled_queries.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {

// Sets the columns of the query or its features: dense rows where all features
// are stated, otherwise sparse rows with the stated ones, so that the model
// decides what an absent feature is. Requires rows of `num_features`.
void SetQueryCandidates(const LabelledQuery& query, uint32_t num_features,
                        v1::Candidates* candidates);

}  // namespace sortition
