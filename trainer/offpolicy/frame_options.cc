#include "trainer/offpolicy/frame_options.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/bound_columns.h"
#include "io/columns/word_vector_file.h"
#include "io/files.h"
#include "io/models/text_message.h"
#include "io/scorers/tree_models.h"
#include "process/log.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

// Learns the features of `spec` from the columns of the decisions that are
// read, whatever came of them.
absl::StatusOr<model::v1::Features> LearnFromLog(
    const TrainOptions& options, const model::v1::FeatureSpec& spec) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  ASSIGN_OR_RETURN(const model::v1::WordVectors vectors, ReadVectors(options));
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  RETURN_IF_ERROR(CheckedSpec(schema, spec).status());
  // A server without a model takes and logs any columns.
  uint64_t num_queries = 0;
  uint64_t num_others = 0;
  absl::Status first_other;
  BoundColumns bound;
  ScanEnds ends;
  const auto queries = [&](QueryVisitor visit) {
    TupleCounts counts;
    num_queries = num_others = 0;
    return ScanTuples(
        log,
        [&](const log::v1::BanditTuple& tuple) -> absl::Status {
          const log::v1::Decision& decision = tuple.decision();
          if (selection.ReasonToSkip(decision) || !decision.has_columns()) {
            return absl::OkStatus();
          }
          const absl::Status fits = bound.Bind(schema, decision.columns());
          if (fits.ok()) {
            ++num_queries;
            return visit(decision.columns());
          }
          if (num_others++ == 0) {
            first_other = absl::Status(
                fits.code(), absl::StrCat("decision '", decision.decision_id(),
                                          "': ", fits.message()));
          }
          return absl::OkStatus();
        },
        &counts, &ends);
  };
  absl::StatusOr<model::v1::Features> features =
      LearnFeatures(spec, queries, vectors);
  if (num_queries > 0) {
    if (num_others > 0) {
      LogWarning("columns of decisions are not those of features",
                 {{"decisions", num_others},
                  {"first", std::string(first_other.message())}});
    }
    return features;
  }
  if (num_others > 0) return first_other;
  return absl::FailedPreconditionError(absl::StrCat(
      "features is '", options.features(), "', must be empty: no decision in ",
      options.tuples(), " has columns"));
}

}  // namespace

absl::StatusOr<model::v1::FeatureSpec> ReadFeatureSpec(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  model::v1::FeatureSpec spec;
  RETURN_IF_ERROR(ParseTextMessage(path, "a FeatureSpec", text, &spec));
  return spec;
}

absl::StatusOr<model::v1::WordVectors> ReadVectors(
    const TrainOptions& options) {
  if (options.word_vectors().empty()) return model::v1::WordVectors();
  return ReadWordVectors(options.word_vectors(), options.most_words());
}

absl::Status SetTrees(const TrainOptions& options, model::v1::Model* frame) {
  if (options.trees().empty()) return absl::OkStatus();
  if (options.trees() == "none") {
    frame->clear_trees();
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(*frame->mutable_trees(), ReadTreeModel(options.trees()));
  if (frame->num_features() == 0) {
    frame->set_num_features(frame->trees().num_features());
  }
  return absl::OkStatus();
}

absl::StatusOr<ModelFrame> MakeFrame(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  model::v1::Model frame;
  if (baseline.has_value()) {
    ASSIGN_OR_RETURN(const ModelFrame before, FrameOf(baseline->model));
    frame = before.model;
  }
  if (!options.features().empty()) {
    ASSIGN_OR_RETURN(const model::v1::FeatureSpec spec,
                     ReadFeatureSpec(options.features()));
    ASSIGN_OR_RETURN(*frame.mutable_features(), LearnFromLog(options, spec));
    ASSIGN_OR_RETURN(const FeatureTransform transform,
                     FeatureTransform::Create(frame.features()));
    frame.set_num_features(transform.num_features());
    // Those of the version before see other features.
    if (options.trees().empty()) frame.clear_trees();
    frame.clear_hidden_layer();
  } else if (!options.word_vectors().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("word_vectors is '", options.word_vectors(),
                     "', must be empty without features"));
  }
  RETURN_IF_ERROR(SetTrees(options, &frame));
  return FrameOf(frame);
}

}  // namespace sortition
