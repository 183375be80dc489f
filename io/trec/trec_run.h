#pragma once
// A TREC run: the documents that a system retrieved for each query.
//   <qid> Q0 <docno> <rank> <score> <tag>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sortition {

struct TrecRunQuery {
  std::string id;
  std::vector<std::string> documents;  // In the order of the file.
  std::vector<double> scores;          // One for each document; finite.
};

struct TrecRun {
  std::vector<TrecRunQuery> queries;  // In the order of their first lines.
  // Number of lines with a larger rank and a larger score than the line before,
  // of the same query. Such ranks contradict the scores.
  uint64_t contradicting_ranks = 0;
};

// Reads a run. The lines of a query need not be adjacent. InvalidArgument for a
// line without its six fields, a score that is not a finite number, a document
// that a query has twice, and a file without a line.
absl::StatusOr<TrecRun> ReadTrecRun(const std::string& path);

}  // namespace sortition
