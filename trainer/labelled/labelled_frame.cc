#include "trainer/labelled/labelled_frame.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/feature_learning.h"
#include "io/columns/column_queries.h"
#include "io/datasets/letor.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/frame_options.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

constexpr char kTreeLearner[] = "trees";

absl::Status ChooseTrees(const TrainOptions& options, model::v1::Model* frame) {
  if (options.learner() == kTreeLearner) {
    if (!options.trees().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("trees is '", options.trees(),
                       "', must be empty for learner trees, which trains "
                       "them"));
    }
    frame->clear_trees();
    frame->clear_hidden_layer();
    return absl::OkStatus();
  }
  // Features of a matrix are as many as the data or the trees have.
  if (!options.trees().empty() && !frame->has_features() &&
      !frame->has_hidden_layer()) {
    frame->clear_num_features();
  }
  return SetTrees(options, frame);
}

}  // namespace

absl::StatusOr<FrameChoice> ChooseFrame(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  FrameChoice choice;
  if (baseline.has_value()) {
    ASSIGN_OR_RETURN(ModelFrame before, FrameOf(baseline->model));
    choice.frame = std::move(before.model);
  }
  if (!options.features().empty()) {
    ASSIGN_OR_RETURN(choice.spec, ReadFeatureSpec(options.features()));
    choice.frame.clear_features();
    choice.frame.clear_num_features();
    // They see other features.
    choice.frame.clear_trees();
    choice.frame.clear_hidden_layer();
  } else if (!options.word_vectors().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("word_vectors is '", options.word_vectors(),
                     "', must be empty without features"));
  }
  RETURN_IF_ERROR(ChooseTrees(options, &choice.frame));
  if (choice.spec.has_value()) {
    ASSIGN_OR_RETURN(choice.schema, Schema::Create(choice.spec->schema()));
  } else if (choice.frame.has_features()) {
    ASSIGN_OR_RETURN(choice.schema,
                     Schema::Create(choice.frame.features().spec().schema()));
  }
  return choice;
}

absl::StatusOr<LabelledQueries> ReadQueries(const std::string& path,
                                            const Schema* schema) {
  if (schema != nullptr) return ReadColumnQueries(path, *schema);
  if (!IsColumnFile(path)) return ReadLetor(path);
  return absl::InvalidArgumentError(absl::StrCat(
      "file '", path,
      "' has columns: features must be set, a FeatureSpec that says what "
      "becomes of them (docs/features.md), or the model must have a schema"));
}

absl::StatusOr<model::v1::Features> LearnFromQueries(
    const model::v1::FeatureSpec& spec,
    const std::vector<LabelledQuery>& queries,
    const model::v1::WordVectors& vectors) {
  const auto stream = [&](QueryVisitor visit) -> absl::Status {
    for (const LabelledQuery& query : queries) {
      const absl::Status status = visit(*query.columns);
      if (status.ok()) continue;
      return absl::Status(status.code(), absl::StrCat("query '", query.id,
                                                      "': ", status.message()));
    }
    return absl::OkStatus();
  };
  return LearnFeatures(spec, stream, vectors);
}

void ChangeWidth(uint32_t from, uint32_t to, float value,
                 LabelledQuery* query) {
  if (from == to) return;
  const size_t n = query->relevances.size();
  const auto kept = static_cast<ptrdiff_t>(std::min(from, to));
  std::vector<float> changed(n * to, value);
  for (size_t row = 0; row < n; ++row) {
    const auto begin =
        query->features.begin() + static_cast<ptrdiff_t>(row * from);
    std::copy(begin, begin + kept,
              changed.begin() + static_cast<ptrdiff_t>(row * to));
  }
  query->features = std::move(changed);
}

absl::StatusOr<std::vector<float>> MakeRows(const ModelFeatures& features,
                                            const LabelledQuery& query,
                                            uint32_t width,
                                            ModelFeatureScratch* scratch) {
  QueryInput input;
  LabelledQuery sent;
  if (query.columns != nullptr) {
    input.columns = query.columns.get();
  } else {
    sent = query;
    ChangeWidth(width, features.num_inputs(), 0, &sent);
    ASSIGN_OR_RETURN(input.candidates,
                     Candidates::Dense(sent.features, features.num_inputs()));
  }
  std::vector<uint32_t> documents(query.relevances.size());
  std::iota(documents.begin(), documents.end(), 0u);
  const auto made = features.Compute(input, documents, scratch);
  if (!made.ok()) {
    return absl::Status(
        made.status().code(),
        absl::StrCat("query '", query.id, "': ", made.status().message()));
  }
  if (!made->sparse()) {
    return std::vector<float>(made->values().begin(), made->values().end());
  }
  std::vector<float> rows(documents.size() * size_t{made->num_features()});
  for (size_t row = 0; row < documents.size(); ++row) {
    for (size_t at = made->row_offsets()[row];
         at < made->row_offsets()[row + 1]; ++at) {
      rows[row * made->num_features() + made->columns()[at]] =
          made->values()[at];
    }
  }
  return rows;
}

absl::Status CheckMemory(const TrainOptions& options, uint64_t num_candidates,
                         uint64_t num_features) {
  const double needed = static_cast<double>(num_candidates) *
                        static_cast<double>(num_features) * sizeof(float);
  constexpr double kMebibyte = 1 << 20;
  if (needed <= static_cast<double>(options.memory_mb()) * kMebibyte) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      num_candidates, " candidates with ", num_features, " features need ",
      static_cast<uint64_t>(needed / kMebibyte) + 1,
      " MiB as rows of floats, must be at most memory_mb = ",
      options.memory_mb(),
      ": labelled queries are dense, so take fewer bits or values in sparse "
      "transforms, or fewer queries"));
}

}  // namespace sortition
