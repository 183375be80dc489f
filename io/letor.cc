#include "io/letor.h"

#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxRelevance = 31;
constexpr uint32_t kMaxFeature = 100000000;
// 4 GiB of dense rows: one feature number must not eat all memory.
constexpr uint64_t kMaxDenseValues = uint64_t{1} << 30;

struct Feature {
  uint32_t number;  // From 1.
  float value;
};

struct Line {
  uint32_t relevance = 0;
  absl::string_view query;
  std::vector<Feature> features;
};

// Reads one line token by token; remembers where it stands for messages.
class LineParser {
 public:
  LineParser(absl::string_view line, size_t number)
      : line_(line), number_(number) {}

  absl::Status Parse(Line* out) {
    out->features.clear();
    double label = 0;
    RETURN_IF_ERROR(ParseNumber(NextToken(), "label", &label));
    if (!(label >= 0 && label <= kMaxRelevance) || label != std::floor(label)) {
      return Error(absl::StrCat("label is ", label,
                                ", must be an integer in [0, ", kMaxRelevance,
                                "]"));
    }
    out->relevance = static_cast<uint32_t>(label);
    absl::string_view token = NextToken();
    if (token.substr(0, 4) != "qid:" || token.size() == 4) {
      return Error("the second field must be qid:<query>");
    }
    out->query = token.substr(4);
    while (!(token = NextToken()).empty()) {
      RETURN_IF_ERROR(ParseFeature(token, out));
    }
    return absl::OkStatus();
  }

 private:
  // Empty at the end of the line or at its comment.
  absl::string_view NextToken() {
    while (place_ < line_.size() && IsSpace(line_[place_])) ++place_;
    column_ = place_ + 1;
    const size_t begin = place_;
    if (place_ < line_.size() && line_[place_] == '#') place_ = line_.size();
    if (begin < line_.size() && line_[begin] == '#') return {};
    while (place_ < line_.size() && !IsSpace(line_[place_])) ++place_;
    return line_.substr(begin, place_ - begin);
  }

  static bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  absl::Status ParseFeature(absl::string_view token, Line* out) {
    const size_t colon = token.find(':');
    uint32_t feature = 0;
    const char* const end =
        token.data() + (colon == absl::string_view::npos ? 0 : colon);
    const auto parsed = std::from_chars(token.data(), end, feature);
    if (colon == absl::string_view::npos || parsed.ec != std::errc() ||
        parsed.ptr != end || feature == 0 || feature > kMaxFeature) {
      return Error(absl::StrCat("'", token,
                                "' must be <feature>:<value> with a feature "
                                "number in [1, ",
                                kMaxFeature, "]"));
    }
    if (!out->features.empty() && feature <= out->features.back().number) {
      return Error(absl::StrCat("feature ", feature, " must be above ",
                                out->features.back().number,
                                ", the one before it"));
    }
    double value = 0;
    RETURN_IF_ERROR(ParseNumber(token.substr(colon + 1), "value", &value));
    if (!std::isfinite(static_cast<float>(value))) {
      return Error(absl::StrCat("value of feature ", feature, " is ", value,
                                ", must be a finite float"));
    }
    out->features.push_back({feature, static_cast<float>(value)});
    return absl::OkStatus();
  }

  absl::Status ParseNumber(absl::string_view token, absl::string_view what,
                           double* value) {
    if (token.size() > 1 && token[0] == '+') token.remove_prefix(1);
    const auto parsed =
        std::from_chars(token.data(), token.data() + token.size(), *value);
    if (token.empty() || parsed.ec != std::errc() ||
        parsed.ptr != token.data() + token.size()) {
      return Error(absl::StrCat(what, " '", token, "' is not a number"));
    }
    return absl::OkStatus();
  }

  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", number_, ", column ", column_, ": ", what));
  }

  absl::string_view line_;
  size_t number_;
  size_t place_ = 0;
  size_t column_ = 1;
};

struct SparseQuery {
  std::vector<uint32_t> relevances;
  std::vector<size_t> row_ends;  // Into `features`.
  std::vector<Feature> features;
};

LabelledQuery Densify(std::string id, const SparseQuery& sparse,
                      uint32_t num_features) {
  LabelledQuery query;
  query.id = std::move(id);
  query.relevances = sparse.relevances;
  query.features.assign(sparse.relevances.size() * num_features, 0);
  size_t place = 0;
  for (size_t row = 0; row < sparse.row_ends.size(); ++row) {
    for (; place < sparse.row_ends[row]; ++place) {
      const Feature& feature = sparse.features[place];
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
  size_t number = 0;
  uint64_t num_rows = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const absl::string_view bytes = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    const size_t first = bytes.find_first_not_of(" \t\r");
    if (first == absl::string_view::npos || bytes[first] == '#') continue;
    RETURN_IF_ERROR(LineParser(bytes, number).Parse(&line));
    const auto [place, added] =
        index.try_emplace(std::string(line.query), queries.size());
    if (added) queries.emplace_back(std::string(line.query), SparseQuery());
    SparseQuery& query = queries[place->second].second;
    query.relevances.push_back(line.relevance);
    query.features.insert(query.features.end(), line.features.begin(),
                          line.features.end());
    query.row_ends.push_back(query.features.size());
    ++num_rows;
    if (!line.features.empty()) {
      result.num_features =
          std::max(result.num_features, line.features.back().number);
    }
  }
  if (queries.empty()) return absl::InvalidArgumentError("there is no query");
  if (result.num_features == 0) {
    return absl::InvalidArgumentError("no line has a feature");
  }
  if (num_rows * result.num_features > kMaxDenseValues) {
    return absl::InvalidArgumentError(absl::StrCat(
        num_rows, " candidates with ", result.num_features,
        " features each are more than ", kMaxDenseValues, " dense values"));
  }
  result.queries.reserve(queries.size());
  for (auto& [id, query] : queries) {
    result.queries.push_back(
        Densify(std::move(id), query, result.num_features));
    query = {};
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
