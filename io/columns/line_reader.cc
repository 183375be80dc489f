#include "io/columns/line_reader.h"

#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<bool> LineReader::Next(LabelledColumns* query) {
  while (finished_.empty()) {
    if (at_end_) return false;
    InputLine line;
    ASSIGN_OR_RETURN(const bool more, lines_->Next(&line));
    if (more) {
      line_number_ = line.number;
      RETURN_IF_ERROR(AtLine(Add(line), path_, line_number_));
    } else {
      at_end_ = true;
      RETURN_IF_ERROR(AtLine(FinishQuery(), path_, line_number_));
    }
  }
  *query = std::move(finished_.back());
  finished_.clear();
  return true;
}

absl::StatusOr<std::vector<LabelledColumns>> ReadAll(
    absl::StatusOr<std::unique_ptr<LabelledColumnsReader>> reader) {
  RETURN_IF_ERROR(reader.status());
  std::vector<LabelledColumns> queries;
  while (true) {
    LabelledColumns query;
    ASSIGN_OR_RETURN(const bool more, (*reader)->Next(&query));
    if (!more) return queries;
    queries.push_back(std::move(query));
  }
}

}  // namespace sortition
