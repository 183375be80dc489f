#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/csv_cell.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/line_reader.h"
#include "io/text/csv_record.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;
using Fields = std::vector<absl::string_view>;

class CsvReader : public LineReader {
 public:
  CsvReader(const std::string& path, std::unique_ptr<InputLines> lines,
            const Schema& schema, const LabelledNames& names)
      : LineReader(path, std::move(lines), schema), names_(names) {}

 private:
  absl::Status Add(const InputLine& line) override {
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
      RETURN_IF_ERROR(FinishQuery());
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
    if (id_.has_value()) builder_.SetCandidateId(fields_[*id_]);
    return AddCandidate();
  }

  absl::Status AddCandidate() {
    if (!label_.has_value()) {
      builder_.AddUnlabelledCandidate();
      return absl::OkStatus();
    }
    const auto relevance = ParseRelevance(fields_[*label_]);
    if (!relevance.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column '", header_[*label_], "': ", relevance.status().message()));
    }
    builder_.AddCandidate(*relevance);
    return absl::OkStatus();
  }

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
    const std::optional<size_t> query = FindField(names_.query);
    if (!query.has_value()) return NoColumnError(names_.query);
    query_ = *query;
    label_ = FindField(names_.label);
    if (!label_.has_value() && !names_.may_lack_labels) {
      return NoColumnError(names_.label);
    }
    if (names_.id.empty()) return absl::OkStatus();
    id_ = FindField(names_.id);
    if (id_.has_value() || names_.may_lack_ids) return absl::OkStatus();
    return NoColumnError(names_.id);
  }

  std::optional<size_t> FindField(const std::string& name) const {
    for (size_t i = 0; i < header_.size(); ++i) {
      if (header_[i] == name) return i;
    }
    return std::nullopt;
  }

  static absl::Status NoColumnError(const std::string& name) {
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

  const LabelledNames names_;
  Fields fields_;
  std::vector<std::string> header_;
  std::vector<std::pair<size_t, size_t>> places_;  // Field, column.
  size_t query_ = 0;                               // Field.
  std::optional<size_t> label_;                    // Field.
  std::optional<size_t> id_;                       // Field.
  std::vector<std::string> first_;  // Fields of the query's first line.
};

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenColumnsCsv(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  ASSIGN_OR_RETURN(auto lines, InputLines::Open(path, true));
  return std::make_unique<CsvReader>(path, std::move(lines), schema, names);
}

absl::StatusOr<std::vector<LabelledColumns>> ReadColumnsCsv(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  return ReadAll(OpenColumnsCsv(path, schema, names));
}

}  // namespace sortition
