#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/features/schema/utf8.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/line_reader.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Returns the one TEXT column of the scope.
absl::StatusOr<size_t> TextColumn(const Schema& schema,
                                  ColumnSchema::Scope scope) {
  std::optional<size_t> found;
  int count = 0;
  for (size_t i = 0; i < schema.size(); ++i) {
    if (schema.column(i).type() != ColumnSchema::TEXT ||
        schema.column(i).scope() != scope) {
      continue;
    }
    found = i;
    ++count;
  }
  if (count == 1) return *found;
  return absl::InvalidArgumentError(
      absl::StrCat("schema has ", count, " TEXT columns of scope ",
                   ColumnSchema::Scope_Name(scope),
                   ", must have 1 for tab-separated questions"));
}

class TsvReader : public LineReader {
 public:
  struct Columns {
    size_t question;
    size_t sentence;
  };

  TsvReader(const std::string& path, std::unique_ptr<InputLines> lines,
            const Schema& schema, Columns columns, bool may_lack_labels)
      : LineReader(path, std::move(lines), schema),
        columns_(columns),
        may_lack_labels_(may_lack_labels) {}

 private:
  absl::Status Add(const InputLine& line) override {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line.text(), '\t');
    const bool has_label = fields.size() == 3;
    if (!has_label && !(may_lack_labels_ && fields.size() == 2)) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", fields.size(), " fields, must have ",
                       may_lack_labels_ ? "2 or 3: question, sentence and, "
                                          "where it is known, label"
                                        : "3: question, sentence, label"));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (FindNotUtf8(fields[i]) == absl::string_view::npos) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("column ", i + 1, ": must be UTF-8"));
    }
    uint32_t relevance = 0;
    if (has_label) {
      const auto parsed = ParseRelevance(fields[2]);
      if (!parsed.ok()) {
        return absl::InvalidArgumentError(
            absl::StrCat("column 3: ", parsed.status().message()));
      }
      relevance = *parsed;
    }
    if (!builder_.holds(fields[0])) {
      RETURN_IF_ERROR(FinishQuery());
      builder_.Start(std::string(fields[0]), line.number);
      builder_.SetText(columns_.question, fields[0]);
    }
    builder_.SetText(columns_.sentence, fields[1]);
    if (has_label) {
      builder_.AddCandidate(relevance);
    } else {
      builder_.AddUnlabelledCandidate();
    }
    return absl::OkStatus();
  }

  const Columns columns_;
  const bool may_lack_labels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenQuestionTsv(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  TsvReader::Columns columns = {};
  ASSIGN_OR_RETURN(columns.question, TextColumn(schema, ColumnSchema::QUERY));
  ASSIGN_OR_RETURN(columns.sentence,
                   TextColumn(schema, ColumnSchema::CANDIDATE));
  ASSIGN_OR_RETURN(auto lines, InputLines::Open(path, false));
  return std::make_unique<TsvReader>(path, std::move(lines), schema, columns,
                                     names.may_lack_labels);
}

absl::StatusOr<std::vector<LabelledColumns>> ReadQuestionTsv(
    const std::string& path, const Schema& schema) {
  return ReadAll(OpenQuestionTsv(path, schema));
}

}  // namespace sortition
