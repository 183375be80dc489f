#pragma once
// The span of a tuple in the trace of the request that it came of.
#include <cstdint>

#include "absl/strings/string_view.h"
#include "process/tracing/tracer.h"
#include "sidecar/join/join_records.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Exports the span "join" of a tuple that was written from `start_ns` to
// `end_ns`, Unix time, if the server traced its request. `decision` is the
// serialised decision of the tuple.
void ExportTupleSpan(const ClosedDecision& closed,
                     const log::v1::BanditTuple& tuple,
                     absl::string_view decision, int64_t start_ns,
                     int64_t end_ns, Tracer* tracer);

}  // namespace sortition
