#pragma once
// Reads the tuple segments of a directory, within limits of memory and disk,
// and splits the tuples.
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
  bool can_abstain = false;  // For selections; as the filter says.
  // The policy that logged the tuples of newest_version, among those that were
  // kept or left out for lack of room. Its kind is unset if it is uniform.
  model::v1::Policy newest_policy;
  // For subsets of fixed sizes: the size that was chosen most often, with ties
  // going to the smaller. 0: any size.
  uint32_t subset_size = 0;
  // Split by HashDomain::kSplit of the unit id, or of the decision id where there
  // is none: a unit is in the same part in every run, as a whole. Tuples that the baseline did not log only train.
  std::vector<BanditTuple> train;
  std::vector<BanditTuple> validation;
  std::vector<BanditTuple> test;
  // Returns how many tuples of `part`, train or test, were left out because
  // they abstained, which no policy that is trained can do. They were drawn all
  // the same. Counts the sample that is kept; if all versions are split, the
  // count is in proportion to the parts.
  uint64_t impossible(const std::vector<BanditTuple>& part) const;
  // Tuples that are kept with BanditTuple.action_shown unset.
  uint64_t shown_otherwise = 0;
  // A sample of the queries for the warm-up of servers, smallest hash first.
  std::vector<log::v1::Decision> warmup;
  // Holds the features of the tuples if they do not fit memory_mb; otherwise
  // null.
  std::unique_ptr<const FeatureSpill> spill;
  // Not OK if reading features failed: nothing computed since then may be used.
  absl::Status ReadStatus() const {
    return spill == nullptr ? absl::OkStatus() : spill->status();
  }
};

// Conditions on the tuples. Those that are unset are taken from the first
// usable tuple.
struct TupleFilter {
  std::optional<ActionKind> action_kind;
  std::optional<uint32_t> num_features;
  std::optional<bool> can_abstain;  // Unset: true if one of the tuples could.
  std::optional<bool> fixed_size = {};  // For subsets.
  // The version that a new one would replace. Only tuples that it logged
  // validate and test, since its mean reward is the one to beat. Unset: all
  // versions do.
  std::optional<uint64_t> baseline_version;
  // Tuples of earlier versions do not validate or test either: a policy may
  // have been trained on all of them.
  uint64_t evaluate_from_version = 0;
};

// Streams all segments; segments that are still being written are read up to
// their last whole record. If the tuples exceed memory_mb, their features go to
// a scratch file. If these exceed scratch_mb or the disk, or the rest exceeds
// memory_mb, halves the share that is kept, by a threshold on a hash of the
// decision id (KeptShare): which tuples are kept does not depend on their
// order. With `force`, tuples of all versions validate and test if the baseline
// has too few. InvalidArgument for bad options or a reward out of range;
// NotFound if the directory of tuples, or that of `scratch`, does not exist.
absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter);

}  // namespace sortition
