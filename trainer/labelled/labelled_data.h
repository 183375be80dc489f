#pragma once
// Reads and splits labelled queries for `train`.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

struct LabelledData {
  LabelledShape shape;
  // True: queries have a last feature of 1, in addition to the shape's.
  bool has_constant = false;
  std::vector<LabelledQuery> training;
  std::vector<LabelledQuery> validation;
  std::vector<LabelledQuery> test;  // May be empty.
  uint64_t num_candidates = 0;      // In all parts.
  uint64_t num_rows = 0;            // Candidates in all of options.data.
};

// Reads options.data, where file_rows count through all of its files. Splits
// off the parts that `validation` and `test` do not give, by a hash of the
// query's id. Queries with the same id in different files are different queries
// in the same part. InvalidArgument names the file and place of a read error, a
// part other than the test part that has no query, and a query that is in two
// parts with the same candidates and labels.
absl::StatusOr<LabelledData> ReadLabelledData(
    const config::v1::TrainOptions& options);

void AppendConstant(LabelledData* data);

// Returns views of the queries, which must outlive them.
std::vector<LabelledItems> ViewsOf(const std::vector<LabelledQuery>& queries,
                                   const LabelledData& data);

}  // namespace sortition
