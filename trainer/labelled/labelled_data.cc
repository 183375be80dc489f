#include "trainer/labelled/labelled_data.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/bytes.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/datasets/letor.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using Files = google::protobuf::RepeatedPtrField<std::string>;

// Widens rows of `from` values to `to` values each by appending `value`.
void Widen(uint32_t from, uint32_t to, float value, LabelledQuery* query) {
  if (from == to) return;
  const size_t n = query->relevances.size();
  std::vector<float> wide(n * to, value);
  for (size_t row = 0; row < n; ++row) {
    std::copy_n(query->features.begin() + static_cast<ptrdiff_t>(row * from),
                from, wide.begin() + static_cast<ptrdiff_t>(row * to));
  }
  query->features = std::move(wide);
}

// Appends the queries of all files and raises shape->num_features to the
// largest width; `widths` gets the width of each query.
struct Reading {
  std::vector<LabelledQuery> queries;
  std::vector<uint32_t> widths;
  uint64_t num_rows = 0;  // Number of candidates.
};

absl::StatusOr<Reading> ReadFiles(const Files& files, LabelledShape* shape) {
  Reading reading;
  for (const std::string& list : files) {
    for (absl::string_view name : absl::StrSplit(list, ',')) {
      name = absl::StripAsciiWhitespace(name);
      ASSIGN_OR_RETURN(LabelledQueries file, ReadLetor(std::string(name)));
      shape->num_features = std::max(shape->num_features, file.num_features);
      const auto before = static_cast<uint32_t>(reading.num_rows);
      for (LabelledQuery& query : file.queries) {
        for (const uint32_t relevance : query.relevances) {
          shape->max_relevance = std::max(shape->max_relevance, relevance);
        }
        for (uint32_t& row : query.file_rows) row += before;
        reading.num_rows += query.relevances.size();
        reading.queries.push_back(std::move(query));
        reading.widths.push_back(file.num_features);
      }
    }
  }
  return reading;
}

// Gives all queries the same width. Lines of a file end at the last feature
// that is not 0, so files may have different widths.
std::vector<LabelledQuery> ToWidth(Reading reading, uint32_t num_features) {
  for (size_t j = 0; j < reading.queries.size(); ++j) {
    Widen(reading.widths[j], num_features, 0, &reading.queries[j]);
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
  return CheckDistinct(data);
}

}  // namespace

absl::StatusOr<LabelledData> ReadLabelledData(const TrainOptions& options) {
  LabelledData data;
  ASSIGN_OR_RETURN(Reading all, ReadFiles(options.data(), &data.shape));
  ASSIGN_OR_RETURN(Reading validation,
                   ReadFiles(options.validation(), &data.shape));
  ASSIGN_OR_RETURN(Reading test, ReadFiles(options.test(), &data.shape));
  const uint32_t d = data.shape.num_features;
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
  return data;
}

void AppendConstant(LabelledData* data) {
  const uint32_t d = data->shape.num_features;
  for (auto* part : {&data->training, &data->validation, &data->test}) {
    for (LabelledQuery& query : *part) Widen(d, d + 1, 1, &query);
  }
  data->has_constant = true;
}

std::vector<LabelledItems> ViewsOf(const std::vector<LabelledQuery>& queries,
                                   const LabelledData& data) {
  const uint32_t width = data.shape.num_features + (data.has_constant ? 1 : 0);
  std::vector<LabelledItems> views;
  views.reserve(queries.size());
  for (const LabelledQuery& query : queries) {
    views.push_back(
        {Candidates::DenseUnchecked(query.features, width), query.relevances});
  }
  return views;
}

}  // namespace sortition
