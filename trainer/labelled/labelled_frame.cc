#include "trainer/labelled/labelled_frame.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/features/feature_learning.h"
#include "io/columns/column_queries.h"
#include "io/datasets/label_file_options.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/frame_options.h"
#include "trainer/suggest/column_sources.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;

constexpr char kTreeLearner[] = "trees";

absl::Status ChooseTrees(const TrainOptions& options, FrameChoice* choice) {
  model::v1::Model* const frame = &choice->frame;
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
  ASSIGN_OR_RETURN(choice->trees, ReadTrees(options));
  if (options.trees().empty()) return absl::OkStatus();
  frame->clear_trees();
  // Features of a matrix are as many as the data or the trees have.
  if (!frame->has_features() && !frame->has_hidden_layer()) {
    frame->clear_num_features();
  }
  return absl::OkStatus();
}

// Adds to `read` the columns that only the version before has, so that it is
// compared on all that it reads. Data may lack them.
void AddOtherColumns(const model::v1::Schema& before, model::v1::Schema* read) {
  absl::flat_hash_set<std::string> names;
  for (const auto& column : read->column()) names.insert(column.name());
  for (const auto& column : before.column()) {
    if (names.contains(column.name())) continue;
    model::v1::ColumnSchema& added = *read->add_column();
    added = column;
    added.set_missing(true);
  }
}

}  // namespace

absl::StatusOr<FrameChoice> ChooseFrame(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  FrameChoice choice;
  if (baseline.has_value()) {
    ASSIGN_OR_RETURN(ModelFrame before, FrameOf(baseline->model));
    choice.frame = std::move(before.model);
  }
  // A first model of columns; trees take the features of requests.
  const bool is_first = !baseline.has_value() && options.trees().empty();
  const std::vector<std::string> files = FilesOf(options.data());
  const bool is_drafted = options.features() == kAutoFeatures ||
                          (options.features().empty() && is_first &&
                           !files.empty() && IsColumnFile(files[0]));
  if (is_drafted) {
    ASSIGN_OR_RETURN(
        std::tie(choice.spec, choice.drafted_features),
        DraftFromFiles(files, options.memory_mb(),
                       {.can_abstain = options.action() == "select",
                        .has_word_vectors = !options.word_vectors().empty()}));
  } else if (!options.features().empty()) {
    ASSIGN_OR_RETURN(choice.spec, ReadFeatureSpec(options.features()));
  }
  if (choice.spec.has_value()) {
    model::v1::Schema read = choice.spec->schema();
    if (baseline.has_value()) {
      RETURN_IF_ERROR(CheckMayFollow(*choice.spec, baseline->model));
      AddOtherColumns(choice.frame.features().spec().schema(), &read);
    }
    ASSIGN_OR_RETURN(choice.schema, Schema::Create(read));
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
  RETURN_IF_ERROR(ChooseTrees(options, &choice));
  if (!choice.spec.has_value() && choice.frame.has_features()) {
    ASSIGN_OR_RETURN(choice.schema,
                     Schema::Create(choice.frame.features().spec().schema()));
  }
  return choice;
}

absl::StatusOr<LabelledQueries> ReadQueries(const std::string& path,
                                            const Schema* schema,
                                            const LetorOptions& letor) {
  if (schema != nullptr) {
    if (letor.groups.empty()) return ReadColumnQueries(path, *schema);
    return absl::InvalidArgumentError(
        absl::StrCat("groups is '", letor.groups, "', must be empty: file '",
                     path, "' has columns, one of which names the query"));
  }
  if (!IsColumnFile(path)) return ReadLetor(path, letor);
  return NoFeaturesError(path);
}

absl::StatusOr<std::pair<model::v1::FeatureSpec, std::string>> DraftFromFiles(
    const std::vector<std::string>& files, uint64_t memory_mb,
    SuggestOptions options) {
  ASSIGN_OR_RETURN(const ColumnSource source, DescribeFiles(files, 0));
  const uint64_t floats = (memory_mb << 20) / 4 / sizeof(float);
  const uint64_t most =
      floats / std::max<uint64_t>(source.profiles.num_candidates, 1);
  options.max_features =
      options.max_features == 0 ? most : std::min(most, options.max_features);
  // 0 would be no limit.
  options.max_features = std::max<uint64_t>(options.max_features, 1);
  ASSIGN_OR_RETURN(const FeatureSuggestion suggestion,
                   SuggestFrom(source, options));
  return std::pair(suggestion.spec, SuggestionText(suggestion, source.name));
}

absl::Status NoFeaturesError(const std::string& path) {
  ASSIGN_OR_RETURN(const ColumnSource source, DescribeFiles({path}, 1000));
  return absl::InvalidArgumentError(NoFeaturesText(
      absl::StrCat("file '", path, "' has"), ColumnList(source.profiles)));
}

std::vector<std::string> FilesOf(
    const google::protobuf::RepeatedPtrField<std::string>& lists) {
  std::vector<std::string> files;
  for (const std::string& list : lists) {
    for (const absl::string_view name : absl::StrSplit(list, ',')) {
      files.emplace_back(absl::StripAsciiWhitespace(name));
    }
  }
  return files;
}

absl::StatusOr<std::vector<LetorOptions>> LetorOptionsOf(
    const config::v1::LabelFileOptions& options,
    const std::vector<std::string>& files, absl::string_view option,
    const google::protobuf::RepeatedPtrField<std::string>& groups) {
  std::vector<LetorOptions> letor(files.size(),
                                  {.lines = ToSvmlightOptions(options)});
  const std::vector<std::string> group_files = FilesOf(groups);
  if (group_files.empty()) return letor;
  if (group_files.size() != files.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        option, " names ", group_files.size(), " files, must name ",
        files.size(), ", one for each label file"));
  }
  for (size_t i = 0; i < files.size(); ++i) letor[i].groups = group_files[i];
  return letor;
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

SentRows MakeSentRows(const LabelledQuery& query, uint32_t width,
                      uint32_t num_features, bool sparse) {
  LabelledQuery sent = query;
  ChangeWidth(width, num_features, 0, &sent);
  SentRows rows;
  rows.num_features = num_features;
  if (!sparse) {
    rows.values = std::move(sent.features);
    return rows;
  }
  rows.row_offsets.push_back(0);
  for (size_t row = 0; row < query.relevances.size(); ++row) {
    for (uint32_t column = 0; column < num_features; ++column) {
      if (!query.stated->Has(row, column)) continue;
      rows.columns.push_back(column);
      rows.values.push_back(sent.features[row * num_features + column]);
    }
    rows.row_offsets.push_back(static_cast<uint32_t>(rows.columns.size()));
  }
  return rows;
}

absl::StatusOr<std::vector<float>> MakeRows(const ModelFeatures& features,
                                            const LabelledQuery& query,
                                            uint32_t width,
                                            ModelFeatureScratch* scratch) {
  QueryInput input;
  SentRows sent;
  if (query.columns != nullptr) {
    input.columns = query.columns.get();
  } else {
    const uint32_t d = features.num_inputs();
    const bool sparse =
        query.stated != nullptr && features.tells_absent_from_zero();
    sent = MakeSentRows(query, width, d, sparse);
    ASSIGN_OR_RETURN(input.candidates, sent.View());
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
