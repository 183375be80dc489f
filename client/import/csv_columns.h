#pragma once
// Which column of a CSV file is what.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/features/schema/schema.h"
#include "sortition/config/v1/log_files.pb.h"

namespace sortition {

// Places in a record; -1: there is no such column.
struct CsvColumns {
  int id = -1;
  int time = -1;
  int unit = -1;
  int model = -1;
  int version = -1;
  int kind = -1;
  int index = -1;  // The candidate's place among those of its decision.
  int candidate = -1;
  int eligible = -1;
  int action = -1;
  int p = -1;
  int logp = -1;
  int conditional = -1;
  int reward = -1;
  int rank_reward = -1;
  int feedback = -1;
  int shown = -1;
  int rank_shown = -1;
  int seen = -1;
  int abstain = -1;
  int keep = -1;
  int censored = -1;
  int sparse = -1;
  int num_features = -1;
  int attributes = -1;  // All of them, as a JSON object.
  // Those with a column of their own: name and place.
  std::vector<std::pair<std::string, int>> named_attributes;
  std::vector<int> features;
  std::vector<int> named;   // By the schema's columns.
  int missing = -1;         // Names of columns without a value in the line.
  int absent = -1;          // Names of columns that the decision does not have.
  std::vector<int> shared;  // These are the same in all lines of a decision.
  size_t width = 0;         // Columns of the file.

  // Returns true if the column at this place of a record is read.
  bool IsUsed(int place) const;
};

// Where a field is looked for: a mapping from --columns or its own name.
class CsvMapping {
 public:
  // InvalidArgument naming the field that --columns does not know. With a
  // schema, which must outlive the mapping, the file has its columns in place
  // of features.
  static absl::StatusOr<CsvMapping> Create(
      const config::v1::LogImportOptions& options,
      const Schema* schema = nullptr);

  // Finds the columns in the header of a file. InvalidArgument if one that is
  // named or needed is missing.
  absl::StatusOr<CsvColumns> Resolve(
      const std::vector<absl::string_view>& header) const;

 private:
  struct Entry {
    std::string field;
    std::string column;
  };
  std::string ColumnOf(absl::string_view field,
                       absl::string_view standard) const;
  bool IsMapped(absl::string_view field) const;
  absl::Status FindAttributes(const std::vector<absl::string_view>& header,
                              CsvColumns* columns) const;
  absl::Status FindFeatures(const std::vector<absl::string_view>& header,
                            CsvColumns* columns) const;
  absl::Status FindMappedFeatures(const std::vector<absl::string_view>& header,
                                  CsvColumns* columns) const;
  absl::Status FindExportedFeatures(
      const std::vector<absl::string_view>& header, CsvColumns* columns) const;
  absl::Status FindNamed(const std::vector<absl::string_view>& header,
                         CsvColumns* columns) const;

  bool by_decision_ = false;
  const Schema* schema_ = nullptr;
  std::vector<Entry> entries_;
};

}  // namespace sortition
