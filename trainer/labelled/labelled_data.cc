#include "trainer/labelled/labelled_data.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_presence.h"
#include "trainer/imports/read_assumptions.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/offpolicy/frame_options.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using Lists = google::protobuf::RepeatedPtrField<std::string>;

struct Reading {
  std::vector<LabelledQuery> queries;
  std::vector<uint32_t> widths;  // Of each query.
  uint64_t num_rows = 0;         // Number of candidates.
};

// What the files of all parts have in common.
struct FileFacts {
  LabelledShape shape;
  ReadAssumptions assumed;
};

// An option that names files, and the one that names their group files.
struct FileOption {
  const Lists& files;
  const char* groups_name;
  const Lists& groups;
};

// Reads the queries of all files and raises facts->shape to the largest width
// and relevance.
absl::StatusOr<Reading> ReadFiles(const FileOption& option,
                                  const Schema* schema,
                                  const TrainOptions& options,
                                  FileFacts* facts) {
  Reading reading;
  LabelledShape& shape = facts->shape;
  const std::vector<std::string> files = FilesOf(option.files);
  ASSIGN_OR_RETURN(const std::vector<LetorOptions> letor,
                   LetorOptionsOf(options.label_files(), files,
                                  option.groups_name, option.groups));
  for (size_t i = 0; i < files.size(); ++i) {
    ASSIGN_OR_RETURN(LabelledQueries file,
                     ReadQueries(files[i], schema, letor[i]));
    facts->assumed.Add(files[i], file);
    shape.num_features = std::max(shape.num_features, file.num_features);
    const auto before = static_cast<uint32_t>(reading.num_rows);
    for (LabelledQuery& query : file.queries) {
      CutRelevances(options.relevance_cut(), query.relevances);
      for (const uint32_t relevance : query.relevances) {
        shape.max_relevance = std::max(shape.max_relevance, relevance);
      }
      for (uint32_t& row : query.file_rows) row += before;
      reading.num_rows += query.relevances.size();
      reading.queries.push_back(std::move(query));
      reading.widths.push_back(file.num_features);
    }
  }
  return reading;
}

// Gives all queries the same width. Lines of a file end at the last feature
// that is not 0, so files may have different widths.
std::vector<LabelledQuery> ToWidth(Reading reading, uint32_t num_features) {
  for (size_t j = 0; j < reading.queries.size(); ++j) {
    if (reading.queries[j].columns != nullptr) continue;
    ChangeWidth(reading.widths[j], num_features, 0, &reading.queries[j]);
  }
  return std::move(reading.queries);
}

void Split(const TrainOptions& options, std::vector<LabelledQuery> queries,
           LabelledData* data) {
  const double test = options.test_size() > 0 ? 0 : options.test_fraction();
  const double validation =
      options.validation_size() > 0 ? 0 : options.validation_fraction();
  for (LabelledQuery& query : queries) {
    const double place =
        UnitInterval(StableHash(HashDomain::kSplit, {"labelled", query.id}));
    auto& part = place < test                ? data->test
                 : place < test + validation ? data->validation
                                             : data->training;
    part.push_back(std::move(query));
  }
}

// InvalidArgument if two parts have a query with the same id, candidates and
// labels.
absl::Status CheckDistinct(const LabelledData& data) {
  std::map<std::pair<uint64_t, uint64_t>, const char*> seen;
  const auto check = [&seen](const std::vector<LabelledQuery>& part,
                             const char* name) -> absl::Status {
    for (const LabelledQuery& query : part) {
      const Hash128 hash = StableHash(
          HashDomain::kSplit,
          {query.id, BytesOf(query.features), BytesOf(query.relevances)});
      const auto [place, added] = seen.try_emplace({hash.low, hash.high}, name);
      if (!added && place->second != name) {
        return absl::InvalidArgumentError(absl::StrCat(
            "query '", query.id, "' is in the ", place->second,
            " part and in the ", name,
            " part, must be in one: a part must not know another"));
      }
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(check(data.training, "training"));
  RETURN_IF_ERROR(check(data.validation, "validation"));
  return check(data.test, "test");
}

absl::Status CheckParts(const TrainOptions& options, const LabelledData& data) {
  const size_t all =
      data.training.size() + data.validation.size() + data.test.size();
  for (const auto& [name, part] : {std::pair("training", &data.training),
                                   std::pair("validation", &data.validation)}) {
    if (!part->empty()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the ", name, " part has 0 of ", all,
        " queries, must have at least 1: give more data, or other fractions "
        "(validation_fraction ",
        options.validation_fraction(), ", test_fraction ",
        options.test_fraction(), ")"));
  }
  return absl::OkStatus();
}

// Files end lines at the last feature that is not 0, so that rows may be
// narrower than the trees and units of `frame` need.
absl::StatusOr<uint32_t> SentWidth(const model::v1::Model& frame,
                                   const LabelledShape& shape) {
  if (!frame.has_trees() && !frame.has_hidden_layer()) {
    return shape.num_features;
  }
  if (shape.num_features <= frame.num_features()) return frame.num_features();
  return absl::InvalidArgumentError(
      absl::StrCat("data has ", shape.num_features,
                   " features, must have at most ", frame.num_features(),
                   ", those that the trees or hidden units of the model take; "
                   "trees=none leaves trees out"));
}

// Makes the rows of all queries anew. Rows have data->width() features before.
absl::Status MakeAllRows(LabelledData* data) {
  ModelFeatureScratch scratch;
  for (auto* part : {&data->training, &data->validation, &data->test}) {
    for (LabelledQuery& query : *part) {
      ASSIGN_OR_RETURN(query.features, MakeRows(*data->frame.features, query,
                                                data->width(), &scratch));
    }
  }
  data->shape.num_features = data->frame.features->num_features();
  return absl::OkStatus();
}

// Puts trees that were read into the frame of `choice`.
absl::Status PutTrees(const TrainOptions& options,
                      const FeatureCount& num_features, FrameChoice* choice,
                      LabelledData* data) {
  if (!choice->trees.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto assumptions,
                   PlaceTrees(options, *std::move(choice->trees), num_features,
                              &choice->frame));
  data->assumptions.insert(data->assumptions.end(), assumptions.begin(),
                           assumptions.end());
  return absl::OkStatus();
}

// Learns what is to be learned from the training part, and makes all rows.
absl::Status CompleteFrame(const TrainOptions& options, FrameChoice choice,
                           LabelledData* data) {
  if (choice.spec.has_value()) {
    ASSIGN_OR_RETURN(const auto vectors, ReadVectors(options));
    ASSIGN_OR_RETURN(*choice.frame.mutable_features(),
                     LearnFromQueries(*choice.spec, data->training, vectors));
    ASSIGN_OR_RETURN(const auto transform,
                     FeatureTransform::Create(choice.frame.features()));
    choice.frame.set_num_features(transform.num_features());
  }
  if (choice.schema.has_value()) {
    RETURN_IF_ERROR(PutTrees(options, {.value = choice.frame.num_features()},
                             &choice, data));
  }
  ASSIGN_OR_RETURN(data->frame, FrameOf(choice.frame));
  const bool is_made = data->frame.features != nullptr;
  if (choice.schema.has_value() || options.has_memory_mb()) {
    RETURN_IF_ERROR(CheckMemory(options, data->num_candidates,
                                is_made ? data->frame.features->num_features()
                                        : data->shape.num_features));
  }
  return is_made ? MakeAllRows(data) : absl::OkStatus();
}

// InvalidArgument if queries lack columns that the model reads.
absl::Status CheckColumnsAreThere(const ModelFeatures& features,
                                  const std::vector<LabelledQuery>& queries) {
  if (features.transform() == nullptr) return absl::OkStatus();
  ColumnPresence presence(features.transform()->schema());
  for (const LabelledQuery& query : queries) {
    if (query.columns != nullptr) presence.Add(*query.columns);
  }
  const std::string absent = presence.AbsentText();
  if (absent.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it reads columns that the queries lack: ", absent));
}

}  // namespace

absl::StatusOr<LabelledData> ReadLabelledData(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  ASSIGN_OR_RETURN(FrameChoice choice, ChooseFrame(options, baseline));
  const Schema* const schema =
      choice.schema.has_value() ? &*choice.schema : nullptr;
  LabelledData data;
  data.drafted_features = choice.drafted_features;
  LabelledShape& shape = data.shape;
  FileFacts facts;
  const auto read = [&](const Lists& files, const char* groups_name,
                        const Lists& groups) {
    return ReadFiles({files, groups_name, groups}, schema, options, &facts);
  };
  ASSIGN_OR_RETURN(Reading all,
                   read(options.data(), "groups", options.groups()));
  ASSIGN_OR_RETURN(Reading validation,
                   read(options.validation(), "validation_groups",
                        options.validation_groups()));
  ASSIGN_OR_RETURN(Reading test,
                   read(options.test(), "test_groups", options.test_groups()));
  shape = facts.shape;
  if (schema == nullptr) {
    data.assumptions = facts.assumed.Of(options.label_files());
    const uint32_t known = choice.frame.num_features();
    RETURN_IF_ERROR(PutTrees(
        options,
        known > 0
            ? FeatureCount{.value = known}
            : FeatureCount{.value = shape.num_features,
                           .is_lower_bound = true,
                           .is_from_zero =
                               options.label_files().first_feature() == 0},
        &choice, &data));
    ASSIGN_OR_RETURN(shape.num_features, SentWidth(choice.frame, shape));
  }
  const uint32_t d = shape.num_features;
  data.num_rows = all.num_rows;
  Split(options, ToWidth(std::move(all), d), &data);
  if (options.validation_size() > 0) {
    data.validation = ToWidth(std::move(validation), d);
  }
  if (options.test_size() > 0) data.test = ToWidth(std::move(test), d);
  for (const auto* part : {&data.training, &data.validation, &data.test}) {
    for (const LabelledQuery& query : *part) {
      data.num_candidates += query.relevances.size();
    }
  }
  RETURN_IF_ERROR(CheckParts(options, data));
  RETURN_IF_ERROR(CompleteFrame(options, std::move(choice), &data));
  RETURN_IF_ERROR(CheckDistinct(data));
  return data;
}

void AppendConstant(LabelledData* data) {
  const uint32_t d = data->shape.num_features;
  for (auto* part : {&data->training, &data->validation, &data->test}) {
    for (LabelledQuery& query : *part) {
      ChangeWidth(d, d + 1, 1, &query);
    }
  }
  data->has_constant = true;
}

absl::Status AppendTrees(const model::v1::TreeEnsemble& trees,
                         LabelledData* data) {
  model::v1::Model frame = data->frame.model;
  frame.set_num_features(data->num_inputs());
  *frame.mutable_trees() = trees;
  ASSIGN_OR_RETURN(data->frame, FrameOf(frame));
  return MakeAllRows(data);
}

std::vector<LabelledItems> ViewsOf(const std::vector<LabelledQuery>& queries,
                                   const LabelledData& data) {
  std::vector<LabelledItems> views;
  views.reserve(queries.size());
  for (const LabelledQuery& query : queries) {
    views.push_back({Candidates::DenseUnchecked(query.features, data.width()),
                     query.relevances});
  }
  return views;
}

absl::StatusOr<OtherRows> RowsFor(const model::v1::Model& model,
                                  const std::vector<LabelledQuery>& queries,
                                  const LabelledData& data) {
  ASSIGN_OR_RETURN(const ModelFeatures features, ModelFeatures::Create(model));
  const bool is_matrix = queries.empty() || queries[0].columns == nullptr;
  if (is_matrix && features.transform() == nullptr &&
      features.num_inputs() != data.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the model takes ", features.num_inputs(),
                     " features, queries have ", data.num_inputs()));
  }
  RETURN_IF_ERROR(CheckColumnsAreThere(features, queries));
  OtherRows other;
  ModelFeatureScratch scratch;
  for (const LabelledQuery& query : queries) {
    ASSIGN_OR_RETURN(std::vector<float> rows,
                     MakeRows(features, query, data.width(), &scratch));
    other.queries.push_back(query);
    other.queries.back().features = std::move(rows);
  }
  for (const LabelledQuery& query : other.queries) {
    other.items.push_back(
        {Candidates::DenseUnchecked(query.features, features.num_features()),
         query.relevances});
  }
  return other;
}

}  // namespace sortition
