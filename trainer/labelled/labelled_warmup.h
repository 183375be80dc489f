#pragma once
// Queries on which a server tries a model of labelled queries before it serves
// it.
#include <cstddef>
#include <vector>

#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/labelled/labelled_data.h"

namespace sortition {

// Returns the first training queries, as `fit` stores them: without a constant
// feature, at most `count` and 64 MiB. A model of q classes selects among q
// candidates for every item, the l-th with the item's features in the l-th of q
// blocks. Models that are not served have no such queries.
std::vector<log::v1::Decision> WarmupQueries(const LabelledData& data,
                                             const model::v1::Model& model,
                                             size_t count);

}  // namespace sortition
