#pragma once
// What the weights of a model multiply, for labelled queries.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/data/candidates.h"
#include "core/data/labelled_queries.h"
#include "core/features/schema/schema.h"
#include "core/features/suggest/suggest_features.h"
#include "core/scoring/model_features.h"
#include "io/datasets/letor.h"
#include "io/models/model_store.h"
#include "io/scorers/tree_models.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// What options say before queries are read.
struct FrameChoice {
  model::v1::Model frame;  // As ModelFrame.model; without features if `spec`.
  std::optional<model::v1::FeatureSpec> spec;  // Features to be learned.
  std::string drafted_features;                // As in ModelFrame.
  // To be put into the frame once the number of features is known.
  std::optional<TreeModelFile> trees;
  // Of the columns of queries; unset: queries have features.
  std::optional<Schema> schema;
};

// Returns the frame of the version to be replaced, with the features and trees
// that the options name instead. Where features are auto, or empty for a first
// model of columns, they are drafted from the columns of options.data. The
// learner of trees begins without any, and without hidden units.
// InvalidArgument for a file that is not what it must be, and for options that
// do not go together.
absl::StatusOr<FrameChoice> ChooseFrame(
    const config::v1::TrainOptions& options,
    const std::optional<StoredModel>& baseline);

// Reads queries with columns or, where `schema` is null, with features (LETOR),
// as `letor` says. InvalidArgument, naming the file, for one of the other kind,
// and as the readers.
absl::StatusOr<LabelledQueries> ReadQueries(const std::string& path,
                                            const Schema* schema,
                                            const LetorOptions& letor = {});

// Splits lists of files separated by commas.
std::vector<std::string> FilesOf(
    const google::protobuf::RepeatedPtrField<std::string>& lists);

// Returns how each of `files` is read, with the group files of `groups` for all
// of them if there are any. InvalidArgument naming `option` if they are not as
// many.
absl::StatusOr<std::vector<LetorOptions>> LetorOptionsOf(
    const config::v1::LabelFileOptions& options,
    const std::vector<std::string>& files, absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& groups);

// Drafts features from the columns of files whose dense rows take a quarter of
// `memory_mb` at most; `options.max_features` may be lower. Also returns them
// as text. Errors as DescribeFiles() and SuggestFeatures().
absl::StatusOr<std::pair<model::v1::FeatureSpec, std::string>> DraftFromFiles(
    const std::vector<std::string>& files, uint64_t memory_mb,
    SuggestOptions options);

// InvalidArgument that names the columns of a file and what to do: features
// must be declared or drafted.
absl::Status NoFeaturesError(const std::string& path);

// Learns features from queries with columns; labels are not looked at. Errors
// as LearnFeatures().
absl::StatusOr<model::v1::Features> LearnFromQueries(
    const model::v1::FeatureSpec& spec,
    const std::vector<LabelledQuery>& queries,
    const model::v1::WordVectors& vectors);

// Changes the rows of a query from `from` values to `to`: cuts them, or appends
// `value`.
void ChangeWidth(uint32_t from, uint32_t to, float value, LabelledQuery* query);

// The features of a query as callers would send them.
struct SentRows {
  uint32_t num_features = 0;
  std::vector<float> values;
  std::vector<uint32_t> columns;      // Of sparse rows.
  std::vector<uint32_t> row_offsets;  // Empty: dense.

  // Errors as the functions of Candidates.
  absl::StatusOr<Candidates> View() const {
    return row_offsets.empty()
               ? Candidates::Dense(values, num_features)
               : Candidates::Sparse(row_offsets, columns, values, num_features);
  }
};

// Makes rows of `num_features` from the query's rows of `width`. If `sparse`
// they have only what the query states, which it must know.
SentRows MakeSentRows(const LabelledQuery& query, uint32_t width,
                      uint32_t num_features, bool sparse);

// Returns the features of a query as dense rows, made of its columns or, where
// it has none, of its features, rows of `width` that begin with what callers
// send. Features that are not stated are absent to trees that tell absent
// features from zeros, as in sparse rows of a request. InvalidArgument, naming
// the query, as ModelFeatures::Compute().
absl::StatusOr<std::vector<float>> MakeRows(const ModelFeatures& features,
                                            const LabelledQuery& query,
                                            uint32_t width,
                                            ModelFeatureScratch* scratch);

// InvalidArgument if dense rows of so many candidates are beyond
// options.memory_mb.
absl::Status CheckMemory(const config::v1::TrainOptions& options,
                         uint64_t num_candidates, uint64_t num_features);

}  // namespace sortition
