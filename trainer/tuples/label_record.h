#pragma once
// Label tuples as they stand in the log (docs/log_format.md): to a record and
// back, or the reason why one cannot be used.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/hash.h"
#include "core/learners/multilabel/label_tuples.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/left_out.h"

namespace sortition {

// Largest num_features × num_labels of a policy here: 128 MiB a vector, of
// which its training holds some 20.
inline constexpr uint64_t kMaxLabelWeights = uint64_t{1} << 24;

// Context `row` of `contexts` and the labels chosen (q entries, 0 or 1), by the
// shorter of both forms of features.
void SetContext(const LabelContexts& contexts, size_t row,
                std::span<const uint8_t> labels, log::v1::Decision* decision);

// One context, one set of labels, and what came of it.
struct LabelRecord {
  std::vector<uint32_t> columns;  // Ascending, of the values that are not 0.
  std::vector<float> values;
  std::vector<uint8_t> labels;  // q entries, 0 or 1.
  double log_propensity = 0;
  double loss = 0;

  // Equal where features are: dense and sparse forms are alike.
  Hash128 ContextHash() const;
};

// What every label tuple must be to be trained on together.
struct LabelExpectation {
  uint32_t num_features = 0;
  uint32_t num_labels = 0;
  double reward_min = 0;
  double reward_max = 1;
};

// Fills `record` and returns nothing, or returns why the tuple is left out.
// InvalidArgument for a reward outside [reward_min, reward_max] as in
// ConvertTuple(), and where something else than the action was shown: to leave
// such tuples out would bias every estimate, and their weight cannot be 0 here.
absl::StatusOr<std::optional<LeftOutReason>> ConvertLabelTuple(
    const log::v1::BanditTuple& logged, const LabelExpectation& expectation,
    LabelRecord* record);

}  // namespace sortition
