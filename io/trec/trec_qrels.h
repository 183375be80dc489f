#pragma once
// TREC relevance judgements (qrels).
//   <qid> 0 <docno> <relevance>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"

namespace sortition {

struct TrecJudgedQuery {
  std::string id;
  absl::flat_hash_map<std::string, uint32_t> relevances;  // By docno.
};

struct TrecQrels {
  static constexpr uint32_t kMaxRelevance = 31;

  std::vector<TrecJudgedQuery> queries;  // In the order of their first lines.
  // Number of judgements below 0, which count as 0. They mark spam, or
  // documents that were not judged after all.
  uint64_t negative_judgements = 0;
};

// Reads qrels. InvalidArgument for a line without its four fields, a relevance
// that is not an integer up to kMaxRelevance, a document that is judged twice
// for a query, and a file without a line.
absl::StatusOr<TrecQrels> ReadTrecQrels(const std::string& path);

}  // namespace sortition
