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
#include "core/scoring/model_features.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/feature_spill.h"
#include "trainer/tuples/guarded_tuples.h"
#include "trainer/tuples/held_tuples.h"
#include "trainer/tuples/rank_outcomes.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

struct TupleData : TupleCounts {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;  // That weights multiply.
  bool can_abstain = false;   // For selections; as the filter says.
  // The policy that logged the tuples of newest_version, among those that were
  // kept or left out for lack of room. Its kind is unset if it is uniform.
  model::v1::Policy newest_policy;
  // For subsets of fixed sizes: the size that was chosen most often, with ties
  // going to the smaller. 0: any size.
  uint32_t subset_size = 0;
  // Split by TupleParts, by HashDomain::kSplit of the unit id, or of the
  // decision id where there is none. Tuples that the baseline did not log only
  // train.
  std::vector<BanditTuple> train;
  std::vector<BanditTuple> validation;
  std::vector<BanditTuple> test;
  // What the options of learning need beside `train`, one for each, or else
  // empty.
  std::vector<RankedTuple> train_ranks;
  std::vector<RankedTuple> validation_ranks;  // Of `validation`.
  std::vector<ExposedTuple> train_exposed;
  // Those of validation and test that abstained, if can_abstain is false: to
  // leave them out would condition on the action. Those of the training part
  // are left out.
  std::vector<AbstainedTuple> abstained_validation;
  std::vector<AbstainedTuple> abstained_test;
  std::vector<GuardedReward> guarded;  // As TrainOptions.guardrails.
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
  std::optional<uint32_t> num_features;  // As logged: 0 with columns.
  std::optional<bool> can_abstain;  // Unset: true if one of the tuples could.
  std::optional<bool> fixed_size = {};  // For subsets.
  // The version that a new one would replace. Only tuples that it logged
  // validate and test, since its mean reward is the one to beat. Unset: all
  // versions do.
  std::optional<uint64_t> baseline_version;
  // The newest version that logged takes the place of baseline_version.
  bool baseline_is_of_log = false;
  // Tuples of earlier versions do not validate or test either: a policy may
  // have been trained on all of them.
  uint64_t evaluate_from_version = 0;
  // What makes features of what was logged. Null: they are those of the log.
  std::shared_ptr<const ModelFeatures> features = {};
  // What the policies that logged orders did; may be empty where no option of
  // learning needs it (NeedsOf).
  RankMarginals rank_marginals = {};

  // Returns how many features weights multiply where so many are logged.
  uint32_t NumWeighed(uint32_t logged) const {
    return features == nullptr ? logged : features->num_features();
  }
};

// Streams all segments; segments that are still being written are read up to
// their last whole record. If the tuples exceed memory_mb, their features go to
// a scratch file. If these exceed scratch_mb or the disk, or the rest exceeds
// memory_mb, halves the share that is kept, by a threshold on a hash of the
// decision id (KeptShare): which tuples are kept does not depend on their
// order. With `force`, tuples of all versions validate and test if the baseline
// has too few. InvalidArgument for bad options or a reward out of range; errors
// as RankOutcomes; NotFound if the directory of tuples, or that of `scratch`,
// does not exist.
absl::StatusOr<TupleData> ReadTuples(const config::v1::TrainOptions& options,
                                     const TupleFilter& filter);

}  // namespace sortition
