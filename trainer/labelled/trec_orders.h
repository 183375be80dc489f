#pragma once
// Judges a TREC run by TREC qrels, as trec_eval does, with these differences:
// metrics are expectations over random orders of equal scores, where trec_eval
// orders them by document id, highest first, after rounding scores to floats;
// and judged queries that the run does not have count as 0 unless options leave
// them out.
#include "absl/status/status.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "trainer/labelled/order_summary.h"

namespace sortition {

// Adds the judged queries to `summary`. A document without a judgement has
// relevance 0; a judged one that was not retrieved has no rank. Errors as
// ReadTrecRun() and ReadTrecQrels(); InvalidArgument if no query of the run is
// judged.
absl::Status AddTrecQueries(const config::v1::EvaluateOptions& options,
                            OrderSummary* summary,
                            config::v1::EvaluateReport* report);

}  // namespace sortition
