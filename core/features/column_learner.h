#pragma once
// The first pass of learning: what follows from the columns alone.
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/features/blocks/ngrams.h"
#include "core/features/drift/value_sketch.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "core/features/text/word_counts.h"
#include "core/features/text/word_splitter.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Not thread-safe.
class ColumnLearner {
 public:
  // Requires a checked declaration; both must outlive it.
  ColumnLearner(const Schema& schema, const model::v1::FeatureSpec& spec);
  ~ColumnLearner();

  // Counts a request that is bound to the schema. InvalidArgument if a stemmer
  // is unknown.
  absl::Status Add(const BoundColumns& columns);

  // Returns what was learned, with mean 0 and scale 1 for measures of texts,
  // and without statistics of features.
  model::v1::LearnedFeatures Finish() const;

 private:
  // One transform that learns from the values of a column.
  struct Learner {
    std::vector<RunningMoments> moments;  // By feature.
    ValueSample sample;
    CategorySketch categories;
    // Of n-grams with inverse document frequencies.
    std::unique_ptr<WordSplitter> splitter;
    std::optional<PlaceCounter> places;
  };
  // Words of a column, for all transforms that count them alike.
  struct Counter {
    size_t column = 0;
    std::unique_ptr<WordSplitter> splitter;
    WordCounter counts;
  };

  uint32_t NumRows(size_t column, const BoundColumns& columns) const;
  void AddToTransform(const model::v1::Transform& transform,
                      const BoundColumns& columns, Learner* learner);
  void AddToStatistics(size_t column, const BoundColumns& columns);
  // Counts words of the column for all transforms, once.
  absl::Status AddCounter(const std::string& column,
                          const model::v1::Words& words);
  absl::Status MakeCounters();
  absl::Status AddToCounters(const BoundColumns& columns);
  model::v1::LearnedTransform FinishTransform(
      const model::v1::Transform& transform, const Learner& learner) const;

  const Schema& schema_;
  const model::v1::FeatureSpec& spec_;
  std::vector<Learner> learners_;  // By transform.
  std::vector<Counter> counters_;
  std::vector<ValueSketch> numbers_;  // By column.
  std::vector<CategorySketch> categories_;
  TextWords words_;
  uint64_t num_queries_ = 0;
  uint64_t num_candidates_ = 0;
};

}  // namespace sortition
