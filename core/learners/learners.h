#pragma once
// Every method that turns data and options into a model.
#include <vector>

#include "absl/strings/string_view.h"
#include "core/learners/labelled/labelled_learner.h"

namespace sortition {

struct LearnerInfo {
  absl::string_view name;     // As in Provenance.learner.
  absl::string_view options;  // Message in sortition/config/v1/learner.proto.
  absl::string_view data;     // What it learns from.
  absl::string_view help;     // When to use which; one line.
  // Set: `train` runs it on labelled queries (labelled_learner.h). Its options
  // are the TrainOptions field of that message.
  LabelledLearnerFactory make_labelled = nullptr;
};

std::vector<LearnerInfo> ListLearners();

}  // namespace sortition
