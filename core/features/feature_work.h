#pragma once
// About how much a transform has to do for one query.
#include <cstdint>

#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Returns about how many values, words, pairs and dense features are made of
// the columns, which are bound to the schema. Columns of the query count once
// for each candidate, as they are compared or crossed with each: a few bytes of
// them can cost much. `num_dense` is the number of dense features.
uint64_t CountSteps(const Schema& schema, const model::v1::FeatureSpec& spec,
                    uint64_t num_dense, const BoundColumns& columns);

}  // namespace sortition
