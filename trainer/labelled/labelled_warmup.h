#pragma once
// Makes the queries on which a server tries a model of labelled queries before
// it serves it.
#include <cstddef>
#include <vector>

#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/labelled/labelled_data.h"

namespace sortition {

// Returns the first training queries in the form in which `fit` stores them:
// with what callers send, at most `count` of them and 64 MiB. A model of q
// classes selects among q candidates for every item; candidate l has the item's
// features in block l of q blocks. Models that are not served have no such
// queries.
std::vector<log::v1::Decision> WarmupQueries(const LabelledData& data,
                                             const model::v1::Model& model,
                                             size_t count);

}  // namespace sortition
