#pragma once
// Scores the candidates of labelled queries with a model in the store or from a
// file.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/labelled_queries.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

class QueryScorer {
 public:
  virtual ~QueryScorer() = default;
  // Of the columns that it scores by; null: it scores by features, or neither.
  virtual const Schema* schema() const { return nullptr; }
  // Returns one finite score per candidate. InvalidArgument if there are none.
  virtual absl::StatusOr<std::vector<double>> Scores(const LabelledQuery& query,
                                                     uint32_t num_features) = 0;
  // Call this after the queries of each file, with their number of candidates.
  virtual void EndFile(size_t num_candidates) = 0;
  // Call this after all files. InvalidArgument if scores are left over.
  virtual absl::Status End() = 0;
};

// Reads one score per line, for each candidate of all files in their order.
// InvalidArgument names file and line of anything that is not a finite number.
absl::StatusOr<std::unique_ptr<QueryScorer>> ReadScores(
    const std::string& path);

// Scores with a model. InvalidArgument where ModelFeatures::Create() refuses
// it.
absl::StatusOr<std::unique_ptr<QueryScorer>> MakeModelScorer(
    const model::v1::Model& model);

struct ModelScorer {
  uint64_t version = 0;
  std::unique_ptr<QueryScorer> scorer;
};

// Loads a version of a model; 0: the newest. NotFound if there is none;
// InvalidArgument for a bad name.
absl::StatusOr<ModelScorer> LoadModelScorer(const std::string& model_store,
                                            const std::string& model,
                                            uint64_t version);

}  // namespace sortition
