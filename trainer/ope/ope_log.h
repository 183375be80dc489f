#pragma once
// The decisions of a log that policies are judged by, in passes.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/scoring/model_features.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/ope/policies/arm_propensities.h"
#include "trainer/ope/policies/judged_policy.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/overrides.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/thinning.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {

// What stored versions ask of decisions.
struct OpeShape {
  std::optional<ActionKind> action_kind;  // Unset: that of the first tuple.
  // As logged: 0 with columns. Unset: that of the newest tuples.
  std::optional<uint32_t> num_features;
  // Makes the features of columns that models of rewards see. Null: named
  // columns are read only if no stored version is judged, and candidates then
  // have no features.
  std::shared_ptr<const ModelFeatures> features;
};

// Returns the options that select the decisions of the log.
config::v1::TrainOptions ReadingOptions(const config::v1::OpeOptions& options);

class OpeLog {
 public:
  using Take = std::function<absl::Status(const LoggedDecision&)>;
  using Note = std::function<void(const log::v1::Decision&)>;

  // Errors as TupleLog::Open(), TupleSelection::Create(),
  // ArmPropensities::Create(). Orders are cut to `ranks`.
  static absl::StatusOr<std::unique_ptr<OpeLog>> Open(
      const config::v1::OpeOptions& options, RankUse ranks,
      const OpeShape& shape);

  // Gives each usable decision to `take`, in the order of writing, and counts
  // the others in `counts`. What is written after the first pass is not read.
  // Aborted if all must be read again, which happens only in the first pass
  // (Thinning). Otherwise errors as ScanTuples(), CheckRewards(). Calls
  // `note` before `take`, for every decision of the log, usable or not.
  absl::Status Scan(
      const Take& take, TupleCounts* counts,
      const Note& note = [](const log::v1::Decision&) {});

  // Of the first pass.
  ActionKind action_kind() const {
    return shape_.action_kind.value_or(ActionKind::kSelect);
  }
  // As logged: 0 with columns.
  uint32_t num_features() const { return shape_.num_features.value_or(0); }
  const RewardRange& rewards() const { return rewards_; }

 private:
  OpeLog(const config::v1::OpeOptions& options, RankUse ranks,
         ArmPropensities arms);

  absl::Status Prepare(const OpeShape& shape);
  std::vector<uint32_t>* EmptyRows() {
    return may_lack_features_ ? &empty_rows_ : nullptr;
  }
  absl::Status TakeTuple(const log::v1::BanditTuple& logged, const Take& take,
                         TupleCounts* counts);
  // Converts a tuple, or returns why it is left out.
  std::optional<LeftOutReason> Convert(const log::v1::BanditTuple& logged);

  config::v1::TrainOptions options_;
  RewardRange rewards_;
  Overrides overrides_ = Overrides::kIntentToTreat;
  const RankUse ranks_;
  OpeShape shape_;
  std::optional<TupleLog> log_;
  std::optional<TupleSelection> selection_;
  ArmPropensities arms_;
  Thinning thinning_;
  ScanEnds ends_;  // Of the first pass.
  bool leaves_out_aggregations_ = false;
  std::optional<bool> fixed_size_;
  BanditTuple tuple_;
  ModelFeatureScratch feature_scratch_;
  bool may_lack_features_ = false;  // No policy reads features.
  std::vector<uint32_t> empty_rows_;
};

}  // namespace sortition
