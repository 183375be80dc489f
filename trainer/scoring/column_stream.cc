#include "trainer/scoring/column_stream.h"

#include <utility>

#include "absl/strings/match.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

class ColumnStream : public QueryStream {
 public:
  explicit ColumnStream(std::unique_ptr<LabelledColumnsReader> reader)
      : reader_(std::move(reader)) {}

  absl::StatusOr<bool> Next(StreamedQuery* query) override {
    LabelledColumns read;
    ASSIGN_OR_RETURN(const bool more, reader_->Next(&read));
    if (!more) return false;
    *query = {};
    query->id = std::move(read.id);
    query->line = read.line;
    query->named_columns =
        std::make_unique<sortition::v1::Columns>(std::move(read.columns));
    query->relevances = std::move(read.relevances);
    query->has_labels = read.has_labels;
    query->candidate_ids = std::move(read.candidate_ids);
    return true;
  }
  uint64_t bytes_read() const override { return reader_->bytes_read(); }

 private:
  const std::unique_ptr<LabelledColumnsReader> reader_;
};

absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> OpenReader(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  if (absl::EndsWith(path, ".tsv")) return OpenQuestionTsv(path, schema, names);
  if (absl::EndsWith(path, ".csv")) return OpenColumnsCsv(path, schema, names);
  return OpenColumnsJson(path, schema, names);
}

}  // namespace

absl::StatusOr<std::unique_ptr<QueryStream>> OpenColumnStream(
    const std::string& path, const Schema& schema, const LabelledNames& names) {
  ASSIGN_OR_RETURN(auto reader, OpenReader(path, schema, names));
  return std::make_unique<ColumnStream>(std::move(reader));
}

}  // namespace sortition
