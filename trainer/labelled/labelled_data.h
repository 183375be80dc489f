#pragma once
// Labelled queries for `train`: read, split, ready for a learner.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/trainer.pb.h"

namespace sortition {

struct LabelledData {
  LabelledShape shape;
  bool has_constant = false;  // A last feature of 1, beside those of the shape.
  std::vector<LabelledQuery> training;
  std::vector<LabelledQuery> validation;
  std::vector<LabelledQuery> test;  // May be empty.
  uint64_t num_candidates = 0;      // Of all parts.
  uint64_t num_rows = 0;            // Candidates of options.data, all of it.
};

// options.data, its file_rows counted through all of its files, split by hash
// of the query's id into what `validation` and `test` do not give. Queries of
// one id in different files are different ones, in the same part.
// InvalidArgument names the file and place of what cannot be read, a part but
// the test that has no query, and a query that is in two parts with the same
// candidates and labels.
absl::StatusOr<LabelledData> ReadLabelledData(
    const config::v1::TrainOptions& options);

void AppendConstant(LabelledData* data);

// Views of the queries, which must outlive them.
std::vector<LabelledItems> ViewsOf(const std::vector<LabelledQuery>& queries,
                                   const LabelledData& data);

}  // namespace sortition
