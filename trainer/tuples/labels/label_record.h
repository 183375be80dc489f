#pragma once
// Converts label tuples to records of the log (docs/log_format.md) and back, or
// says why one cannot be used.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/learners/multilabel/label_tuples.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/reward_range.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {

// Largest num_features × num_labels of a policy: a vector of weights then takes
// 128 MiB, and training holds some 20 of them.
inline constexpr uint64_t kMaxLabelWeights = uint64_t{1} << 24;

// Writes context `row` of `contexts` and the labels chosen (q entries, 0 or 1)
// to `decision`, in the shorter of the two forms of features.
void SetContext(const LabelContexts& contexts, size_t row,
                std::span<const uint8_t> labels, log::v1::Decision* decision);

// One context, the labels chosen for it, and the outcome.
struct LabelRecord {
  std::vector<uint32_t> columns;  // Ascending, of the values that are not 0.
  std::vector<float> values;
  std::vector<uint8_t> labels;  // q entries, 0 or 1.
  double log_propensity = 0;
  double loss = 0;

  // Equal for equal features, whether they are dense or sparse.
  Hash128 ContextHash() const;
};

// What label tuples must have in common to be trained on together.
struct LabelExpectation {
  uint32_t num_features = 0;
  uint32_t num_labels = 0;
  RewardRange rewards = {};
};

// Fills in `record` and returns nothing, or returns why the tuple is left out.
// InvalidArgument if something else than the action was shown: leaving out such
// tuples would bias every estimate, and they cannot get weight 0 here.
absl::StatusOr<std::optional<LeftOutReason>> ConvertLabelTuple(
    const log::v1::BanditTuple& logged, const LabelExpectation& expectation,
    LabelRecord* record);

}  // namespace sortition
