#pragma once
// Reads label tuples from the segments of a directory into memory, within a
// limit, and splits them.
#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "core/learners/multilabel/label_tuples.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

struct LabelData : TupleCounts {
  // The contexts of all parts, each once. They are told apart by a hash of
  // their features, so replays share one context.
  LabelContexts contexts;
  // Split by HashDomain::kSplit of the *context*: all replays of a context are
  // in the same part, in every run. Seed 004, sec. 6, splits the tuples
  // instead. Then a policy is chosen and tested on the contexts that it was
  // trained on, and the interval of its improvement would not hold for other
  // contexts.
  LabelTuples train;
  LabelTuples validation;
  LabelTuples test;
};

// Conditions on the tuples. Those that are unset are taken from the first
// usable tuple.
struct LabelFilter {
  std::optional<uint32_t> num_features = {};
  std::optional<uint32_t> num_labels = {};
  // As TupleFilter.baseline_version. Tuples of other versions train if their
  // context does, and are left out if it validates or tests.
  std::optional<uint64_t> baseline_version = {};
};

// Streams all segments. If contexts and tuples exceed memory_mb, halves the
// share that is kept, by a threshold on a hash of the context (KeptShare).
// Which are kept does not depend on their order, and a context stays or goes
// together with all its replays. With `force`, tuples of all versions validate
// and test if the baseline has too few. InvalidArgument as ConvertLabelTuple(),
// or for bad options; NotFound if there is no such directory.
absl::StatusOr<LabelData> ReadLabelTuples(
    const config::v1::TrainOptions& options, const LabelFilter& filter);

}  // namespace sortition
