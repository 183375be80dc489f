#pragma once
// What the agreement of a model with the caller's baseline suggests.
#include <string>

#include "sortition/v1/models.pb.h"

namespace sortition {

// Returns a sentence: how often the model would do what the baseline does, and
// what the next learning mode would change. Requires status.has_agreement().
std::string AgreementText(const v1::ModelStatus& status);

}  // namespace sortition
