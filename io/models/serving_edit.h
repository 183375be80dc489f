#pragma once
// Changes of what serves, as people and rollouts ask for them.
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "sortition/model/v1/serving.pb.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// What an edit may need to know besides the state.
struct EditContext {
  uint64_t primary_version = 0;    // That serves now.
  std::vector<uint64_t> versions;  // In the store, ascending.
  // Whether a version loads; empty: all do.
  std::function<bool(uint64_t version)> can_serve = {};
};

// Applies the change that `request` asks for. InvalidArgument: there is none,
// or it is out of range. FailedPrecondition: there is no version to go back to,
// or what is to be removed is not there. Aborted: the state is not the expected
// one.
absl::Status EditServing(const v1::ChangeServingRequest& request,
                         const EditContext& context,
                         model::v1::Serving* serving);

}  // namespace sortition
