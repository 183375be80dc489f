#include "io/datasets/letor.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr uint32_t kMaxRelevance = 31;
// Limits dense rows to 4 GiB, so that one large feature number cannot exhaust
// the memory.
constexpr uint64_t kMaxDenseValues = uint64_t{1} << 30;

// Parses the label of a line: its first token.
absl::StatusOr<uint32_t> ParseLabel(SvmlightLine* line) {
  double label = 0;
  RETURN_IF_ERROR(line->ParseNumber(line->NextToken(), "label", &label));
  if (label >= 0 && label <= kMaxRelevance && label == std::floor(label)) {
    return static_cast<uint32_t>(label);
  }
  return line->Error(absl::StrCat(
      "label is ", label, ", must be an integer in [0, ", kMaxRelevance, "]"));
}

// Returns the query that a token names; empty if it names none.
absl::string_view QueryOf(absl::string_view token) {
  return absl::ConsumePrefix(&token, "qid:") ? token : absl::string_view();
}

struct SparseQuery {
  std::vector<uint32_t> relevances;
  std::vector<uint32_t> file_rows;
  std::vector<size_t> row_ends;  // Indexes into `features`.
  std::vector<SvmlightFeature> features;
};

// Collects the lines of a file by query.
class LetorReader {
 public:
  LetorReader(const SvmlightOptions& options, const QueryGroups* groups)
      : options_(options), groups_(groups) {}

  absl::Status Add(absl::string_view bytes, size_t number) {
    SvmlightLine line(bytes, number, options_);
    ASSIGN_OR_RETURN(const uint32_t relevance, ParseLabel(&line));
    ASSIGN_OR_RETURN(SparseQuery * query, FindQuery(&line));
    RETURN_IF_ERROR(line.ParseFeatures(&features_, &result_.extreme_values));
    query->relevances.push_back(relevance);
    query->features.insert(query->features.end(), features_.begin(),
                           features_.end());
    query->row_ends.push_back(query->features.size());
    query->file_rows.push_back(static_cast<uint32_t>(num_rows_++));
    if (!features_.empty()) {
      result_.num_features =
          std::max(result_.num_features, features_.back().column + 1);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<LabelledQueries> Finish() {
    if (queries_.empty()) {
      return absl::InvalidArgumentError("there is no query");
    }
    if (result_.num_features == 0) {
      return absl::InvalidArgumentError("no line has a feature");
    }
    if (groups_ != nullptr && num_rows_ != groups_->num_lines) {
      return WrongLines("has");
    }
    if (num_rows_ * result_.num_features > kMaxDenseValues) {
      return absl::InvalidArgumentError(
          absl::StrCat(num_rows_, " candidates with ", result_.num_features,
                       " features each exceed the limit of ", kMaxDenseValues,
                       " dense values"));
    }
    result_.queries.reserve(queries_.size());
    for (auto& [id, query] : queries_) {
      result_.queries.push_back(Densify(std::move(id), std::move(query)));
    }
    if (groups_ != nullptr) result_.groups = groups_->path;
    return std::move(result_);
  }

 private:
  // Returns the query of a line, whose label was parsed.
  absl::StatusOr<SparseQuery*> FindQuery(SvmlightLine* line) {
    const absl::string_view token = line->NextToken();
    const absl::string_view query = QueryOf(token);
    if (groups_ != nullptr) {
      if (!query.empty()) {
        return line->Error(absl::StrCat(
            "the line names its query, ", token, ", but the group file ",
            groups_->path, " assigns lines to queries: remove one of the two"));
      }
      line->Unread();
      return QueryOfGroup();
    }
    if (query.empty()) {
      return line->Error(
          "the second field must be qid:<query>, or a group file must assign "
          "the "
          "lines to queries: FILE.query or FILE.group beside the file, or "
          "groups");
    }
    const auto [place, added] =
        index_.try_emplace(std::string(query), queries_.size());
    if (added) queries_.emplace_back(std::string(query), SparseQuery());
    return &queries_[place->second].second;
  }

  absl::StatusOr<SparseQuery*> QueryOfGroup() {
    if (num_rows_ == group_end_) {
      if (queries_.size() == groups_->sizes.size()) {
        return WrongLines("has more than");
      }
      group_end_ += groups_->sizes[queries_.size()];
      queries_.emplace_back(absl::StrCat(queries_.size() + 1), SparseQuery());
    }
    return &queries_.back().second;
  }

  absl::Status WrongLines(absl::string_view has) const {
    return absl::InvalidArgumentError(
        absl::StrCat(has, " ", num_rows_, " lines with labels, must have ",
                     groups_->num_lines, ", the sum of the ",
                     groups_->sizes.size(), " queries of ", groups_->path));
  }

  LabelledQuery Densify(std::string id, SparseQuery sparse) {
    const uint32_t d = result_.num_features;
    const size_t n = sparse.relevances.size();
    LabelledQuery query;
    query.id = std::move(id);
    query.relevances = std::move(sparse.relevances);
    query.file_rows = std::move(sparse.file_rows);
    query.features.assign(n * d, 0);
    auto stated = std::make_shared<StatedFeatures>();
    stated->width = d;
    stated->bits.assign(n * d, false);
    uint64_t num_stated = 0;
    size_t place = 0;
    for (size_t row = 0; row < n; ++row) {
      for (; place < sparse.row_ends[row]; ++place) {
        const SvmlightFeature& feature = sparse.features[place];
        if (std::isnan(feature.value)) continue;
        query.features[row * d + feature.column] = feature.value;
        stated->bits[row * d + feature.column] = true;
        ++num_stated;
      }
    }
    if (num_stated == n * d) stated->bits.clear();
    result_.absent_values += n * d - num_stated;
    query.stated = std::move(stated);
    return query;
  }

  const SvmlightOptions options_;
  const QueryGroups* const groups_;
  LabelledQueries result_;
  std::vector<std::pair<std::string, SparseQuery>> queries_;
  absl::flat_hash_map<std::string, size_t> index_;
  std::vector<SvmlightFeature> features_;  // Of the last line.
  uint64_t num_rows_ = 0;
  uint64_t group_end_ = 0;  // Row at which the last group ends.
};

// Returns true if the first line has no qid.
bool LacksQueries(absl::string_view text) {
  bool lacks = false;
  const auto look = [&](absl::string_view bytes, size_t number) {
    SvmlightLine line(bytes, number);
    line.NextToken();
    lacks = QueryOf(line.NextToken()).empty();
    return absl::CancelledError();
  };
  ForEachSvmlightLine(text, look).IgnoreError();
  return lacks;
}

absl::StatusOr<LabelledQueries> ReadText(const std::string& path,
                                         absl::string_view text,
                                         const LetorOptions& options) {
  std::string groups_path = options.groups;
  if (groups_path.empty() && LacksQueries(text)) {
    ASSIGN_OR_RETURN(groups_path, FindQueryGroups(path));
  }
  if (groups_path.empty()) return ParseLetor(text, options.lines);
  ASSIGN_OR_RETURN(const QueryGroups groups, ReadQueryGroups(groups_path));
  return ParseLetor(text, options.lines, &groups);
}

}  // namespace

absl::StatusOr<LabelledQueries> ParseLetor(absl::string_view text,
                                           const SvmlightOptions& options,
                                           const QueryGroups* groups) {
  LetorReader reader(options, groups);
  RETURN_IF_ERROR(
      ForEachSvmlightLine(text, [&](absl::string_view bytes, size_t number) {
        return reader.Add(bytes, number);
      }));
  return reader.Finish();
}

absl::StatusOr<LabelledQueries> ReadLetor(const std::string& path,
                                          const LetorOptions& options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto queries = ReadText(path, text, options);
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
