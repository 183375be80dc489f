#include "io/datasets/letor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/datasets/svmlight_line.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxRelevance = 31;
// Limits dense rows to 4 GiB, so that one large feature number cannot exhaust
// the memory.
constexpr uint64_t kMaxDenseValues = uint64_t{1} << 30;

struct Line {
  uint32_t relevance = 0;
  absl::string_view query;
  std::vector<SvmlightFeature> features;
};

absl::Status ParseLine(absl::string_view bytes, size_t number, Line* out) {
  SvmlightLine line(bytes, number);
  double label = 0;
  RETURN_IF_ERROR(line.ParseNumber(line.NextToken(), "label", &label));
  if (!(label >= 0 && label <= kMaxRelevance) || label != std::floor(label)) {
    return line.Error(absl::StrCat("label is ", label,
                                   ", must be an integer in [0, ",
                                   kMaxRelevance, "]"));
  }
  out->relevance = static_cast<uint32_t>(label);
  const absl::string_view token = line.NextToken();
  if (token.substr(0, 4) != "qid:" || token.size() == 4) {
    return line.Error("the second field must be qid:<query>");
  }
  out->query = token.substr(4);
  return line.ParseFeatures(&out->features);
}

struct SparseQuery {
  std::vector<uint32_t> relevances;
  std::vector<uint32_t> file_rows;
  std::vector<size_t> row_ends;  // Indexes into `features`.
  std::vector<SvmlightFeature> features;
};

LabelledQuery Densify(std::string id, SparseQuery sparse,
                      uint32_t num_features) {
  LabelledQuery query;
  query.id = std::move(id);
  query.relevances = std::move(sparse.relevances);
  query.file_rows = std::move(sparse.file_rows);
  query.features.assign(query.relevances.size() * num_features, 0);
  size_t place = 0;
  for (size_t row = 0; row < sparse.row_ends.size(); ++row) {
    for (; place < sparse.row_ends[row]; ++place) {
      const SvmlightFeature& feature = sparse.features[place];
      query.features[row * num_features + feature.number - 1] = feature.value;
    }
  }
  return query;
}

}  // namespace

absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text) {
  LabelledQueries result;
  std::vector<std::pair<std::string, SparseQuery>> queries;
  absl::flat_hash_map<std::string, size_t> index;
  Line line;
  uint64_t num_rows = 0;
  const auto parse = [&](absl::string_view bytes,
                         size_t number) -> absl::Status {
    RETURN_IF_ERROR(ParseLine(bytes, number, &line));
    const auto [place, added] =
        index.try_emplace(std::string(line.query), queries.size());
    if (added) {
      queries.emplace_back(std::string(line.query), SparseQuery());
    }
    SparseQuery& query = queries[place->second].second;
    query.relevances.push_back(line.relevance);
    query.features.insert(query.features.end(), line.features.begin(),
                          line.features.end());
    query.row_ends.push_back(query.features.size());
    query.file_rows.push_back(static_cast<uint32_t>(num_rows++));
    if (!line.features.empty()) {
      result.num_features =
          std::max(result.num_features, line.features.back().number);
    }
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(ForEachSvmlightLine(text, parse));
  if (queries.empty()) return absl::InvalidArgumentError("there is no query");
  if (result.num_features == 0) {
    return absl::InvalidArgumentError("no line has a feature");
  }
  if (num_rows * result.num_features > kMaxDenseValues) {
    return absl::InvalidArgumentError(
        absl::StrCat(num_rows, " candidates with ", result.num_features,
                     " features each exceed the limit of ", kMaxDenseValues,
                     " dense values"));
  }
  result.queries.reserve(queries.size());
  for (auto& [id, query] : queries) {
    result.queries.push_back(
        Densify(std::move(id), std::move(query), result.num_features));
  }
  return result;
}

absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto queries = ParseLetor(text);
  if (!queries.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", queries.status().message()));
  }
  return queries;
}

std::string FormatLetor(const LabelledQueries& queries) {
  std::string text;
  const size_t d = queries.num_features;
  bool first = true;
  for (const LabelledQuery& query : queries.queries) {
    for (size_t row = 0; row < query.relevances.size(); ++row) {
      absl::StrAppend(&text, query.relevances[row], " qid:", query.id);
      for (size_t j = 0; j < d; ++j) {
        const float value = query.features[row * d + j];
        if (value != 0 || (first && j + 1 == d)) {
          absl::StrAppendFormat(&text, " %d:%.9g", j + 1, value);
        }
      }
      first = false;
      text.push_back('\n');
    }
  }
  return text;
}

}  // namespace sortition
