#pragma once
// What gives the candidates of labelled queries their scores: a model of the
// store, or a file.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"

namespace sortition {

class QueryScorer {
 public:
  virtual ~QueryScorer() = default;
  // By candidate, finite. InvalidArgument where it has none for them.
  virtual absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                                     uint32_t num_features) = 0;
  // After the queries of each file, of so many candidates.
  virtual void EndFile(size_t num_candidates) = 0;
  // After all files. InvalidArgument where scores are left over.
  virtual absl::Status End() = 0;
};

// One score a line, for each candidate of all files in their order.
// InvalidArgument names file and line of what is no finite number.
absl::StatusOr<std::unique_ptr<QueryScorer>> ReadScores(
    const std::string& path);

struct ModelScorer {
  uint64_t version = 0;
  std::unique_ptr<QueryScorer> scorer;
};

// `version` 0: the newest. NotFound where there is none; InvalidArgument for a
// bad name.
absl::StatusOr<ModelScorer> LoadModelScorer(const std::string& model_store,
                                            const std::string& model,
                                            uint64_t version);

}  // namespace sortition
