#pragma once
// Whether named columns still look like what training saw.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/validation/bounded_map.h"
#include "client/validation/log_check.h"
#include "core/features/drift/drift.h"
#include "core/features/feature_transform.h"
#include "io/models/model_store.h"

namespace sortition {

// Counts the columns of decisions, and the features that their version makes of
// them, in the bins of its training, and warns of those with a population
// stability index above 0.25. Looks at one decision in so many.
class DriftCheck : public LogCheck {
 public:
  DriftCheck(const std::string& model_store, uint32_t every)
      : store_(model_store), every_(every) {}

  void Take(const LogEntry& entry) override;
  std::vector<Finding> Report() const override;

 private:
  using Key = std::pair<std::string, uint64_t>;  // Model, version.

  struct Version {
    uint64_t decisions = 0;
    uint64_t trained_queries = 0;
    // By DriftFigure::is_feature and name: the bins that values fall into.
    std::map<std::pair<bool, std::string>, size_t> num_bins;
    std::vector<DriftCounts> counts;  // One; none where there is a problem.
    absl::Status problem;             // Why there is nothing to compare with.
  };

  absl::StatusOr<model::v1::Features> LoadFeatures(const Key& key) const;
  absl::Status Begin(const Key& key, Version* version);
  absl::StatusOr<const FeatureTransform*> Remember(
      const Key& key, const model::v1::Features& features);
  // Returns the transform of a version, which has one, and reads it again if it
  // was forgotten.
  absl::StatusOr<const FeatureTransform*> TransformOf(const Key& key);
  static void AppendMovers(const Key& key, const Version& version,
                           bool is_listed, std::vector<Finding>* findings);

  const ModelStore store_;
  const uint32_t every_;
  uint64_t decisions_ = 0;  // With columns.
  uint64_t looked_at_ = 0;
  BoundedMap<Key, Version> versions_;
  std::map<Key, FeatureTransform> transforms_;  // Of some of the versions.
  FeatureScratch scratch_;
  FeatureMatrix matrix_;
  Offences unknown_;
  Offences refused_;
};

}  // namespace sortition
