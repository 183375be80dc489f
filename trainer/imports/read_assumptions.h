#pragma once
// What was assumed of label files of other tools, for the report of `train`.
#include <cstdint>
#include <string>
#include <vector>

#include "core/data/labelled_queries.h"
#include "sortition/config/v1/label_files.pb.h"
#include "sortition/config/v1/train_report.pb.h"

namespace sortition {

// Collects the facts of all files of a run.
class ReadAssumptions {
 public:
  void Add(const std::string& path, const LabelledQueries& file);

  // Returns what there is to say: of files with features, not of named columns.
  std::vector<config::v1::LabelledReport::Assumption> Of(
      const config::v1::LabelFileOptions& options) const;

 private:
  uint64_t values_ = 0;
  uint64_t absent_values_ = 0;
  uint64_t extreme_values_ = 0;
  std::vector<std::string> groups_;  // "FILE by GROUPS".
};

}  // namespace sortition
