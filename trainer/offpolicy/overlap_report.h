#pragma once
// What an evaluation is worth, for people: bounds, overlap with the log,
// findings.
#include <string>

#include "sortition/model/v1/model.pb.h"

namespace sortition {

// The tables behind the estimates of `train`. What the evaluation does not have
// is left out; the list of findings too where all is well.
void AppendBounds(const model::v1::Evaluation& evaluation, std::string* text);
void AppendOverlap(const model::v1::Evaluation& evaluation, std::string* text);
void AppendFindings(const model::v1::Evaluation& evaluation, std::string* text);

}  // namespace sortition
