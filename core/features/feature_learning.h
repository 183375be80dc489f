#pragma once
// What transforms learn from training queries.
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

using QueryVisitor =
    absl::FunctionRef<absl::Status(const sortition::v1::Columns&)>;

// Calls a visitor with each query and returns its first error, or its own. It
// is run up to three times, and gives the same queries in the same order.
using QueryStream = absl::FunctionRef<absl::Status(QueryVisitor)>;

// Learns the means, scales, bins, vocabularies and word counts that the
// declaration needs, then the statistics of every column and of every feature
// that is not sparse. Runs the stream once for the columns, once more if
// measures of texts are standardised, and once for the statistics of features.
// Every candidate counts once, a column of the query once per query. `vectors`
// are kept whole; they may be empty where no measure needs them.
// InvalidArgument where the declaration is wrong, a query does not fit the
// schema, or there is no query; the errors of the stream.
absl::StatusOr<model::v1::Features> LearnFeatures(
    const model::v1::FeatureSpec& spec, QueryStream queries,
    const model::v1::WordVectors& vectors = {});

}  // namespace sortition
