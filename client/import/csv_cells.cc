#include "client/import/csv_cells.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/import/imported_tuple.h"
#include "core/base/status_macros.h"

namespace sortition {

void CsvCells::Clear() {
  header_.clear();
  columns_ = {};
}

absl::Status CsvCells::TakeHeader(const CsvMapping& mapping) {
  for (const absl::string_view name : fields_) header_.emplace_back(name);
  ASSIGN_OR_RETURN(columns_, mapping.Resolve(fields_));
  return AlignFeatures();
}

absl::Status CsvCells::AlignFeatures() {
  std::vector<std::string> names;
  for (const int column : columns_.features) {
    names.push_back(header_[static_cast<size_t>(column)]);
  }
  if (!has_features_) {
    features_ = std::move(names);
    has_features_ = true;
    return absl::OkStatus();
  }
  std::vector<int> aligned;
  for (const std::string& name : features_) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) break;
    aligned.push_back(
        columns_.features[static_cast<size_t>(found - names.begin())]);
  }
  if (aligned.size() != features_.size() || names.size() != features_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the columns of features are ", Shown(absl::StrJoin(names, ", ")),
        ", must be those of the first file: ",
        Shown(absl::StrJoin(features_, ", "))));
  }
  columns_.features = std::move(aligned);
  return absl::OkStatus();
}

absl::Status CsvCells::Wrong(int column, absl::string_view permitted) const {
  return absl::InvalidArgumentError(
      absl::StrCat("column '", header_[static_cast<size_t>(column)], "' is '",
                   Shown(Cell(column)), "', must be ", permitted));
}

absl::Status CsvCells::ReadFlag(int column, bool* value) const {
  if (column < 0 || Cell(column).empty()) return absl::OkStatus();
  const absl::string_view text = Cell(column);
  *value = text == "1" || absl::EqualsIgnoreCase(text, "true");
  if (*value || text == "0" || absl::EqualsIgnoreCase(text, "false")) {
    return absl::OkStatus();
  }
  return Wrong(column, "0 or 1");
}

absl::Status CsvCells::ReadRank(int column,
                                std::optional<uint32_t>* rank) const {
  const absl::string_view text = Cell(column);
  if (absl::EqualsIgnoreCase(text, "true")) {
    *rank = 1;
  } else if (absl::EqualsIgnoreCase(text, "false")) {
    *rank = 0;
  } else {
    return Read(column, "the candidate's rank from 1, or 0", rank);
  }
  return absl::OkStatus();
}

std::vector<std::string> CsvCells::UnusedColumns() const {
  std::vector<std::string> unused;
  for (size_t i = 0; i < header_.size(); ++i) {
    // It follows from rank_shown and seen_ranks, which are read.
    if (header_[i] == "rank_seen") continue;
    if (!columns_.IsUsed(static_cast<int>(i))) unused.push_back(header_[i]);
  }
  return unused;
}

absl::Status CsvCells::ReadAttributes(log::v1::Decision* decision) {
  const int all = columns_.attributes;
  if (all >= 0 && !Cell(all).empty()) {
    object_ = std::string(Cell(all));  // It is parsed in place.
    const auto parsed = json_.Parse({object_.data(), object_.size()});
    const absl::Status status =
        parsed.ok() ? sortition::ReadAttributes(
                          **parsed, header_[static_cast<size_t>(all)], decision)
                    : parsed.status();
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(Wrong(all, "a JSON object of strings").message(), ": ",
                       status.message()));
    }
  }
  for (const auto& [name, column] : columns_.named_attributes) {
    if (Cell(column).empty()) continue;
    (*decision->mutable_attributes())[name] = std::string(Cell(column));
  }
  return absl::OkStatus();
}

absl::Status CsvCells::CheckShared(bool is_first, uint64_t first_line) {
  const std::vector<int>& columns = columns_.shared;
  shared_.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const absl::string_view cell = Cell(columns[i]);
    if (is_first) {
      shared_[i].assign(cell.data(), cell.size());
    } else if (shared_[i] != cell) {
      return Wrong(columns[i],
                   absl::StrCat("'", Shown(shared_[i]), "', as in line ",
                                first_line, " of the same decision"));
    }
  }
  return absl::OkStatus();
}

absl::Status CsvCells::ReadDenseRow(log::v1::Decision* decision) const {
  decision->set_num_features(static_cast<uint32_t>(columns_.features.size()));
  auto* const values = decision->mutable_dense_values();
  values->Reserve(values->size() + static_cast<int>(columns_.features.size()));
  for (const int column : columns_.features) {
    float value = 0;
    if (!ParseNumber(Cell(column), &value) || !std::isfinite(value)) {
      return Wrong(column, "a finite number");
    }
    values->AddAlreadyReserved(value);
  }
  return absl::OkStatus();
}

absl::Status CsvCells::ReadSparseRow(bool is_first, uint32_t num_features,
                                     log::v1::Decision* decision) const {
  v1::SparseFeatures* const sparse = decision->mutable_sparse();
  if (is_first) {
    std::optional<uint32_t> d;
    RETURN_IF_ERROR(Read(columns_.num_features, "at least 1", &d));
    decision->set_num_features(d.value_or(num_features));
    if (decision->num_features() == 0) {
      return absl::InvalidArgumentError(
          "num_features is missing, must be a column or --num_features");
    }
    sparse->add_row_offsets(0);
  }
  for (const absl::string_view entry :
       absl::StrSplit(Cell(columns_.sparse), ' ', absl::SkipEmpty())) {
    const size_t colon = entry.find(':');
    uint32_t column = 0;
    float value = 0;
    if (colon == absl::string_view::npos ||
        !ParseNumber(entry.substr(0, colon), &column) ||
        !ParseNumber(entry.substr(colon + 1), &value)) {
      return Wrong(columns_.sparse, "a list of index:value");
    }
    sparse->add_columns(column);
    sparse->add_values(value);
  }
  sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
  return absl::OkStatus();
}

}  // namespace sortition
