#include "io/columns/label_rows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/query_builder.h"
#include "io/text/csv_record.h"
#include "io/text/input_lines.h"
#include "io/text/json_line.h"

namespace sortition {
namespace {

// The queries so far. Neighbouring lines with the same id are one query.
class Queries {
 public:
  void Add(absl::string_view id, uint32_t relevance, bool is_new = false) {
    std::vector<LabelledQuery>& queries = result_.queries;
    if (is_new || queries.empty() || queries.back().id != id) {
      queries.emplace_back().id = std::string(id);
    }
    queries.back().relevances.push_back(relevance);
    queries.back().file_rows.push_back(row_++);
  }
  LabelledQueries Take() { return std::move(result_); }

 private:
  LabelledQueries result_;
  uint32_t row_ = 0;
};

// Adds a line of tab-separated question, sentence and label.
absl::Status AddTsv(const InputLine& line, Queries* queries) {
  const std::vector<absl::string_view> fields =
      absl::StrSplit(line.text(), '\t');
  if (fields.size() != 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", fields.size(),
                     " fields, must have 3: question, sentence, label"));
  }
  ASSIGN_OR_RETURN(const uint32_t relevance, ParseRelevance(fields[2]));
  queries->Add(fields[0], relevance);
  return absl::OkStatus();
}

class CsvLabels {
 public:
  absl::Status Add(const InputLine& line, Queries* queries) {
    RETURN_IF_ERROR(SplitCsvRecord(line, &fields_));
    if (num_fields_ == 0) return TakeHeader();
    if (fields_.size() != num_fields_) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", fields_.size(), " fields, must have ",
                       num_fields_, ", as the header"));
    }
    ASSIGN_OR_RETURN(const uint32_t relevance, ParseRelevance(fields_[label_]));
    queries->Add(fields_[query_], relevance);
    return absl::OkStatus();
  }

 private:
  absl::Status TakeHeader() {
    num_fields_ = fields_.size();
    const LabelledNames names;
    RETURN_IF_ERROR(FindField(names.query, &query_));
    return FindField(names.label, &label_);
  }

  absl::Status FindField(const std::string& name, size_t* field) const {
    const auto found = std::find(fields_.begin(), fields_.end(), name);
    if (found == fields_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the header has no column '", name, "'"));
    }
    *field = static_cast<size_t>(found - fields_.begin());
    return absl::OkStatus();
  }

  std::vector<absl::string_view> fields_;
  size_t num_fields_ = 0;  // Of the header; 0: it was not read yet.
  size_t query_ = 0;
  size_t label_ = 0;
};

class JsonLabels {
 public:
  absl::Status Add(const InputLine& line, Queries* queries) {
    if (line.size == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const JsonValue* const object, json_.Parse(line));
    std::string id;
    if (const JsonValue* const value = FindMember(*object, "id")) {
      ASSIGN_OR_RETURN(const absl::string_view text, Text(*value, "id"));
      id = std::string(text);
    }
    const JsonValue* const candidates = FindMember(*object, "candidates");
    if (candidates == nullptr || !candidates->IsArray()) {
      return absl::InvalidArgumentError(
          "candidates must be there, an array of objects");
    }
    bool is_new = true;
    size_t place = 0;
    for (const JsonValue& candidate : candidates->GetArray()) {
      const auto relevance = RelevanceOf(candidate);
      if (!relevance.ok()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "candidates[", place, "]: ", relevance.status().message()));
      }
      queries->Add(id, *relevance, std::exchange(is_new, false));
      ++place;
    }
    return absl::OkStatus();
  }

 private:
  // Returns 0 where there is no label.
  static absl::StatusOr<uint32_t> RelevanceOf(const JsonValue& candidate) {
    if (!candidate.IsObject()) {
      return absl::InvalidArgumentError(
          absl::StrCat("is ", Describe(candidate), ", must be an object"));
    }
    const LabelledNames names;
    const JsonValue* const label = FindMember(candidate, names.label.c_str());
    if (label == nullptr) return 0;
    return ParseRelevance(IsNumber(*label) ? TextOf(*label) : Describe(*label));
  }

  JsonLine json_;
};

template <typename AddLine>
absl::StatusOr<LabelledQueries> ReadLines(const std::string& path, bool quoted,
                                          AddLine add) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, quoted));
  Queries queries;
  InputLine line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) return queries.Take();
    RETURN_IF_ERROR(AtLine(add(line, &queries), path, line.number));
  }
}

}  // namespace

absl::StatusOr<LabelledQueries> ReadLabelRows(const std::string& path) {
  if (absl::EndsWith(path, ".tsv")) return ReadLines(path, false, AddTsv);
  if (absl::EndsWith(path, ".csv")) {
    CsvLabels csv;
    return ReadLines(path, true, [&](const InputLine& line, Queries* queries) {
      return csv.Add(line, queries);
    });
  }
  JsonLabels json;
  return ReadLines(path, false, [&](const InputLine& line, Queries* queries) {
    return json.Add(line, queries);
  });
}

}  // namespace sortition
