#pragma once
// Decides whether a policy from labelled queries is better than the one it
// would replace.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/parallel.h"
#include "core/learners/labelled/label_measure.h"
#include "core/learners/labelled/labelled_learner.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/labelled/labelled_data.h"

namespace sortition {

// With fewer queries an interval is not trustworthy.
inline constexpr size_t kFewestGateQueries = 10;

struct GateTask {
  std::span<const LabelledItems> queries;  // They were not used for learning.
  const std::vector<LabelledQuery>& rows;  // What `queries` are views of.
  const LabelledData& data;                // What `rows` are of.
  LabelMeasure measure;
  const model::v1::Model& model;
  const std::optional<StoredModel>& old;  // Unset: there is none.
  double confidence = 0.95;
  ParallelFor parallel_for;
};

// Writes the measures of both policies, their paired difference and the quality
// of their rankings, or why they cannot be compared. Intervals (Student's t)
// are for the mean over queries like these. They include the error of estimates
// by draws; the draws are always the same. Each policy has its own features of
// what callers send, so that it is compared as it would serve. Returns true if
// the lower end of the difference is above 0, and for a first version. The
// queries may have one constant feature more than the models.
absl::StatusOr<bool> PassesGate(const GateTask& task,
                                config::v1::LabelledReport* report);

// Says what was decided, what was compared, and what was not proved.
std::string LabelledVerdict(const config::v1::TrainOptions& options,
                            const config::v1::LabelledReport& report,
                            bool passed);

}  // namespace sortition
