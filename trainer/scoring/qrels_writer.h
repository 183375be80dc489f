#pragma once
// Writes the labels of queries as TREC qrels: "<qid> 0 <docno> <relevance>".
#include <fstream>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/scoring/query_stream.h"

namespace sortition {

class QrelsWriter {
 public:
  // Replaces the file. An error names it.
  static absl::StatusOr<std::unique_ptr<QrelsWriter>> Create(
      const std::string& path);

  // InvalidArgument if the query has no labels, and as TrecIdsOf().
  absl::Status Add(const StreamedQuery& query);
  // Flushes the file. An error means that it is not whole.
  absl::Status Close();

 private:
  explicit QrelsWriter(const std::string& path);

  const std::string path_;
  std::ofstream file_;
};

}  // namespace sortition
