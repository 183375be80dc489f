#pragma once
// Reads the tuple segments of a directory, bounded in memory and on disk, and
// splits them.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/feature_spill.h"
#include "trainer/tuples/tuple_scan.h"

namespace sortition {

struct TupleData : TupleCounts {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;
  bool can_abstain = false;  // Selections: as the filter says.
  // That logged the tuples of newest_version, among those that were kept or
  // left out for lack of room; kind unset: uniform.
  model::v1::Policy newest_policy;
  // Subsets: the size that was most often chosen, ties to the smaller, where
  // all are of fixed sizes; 0: of any size.
  uint32_t subset_size = 0;
  // Split by HashDomain::kSplit of the decision id: a decision is in the same
  // part in every run, but for those that the baseline did not log: they only
  // train.
  std::vector<BanditTuple> train;
  std::vector<BanditTuple> validation;
  std::vector<BanditTuple> test;
  // Those of `part`, train or test, that were left out because they abstained,
  // which no policy that is trained can do: they were drawn all the same. Those
  // of the sample that is kept; where all versions are split, in proportion.
  uint64_t impossible(const std::vector<BanditTuple>& part) const;
  uint64_t shown_otherwise = 0;  // Kept, with BanditTuple.action_shown unset.
  // A sample of the queries, for the warm-up of servers; smallest hash first.
  std::vector<log::v1::Decision> warmup;
  // Features of the tuples above, where they do not fit memory_mb; else null.
  std::unique_ptr<const FeatureSpill> spill;
  // Not OK where reading them failed: nothing computed since can be used.
  absl::Status ReadStatus() const {
    return spill == nullptr ? absl::OkStatus() : spill->status();
  }
};

// What the tuples must be. Unset: as the first usable tuple is.
struct TupleFilter {
  std::optional<ActionKind> action_kind;
  std::optional<uint32_t> num_features;
  std::optional<bool> can_abstain;      // Unset: where one of the tuples could.
  std::optional<bool> fixed_size = {};  // Subsets.
  // The version that a new one would replace. Only what it logged validates and
  // tests, since the mean reward there is the one to beat. Unset: all versions.
  std::optional<uint64_t> baseline_version;
  // Tuples of earlier versions do not validate or test either: a policy may
  // have been trained on all of them.
  uint64_t evaluate_from_version = 0;
};

// Streams all segments; segments that are still written to are read up to their
// last whole record. Where the tuples exceed memory_mb, their features go to a
// scratch file. Where these exceed scratch_mb or the disk, or what is left in
// memory exceeds memory_mb, the share that is kept is halved, by a threshold on
// a hash of the decision id (HashDomain::kSubsample): which tuples are kept
// does not depend on their order. With `force`, tuples of all versions validate
// and test where there are too few of the baseline. InvalidArgument for bad
// options or a reward out of range; NotFound without the directory, or that of
// `scratch`.
absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter);

}  // namespace sortition
