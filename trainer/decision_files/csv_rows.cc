// Rows of CSV, with a first line that names the columns.
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/text/csv_record.h"
#include "io/text/parse_number.h"
#include "trainer/decision_files/row_formats.h"

namespace sortition::internal {
namespace {

class CsvRows : public DecisionRows {
 public:
  CsvRows(std::string path, std::unique_ptr<InputLines> lines)
      : DecisionRows(std::move(path)), lines_(std::move(lines)) {}

  absl::Status ReadHeader() {
    ASSIGN_OR_RETURN(const bool has_line, ReadFields());
    if (!has_line) return Wrong("column 'decision_id' is missing");
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (!columns_.emplace(std::string(fields_[i]), i).second) {
        return Wrong(
            absl::StrCat("column '", Shown(fields_[i]), "' is there twice"));
      }
    }
    const auto found = columns_.find("decision_id");
    if (found == columns_.end()) {
      return Wrong("column 'decision_id' is missing");
    }
    id_ = found->second;
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next() override {
    ASSIGN_OR_RETURN(const bool has_line, ReadFields());
    if (!has_line) return false;
    RETURN_IF_ERROR(CheckNotEnded());
    if (fields_.size() != columns_.size()) {
      return Wrong(absl::StrCat("the line has ", fields_.size(),
                                " fields, must have ", columns_.size(),
                                ", as the header"));
    }
    decision_id_ = fields_[id_];
    if (decision_id_.empty()) return Wrong("decision_id is empty");
    return true;
  }

  absl::StatusOr<std::optional<double>> Number(
      absl::string_view name) const override {
    const auto found = columns_.find(name);
    if (found == columns_.end() || fields_[found->second].empty()) {
      return std::nullopt;
    }
    double number = 0;
    if (!ParseNumber(fields_[found->second], &number) ||
        !std::isfinite(number)) {
      return Wrong(absl::StrCat(name, " is '", Shown(fields_[found->second]),
                                "', must be a finite number"));
    }
    return number;
  }

  absl::StatusOr<bool> Numbers(absl::string_view, absl::string_view prefix,
                               std::vector<double>* numbers) const override {
    numbers->clear();
    bool ended = false;
    while (true) {
      const std::string name = absl::StrCat(prefix, numbers->size());
      if (!columns_.contains(name)) break;
      ASSIGN_OR_RETURN(const auto number, Number(name));
      if (!number.has_value()) {
        ended = true;
        break;
      }
      numbers->push_back(*number);
    }
    if (ended) RETURN_IF_ERROR(CheckEmpty(prefix, numbers->size()));
    return !numbers->empty();
  }

 private:
  // The columns from `number` on must be empty.
  absl::Status CheckEmpty(absl::string_view prefix, size_t number) const {
    for (size_t i = number + 1;; ++i) {
      const auto found = columns_.find(absl::StrCat(prefix, i));
      if (found == columns_.end()) return absl::OkStatus();
      if (!fields_[found->second].empty()) {
        return Wrong(absl::StrCat(prefix, number, " is empty, but ", prefix, i,
                                  " is '", Shown(fields_[found->second]), "'"));
      }
    }
  }

  // Returns true, and stores the declared time, if the line is a declaration
  // rather than a row.
  bool TakeDeclaration(absl::string_view line) {
    if (!absl::ConsumePrefix(&line, "#")) return false;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, "through=")) return false;
    through_ = std::string(absl::StripAsciiWhitespace(line));
    return true;
  }

  absl::StatusOr<bool> ReadFields() {
    InputLine line;
    do {
      ASSIGN_OR_RETURN(const bool has_line, lines_->Next(&line));
      if (!has_line) return false;
      line_ = line.number;
    } while (line.size == 0 || TakeDeclaration(line.text()));
    const absl::Status status = SplitCsvRecord(line, &fields_);
    if (!status.ok()) return Wrong(status.message());
    return true;
  }

  const std::unique_ptr<InputLines> lines_;
  absl::flat_hash_map<std::string, size_t> columns_;
  size_t id_ = 0;
  std::vector<absl::string_view> fields_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionRows>> MakeCsvRows(
    std::string path, std::unique_ptr<InputLines> lines) {
  auto rows = std::make_unique<CsvRows>(std::move(path), std::move(lines));
  RETURN_IF_ERROR(rows->ReadHeader());
  return rows;
}

}  // namespace sortition::internal
