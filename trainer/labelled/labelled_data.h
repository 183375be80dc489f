#pragma once
// Reads and splits labelled queries for `train`.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "core/learners/labelled/labelled_learner.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "sortition/model/v1/trees.pb.h"
#include "trainer/frames/model_frame.h"

namespace sortition {

struct LabelledData {
  LabelledShape shape;  // Its features are those of a row.
  // True: rows have a last feature of 1, in addition to the shape's.
  bool has_constant = false;
  ModelFrame frame;
  // Their features are rows of what the weights of a model in the frame
  // multiply. They begin with what callers send, or transforms make.
  std::vector<LabelledQuery> training;
  std::vector<LabelledQuery> validation;
  std::vector<LabelledQuery> test;  // May be empty.
  std::string drafted_features;     // As in ModelFrame.
  uint64_t num_candidates = 0;      // In all parts.
  uint64_t num_rows = 0;            // Candidates in all of options.data.
  // What was assumed of the files.
  std::vector<config::v1::LabelledReport::Assumption> assumptions;

  uint32_t width() const { return shape.num_features + (has_constant ? 1 : 0); }
  // Features that callers send, or that transforms make.
  uint32_t num_inputs() const {
    return frame.features == nullptr ? shape.num_features
                                     : frame.features->num_inputs();
  }
};

// Reads options.data, where file_rows count through all of its files. Splits
// off the parts that `validation` and `test` do not give, by a hash of the
// query's id. Queries with the same id in different files are different queries
// in the same part. The frame is that of the version to be replaced, but for
// what the options say (ChooseFrame()); features are learned from the training
// part alone. InvalidArgument names the file and place of a read error, a part
// other than the test part that has no query, a query that is in two parts with
// the same candidates and labels, and sizes beyond memory_mb.
absl::StatusOr<LabelledData> ReadLabelledData(
    const config::v1::TrainOptions& options,
    const std::optional<StoredModel>& baseline = std::nullopt);

void AppendConstant(LabelledData* data);

// Puts trees into the frame, and their score behind each row. Requires rows
// without a constant, and a frame without trees and hidden units.
absl::Status AppendTrees(const model::v1::TreeEnsemble& trees,
                         LabelledData* data);

// Returns views of the queries, which must outlive them.
std::vector<LabelledItems> ViewsOf(const std::vector<LabelledQuery>& queries,
                                   const LabelledData& data);

// Queries with the rows of another model.
struct OtherRows {
  std::vector<LabelledQuery> queries;
  std::vector<LabelledItems> items;  // Views of `queries`.
};

// Returns `queries`, which are of `data`, with what the weights of `model`
// multiply. InvalidArgument if it takes columns and they have none, or the
// other way round.
absl::StatusOr<OtherRows> RowsFor(const model::v1::Model& model,
                                  const std::vector<LabelledQuery>& queries,
                                  const LabelledData& data);

}  // namespace sortition
