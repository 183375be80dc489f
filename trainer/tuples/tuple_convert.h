#pragma once
// Converts a logged tuple to one that can be trained on, or says why it cannot
// be used.
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/data/action.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/policies/distribution_factory.h"
#include "core/scoring/model_features.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/left_out.h"
#include "trainer/tuples/scan/overrides.h"

namespace sortition {

// What tuples must have in common to be trained on together.
struct TupleExpectation {
  ActionKind action_kind = ActionKind::kSelect;
  uint32_t num_features = 0;  // As logged: 0 with columns.
  bool can_abstain = true;
  bool fixed_size = false;  // For subsets.
  RewardRange rewards = {};
  Overrides overrides = Overrides::kIntentToTreat;
  RankUse ranks = RankUse::kAll;  // The action is cut to those that count.
  // What makes features of what was logged. Null: they are those of the log.
  const ModelFeatures* features = nullptr;
  ModelFeatureScratch* scratch = nullptr;  // With `features`.
  // Set: named columns are not read (ViewWithoutFeatures()), and this is the
  // scratch. Null: tuples with columns need `features`.
  std::vector<uint32_t>* empty_rows = nullptr;
};

// Returns how many candidates a subset has according to the request or else the
// policy; 0 for any number, and if the action is not a subset.
uint32_t SubsetSize(const log::v1::Decision& decision);

// Returns whether `value` is finite and, apart from rounding, at most 0.
bool IsLogPropensity(double value);

// Fills in `result` and returns nothing, or returns why the tuple is left out.
std::optional<LeftOutReason> ConvertTuple(const log::v1::BanditTuple& logged,
                                          const TupleExpectation& expectation,
                                          BanditTuple* result);

}  // namespace sortition
