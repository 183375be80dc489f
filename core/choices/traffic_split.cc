#include "core/choices/traffic_split.h"

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"

namespace sortition {
namespace {

// The arm's version by place; 0: none.
using Places = std::array<uint64_t, kSplitPlaces>;

Places PlacesBefore(const model::v1::Split& split,
                    const std::map<uint64_t, uint32_t>& wanted) {
  Places places = {};
  for (const model::v1::SplitArm& arm : split.arms()) {
    const auto found = wanted.find(arm.version());
    uint32_t left = found == wanted.end() ? 0 : found->second;
    for (const model::v1::PlaceRange& range : arm.ranges()) {
      for (uint32_t i = range.begin(); i < range.end() && left > 0; ++i) {
        places[i] = arm.version();
        --left;
      }
    }
  }
  return places;
}

void AddPlace(uint32_t place, model::v1::SplitArm* arm) {
  const int last = arm->ranges_size() - 1;
  if (last >= 0 && arm->ranges(last).end() == place) {
    arm->mutable_ranges(last)->set_end(place + 1);
    return;
  }
  model::v1::PlaceRange& range = *arm->add_ranges();
  range.set_begin(place);
  range.set_end(place + 1);
}

// Returns the index of the share that has the places that no arm has.
size_t RestOf(const model::v1::Split& split, uint64_t primary_version) {
  const auto& arms = split.arms();
  const auto same = std::find_if(
      arms.begin(), arms.end(),
      [&](const auto& arm) { return arm.version() == primary_version; });
  return static_cast<size_t>(same - arms.begin());
}

}  // namespace

uint32_t SplitPlace(absl::string_view model, absl::string_view salt,
                    absl::string_view unit_id, absl::string_view decision_id) {
  const bool has_unit = !unit_id.empty();
  const double number = UnitInterval(
      StableHash(HashDomain::kArm, {model, salt, has_unit ? "unit" : "id",
                                    has_unit ? unit_id : decision_id}));
  return static_cast<uint32_t>(number * kSplitPlaces);
}

int ArmAt(const model::v1::Split& split, uint32_t place) {
  for (int arm = 0; arm < split.arms_size(); ++arm) {
    for (const model::v1::PlaceRange& range : split.arms(arm).ranges()) {
      if (range.begin() <= place && place < range.end()) return arm;
    }
  }
  return -1;
}

std::vector<VersionShare> SharesOf(const model::v1::Split& split,
                                   uint64_t primary_version) {
  std::vector<VersionShare> shares;
  for (const model::v1::SplitArm& arm : split.arms()) {
    shares.push_back({arm.version(), PlacesOf(arm)});
  }
  const uint32_t free = FreePlaces(split);
  if (free == 0) return shares;
  const size_t rest = RestOf(split, primary_version);
  if (rest == shares.size()) shares.push_back({primary_version, 0});
  shares[rest].places += free;
  return shares;
}

size_t ShareAt(const model::v1::Split& split, uint64_t primary_version,
               uint32_t place) {
  const int arm = ArmAt(split, place);
  return arm < 0 ? RestOf(split, primary_version) : static_cast<size_t>(arm);
}

uint32_t PlacesOf(const model::v1::SplitArm& arm) {
  uint32_t places = 0;
  for (const model::v1::PlaceRange& range : arm.ranges()) {
    places += range.end() - range.begin();
  }
  return places;
}

uint32_t FreePlaces(const model::v1::Split& split) {
  uint32_t places = kSplitPlaces;
  for (const model::v1::SplitArm& arm : split.arms()) places -= PlacesOf(arm);
  return places;
}

absl::Status ValidateSplit(const model::v1::Split& split) {
  std::set<uint64_t> versions;
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  for (const model::v1::SplitArm& arm : split.arms()) {
    if (arm.version() == 0 || !versions.insert(arm.version()).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "split.arms.version = ", arm.version(),
          ": must be at least 1, and the version of one arm only"));
    }
    if (arm.ranges().empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("split.arms.ranges of version ", arm.version(),
                       ": has no entries, must have at least one"));
    }
    for (const model::v1::PlaceRange& range : arm.ranges()) {
      if (range.begin() >= range.end() || range.end() > kSplitPlaces) {
        return absl::InvalidArgumentError(absl::StrCat(
            "split.arms.ranges = [", range.begin(), ", ", range.end(),
            ") of version ", arm.version(), ": must be places within [0, ",
            kSplitPlaces, "), at least one"));
      }
      ranges.emplace_back(range.begin(), range.end());
    }
  }
  std::sort(ranges.begin(), ranges.end());
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) {
      return absl::InvalidArgumentError(
          absl::StrCat("split.arms.ranges: place ", ranges[i].first,
                       " has two arms, must have one at most"));
    }
  }
  if (!ranges.empty() && split.salt().empty()) {
    return absl::InvalidArgumentError(
        "split.salt is empty, must be 32 hexadecimal digits");
  }
  return absl::OkStatus();
}

absl::Status AssignPlaces(const std::map<uint64_t, uint32_t>& wanted,
                          model::v1::Split* split) {
  uint64_t sum = 0;
  for (const auto& [version, count] : wanted) sum += count;
  if (sum > kSplitPlaces) {
    return absl::InvalidArgumentError(
        absl::StrCat("the arms have ", sum,
                     " places of 10,000 together, must "
                     "have at most that many"));
  }
  Places places = PlacesBefore(*split, wanted);
  split->clear_arms();
  for (const auto& [version, count] : wanted) {
    if (count == 0) continue;
    uint32_t missing = count - static_cast<uint32_t>(std::count(
                                   places.begin(), places.end(), version));
    for (uint32_t i = 0; missing > 0; ++i) {
      if (places[i] != 0) continue;
      places[i] = version;
      --missing;
    }
  }
  for (const auto& [version, count] : wanted) {
    if (count == 0) continue;
    model::v1::SplitArm& arm = *split->add_arms();
    arm.set_version(version);
    for (uint32_t i = 0; i < kSplitPlaces; ++i) {
      if (places[i] == version) AddPlace(i, &arm);
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
