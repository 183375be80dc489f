#pragma once
// Formats how reliable an evaluation is: bounds, overlap with the log,
// findings.
#include <string>

#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Append the tables behind the estimates of `train`. They omit what the
// evaluation does not have, and the list of findings if there are none.
void AppendBounds(const model::v1::Evaluation& evaluation, std::string* text);
void AppendOverlap(const model::v1::Evaluation& evaluation, std::string* text);
void AppendFindings(const model::v1::Evaluation& evaluation, std::string* text);

}  // namespace sortition
