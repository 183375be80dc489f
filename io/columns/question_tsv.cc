#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/features/schema/utf8.h"
#include "io/columns/labelled_columns.h"
#include "io/columns/query_builder.h"
#include "io/text/input_lines.h"

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

// Reads the lines of one file.
class TsvReader {
 public:
  TsvReader(const Schema& schema, size_t question, size_t sentence)
      : builder_(schema), question_(question), sentence_(sentence) {}

  absl::Status Add(const InputLine& line) {
    const std::vector<absl::string_view> fields =
        absl::StrSplit(line.text(), '\t');
    if (fields.size() != 3) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", fields.size(),
                       " fields, must have 3: question, sentence, label"));
    }
    for (size_t i = 0; i < fields.size(); ++i) {
      if (FindNotUtf8(fields[i]) == absl::string_view::npos) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("column ", i + 1, ": must be UTF-8"));
    }
    const auto relevance = ParseRelevance(fields[2]);
    if (!relevance.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column 3: ", relevance.status().message()));
    }
    if (!builder_.holds(fields[0])) {
      RETURN_IF_ERROR(Finish());
      builder_.Start(std::string(fields[0]), line.number);
      builder_.SetText(question_, fields[0]);
    }
    builder_.SetText(sentence_, fields[1]);
    builder_.AddCandidate(*relevance);
    return absl::OkStatus();
  }

  absl::Status Finish() { return builder_.Finish(&queries_); }

  std::vector<LabelledColumns> Take() { return std::move(queries_); }

 private:
  QueryBuilder builder_;
  const size_t question_;
  const size_t sentence_;
  std::vector<LabelledColumns> queries_;
};

}  // namespace

absl::StatusOr<std::vector<LabelledColumns>> ReadQuestionTsv(
    const std::string& path, const Schema& schema) {
  ASSIGN_OR_RETURN(const size_t question,
                   TextColumn(schema, ColumnSchema::QUERY));
  ASSIGN_OR_RETURN(const size_t sentence,
                   TextColumn(schema, ColumnSchema::CANDIDATE));
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, false));
  TsvReader reader(schema, question, sentence);
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
