#pragma once
// Queries out of nothing: to warm up a model, and to test with.
#include <cstdint>

#include "core/base/random.h"
#include "core/features/schema/schema.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

// Returns columns that the schema takes: values of every type, a tenth of them
// missing, columns that may be absent sometimes so, in random order.
sortition::v1::Columns MakeUpColumns(const Schema& schema,
                                     uint32_t num_candidates,
                                     RandomSequence* random);

}  // namespace sortition
