#pragma once
// What a version of a model is needed for.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/models/model_store.h"
#include "sortition/model/v1/serving.pb.h"
#include "trainer/retention/logged_versions.h"

namespace sortition {

// A use that forbids to remove a version.
struct VersionHold {
  std::string reason;   // "pinned", "arm of the split (500 of 10,000 places)".
  std::string instead;  // What to do so that it is not used any more.
};

// From version to its uses.
using VersionHolds = std::map<uint64_t, std::vector<VersionHold>>;

// Returns what the state of serving asks for. Where no version is pinned, the
// newest of `versions` that loads serves.
VersionHolds HoldsOfServing(const ModelStore& store, const std::string& model,
                            const std::vector<uint64_t>& versions,
                            const model::v1::Serving& serving);

// Adds the versions that the log names.
void AddLogHolds(const LoggedVersions& logged, VersionHolds* holds);

}  // namespace sortition
