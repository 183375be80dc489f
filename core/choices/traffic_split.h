#pragma once
// Traffic split between versions (Split in serving.proto): places, and who
// comes to which.
#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

inline constexpr uint32_t kSplitPlaces = 10'000;

// Returns the place, in [0, kSplitPlaces), of the unit, or of the decision
// where `unit_id` is empty. It is independent of everything else that ids
// determine, and of the places under other salts and of other models.
uint32_t SplitPlace(absl::string_view model, absl::string_view salt,
                    absl::string_view unit_id, absl::string_view decision_id);

// Returns the index of the arm that has the place; -1: none has.
int ArmAt(const model::v1::Split& split, uint32_t place);

// A version and its part of the traffic.
struct VersionShare {
  uint64_t version = 0;
  uint32_t places = 0;  // At least one.
};

// Returns the shares of all versions: those of the arms in their order, and
// last that of `primary_version`, which has the places that no arm has. If it
// is an arm, too, that arm has all of its places. Requires a valid split.
std::vector<VersionShare> SharesOf(const model::v1::Split& split,
                                   uint64_t primary_version);

// Returns the index of the share that has the place.
size_t ShareAt(const model::v1::Split& split, uint64_t primary_version,
               uint32_t place);

// Returns how many places an arm has.
uint32_t PlacesOf(const model::v1::SplitArm& arm);

// Returns how many places no arm has.
uint32_t FreePlaces(const model::v1::Split& split);

// InvalidArgument unless every arm has another version and at least one place,
// no place has two arms, and there is a salt where there are arms.
absl::Status ValidateSplit(const model::v1::Split& split);

// Gives each version so many places, and none to versions that are not named.
// As few places as possible change hands: an arm that grows keeps what it has.
// InvalidArgument for more than kSplitPlaces together. Does not set the salt.
absl::Status AssignPlaces(const std::map<uint64_t, uint32_t>& places,
                          model::v1::Split* split);

}  // namespace sortition
