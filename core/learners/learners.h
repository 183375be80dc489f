#pragma once
// Lists every method that turns data and options into a model.
#include <vector>

#include "absl/strings/string_view.h"
#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/train.pb.h"

namespace sortition {

struct LearnerInfo {
  absl::string_view name;  // As in Provenance.learner.
  // Its group of options; LEARNER_OPTIONS_NOT_SET: `train` does not run it.
  config::v1::TrainOptions::LearnerOptionsCase options;
  absl::string_view data;  // What it learns from.
  absl::string_view help;  // When to use it; one line.
  // Makes the learner from its group of `options`; errors as the learner's own
  // factory. Null if `train` does not run it on labelled queries.
  absl::StatusOr<std::unique_ptr<LabelledLearner>> (*make_labelled)(
      const config::v1::TrainOptions& options,
      const LabelledShape& shape) = nullptr;
};

std::vector<LearnerInfo> ListLearners();

}  // namespace sortition
