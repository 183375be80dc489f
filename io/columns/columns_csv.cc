#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/csv_cell.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/query_builder.h"
#include "io/text/csv_record.h"
#include "io/text/input_lines.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using Fields = std::vector<absl::string_view>;

class CsvReader {
 public:
  CsvReader(const Schema& schema, const LabelledNames& names)
      : schema_(schema), names_(names), builder_(schema) {}

  absl::Status Add(const InputLine& line) {
    RETURN_IF_ERROR(SplitCsvRecord(line, &fields_));
    if (header_.empty()) return TakeHeader();
    if (fields_.size() != header_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", fields_.size(), " fields, must have ",
                       header_.size(), ", as the header"));
    }
    const std::string id(fields_[query_]);
    const bool is_new = !builder_.holds(id);
    if (is_new) {
      RETURN_IF_ERROR(Finish());
      builder_.Start(id, line.number);
      first_.clear();
      for (const absl::string_view field : fields_) first_.emplace_back(field);
    }
    for (const auto& [field, column] : places_) {
      const bool is_query =
          schema_.column(column).scope() == ColumnSchema::QUERY;
      if (is_query && !is_new) {
        RETURN_IF_ERROR(CheckSame(field));
      } else {
        RETURN_IF_ERROR(SetCsvCell(schema_, column, fields_[field], &builder_));
      }
    }
    const auto relevance = ParseRelevance(fields_[label_]);
    if (!relevance.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", header_[label_], "': ", relevance.status().message()));
    }
    builder_.AddCandidate(*relevance);
    return absl::OkStatus();
  }

  absl::Status Finish() { return builder_.Finish(&queries_); }

  std::vector<LabelledColumns> Take() { return std::move(queries_); }

 private:
  absl::Status TakeHeader() {
    for (size_t i = 0; i < fields_.size(); ++i) {
      header_.emplace_back(fields_[i]);
      for (size_t j = 0; j < i; ++j) {
        if (fields_[i] != fields_[j]) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("the header has column '", fields_[i],
                         "' twice, must have it "
                         "once"));
      }
      const auto column = schema_.Find(fields_[i]);
      if (column.has_value()) places_.emplace_back(i, *column);
    }
    RETURN_IF_ERROR(FindField(names_.query, &query_));
    return FindField(names_.label, &label_);
  }

  absl::Status FindField(const std::string& name, size_t* field) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (header_[i] != name) continue;
      *field = i;
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("the header has no column '", name, "'"));
  }

  absl::Status CheckSame(size_t field) const {
    if (first_[field] == fields_[field]) return absl::OkStatus();
    return Wrong(field, absl::StrCat("'", Shown(first_[field]),
                                     "', as in the first line of the query"));
  }

  absl::Status Wrong(size_t field, absl::string_view permitted) const {
    return absl::InvalidArgumentError(
        absl::StrCat("column '", header_[field], "' is '",
                     Shown(fields_[field]), "', must be ", permitted));
  }

  const Schema& schema_;
  const LabelledNames names_;
  QueryBuilder builder_;
  Fields fields_;
  std::vector<std::string> header_;
  std::vector<std::pair<size_t, size_t>> places_;  // Field, column.
  size_t query_ = 0;
  size_t label_ = 0;
  std::vector<std::string> first_;  // Fields of the query's first line.
  std::vector<LabelledColumns> queries_;
};

}  // namespace

absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsCsv(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, true));
  CsvReader reader(schema, names);
  InputLine line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) break;
    RETURN_IF_ERROR(AtLine(reader.Add(line), path, line.number));
  }
  RETURN_IF_ERROR(AtLine(reader.Finish(), path, line.number));
  return reader.Take();
}

}  // namespace sortition
