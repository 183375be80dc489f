#pragma once
// Formats what training from labelled queries found.
#include <string>

#include "core/learners/labelled/labelled_learner.h"
#include "sortition/config/v1/train_report.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Adds a row for a point that took `seconds`.
void AddPoint(const LabelledPoint& point, double seconds,
              config::v1::LabelledReport* report);

// Returns the part of the report that evaluation.pb has fields for.
model::v1::Evaluation ToEvaluation(const config::v1::LabelledReport& report);

// Returns the tables that `train` prints. Requires report.has_labelled().
std::string FormatLabelledReport(const config::v1::TrainReport& report);

}  // namespace sortition
