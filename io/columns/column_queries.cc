#include "io/columns/column_queries.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/labelled_columns.h"

namespace sortition {
namespace {

absl::StatusOr<std::vector<LabelledColumns>> ReadByName(const std::string& path,
                                                        const Schema& schema) {
  if (absl::EndsWith(path, ".tsv")) return ReadQuestionTsv(path, schema);
  if (absl::EndsWith(path, ".csv")) return ReadColumnsCsv(path, schema);
  if (absl::EndsWith(path, ".jsonl")) return ReadColumnsJson(path, schema);
  return absl::InvalidArgumentError(absl::StrCat(
      "file '", path,
      "' must end in .tsv, .csv or .jsonl: features are made of columns"));
}

}  // namespace

bool IsColumnFile(absl::string_view path) {
  return absl::EndsWith(path, ".tsv") || absl::EndsWith(path, ".csv") ||
         absl::EndsWith(path, ".jsonl");
}

absl::StatusOr<LabelledQueries> ReadColumnQueries(const std::string& path,
                                                  const Schema& schema) {
  ASSIGN_OR_RETURN(std::vector<LabelledColumns> read, ReadByName(path, schema));
  LabelledQueries result;
  uint32_t row = 0;
  for (LabelledColumns& from : read) {
    LabelledQuery& query = result.queries.emplace_back();
    query.id = std::move(from.id);
    query.relevances = std::move(from.relevances);
    for (size_t i = 0; i < query.relevances.size(); ++i) {
      query.file_rows.push_back(row++);
    }
    query.columns =
        std::make_shared<const v1::Columns>(std::move(from.columns));
  }
  return result;
}

}  // namespace sortition
