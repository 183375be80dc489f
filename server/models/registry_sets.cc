// ModelRegistry: which versions are to serve, and their loading.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/models/model_registry.h"

namespace sortition {
namespace {

constexpr absl::Duration kRetryAfter = absl::Minutes(1);

bool Names(const model::v1::Serving& serving, uint64_t version) {
  const std::vector<uint64_t> named = NamedVersions(serving);
  return std::binary_search(named.begin(), named.end(), version);
}

}  // namespace

uint64_t ModelRegistry::RoomFor(const std::string& name) const {
  uint64_t bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [other, entry] : models_) {
      if (other != name) bytes += entry.set->bytes();
    }
  }
  return memory_bytes_ - std::min(memory_bytes_, bytes);
}

ServingSet::Model ModelRegistry::FindLoaded(const ServingSet& before,
                                            uint64_t version) const {
  for (const auto* loaded : {&before.loaded, &fresh_}) {
    const auto known = loaded->find(version);
    if (known != loaded->end()) return known->second;
  }
  return nullptr;
}

absl::StatusOr<ServingSet::Model> ModelRegistry::Load(const ServingSet& before,
                                                      uint64_t version,
                                                      const ServedModel& beside,
                                                      uint64_t room_bytes) {
  if (auto known = FindLoaded(before, version)) return known;
  ASSIGN_OR_RETURN(ServingSet::Model model,
                   loader_.Load(before.name, version, beside, room_bytes));
  fresh_.emplace(version, model);
  return model;
}

absl::Status ModelRegistry::CheckNamed(const model::v1::Serving& serving,
                                       const ServingSet& before,
                                       uint64_t* room_bytes) const {
  for (const VersionUse& use : UsesOf(serving)) {
    if (const auto known = FindLoaded(before, use.version)) {
      *room_bytes -= std::min(*room_bytes, known->bytes);
      continue;
    }
    const absl::Status status =
        loader_.Check(before.name, use.version, room_bytes);
    if (!status.ok()) return CannotServe(use, status);
  }
  return absl::OkStatus();
}

ServingSet::Model ModelRegistry::FollowNewest(
    const model::v1::Serving& serving, const ServingSet& before,
    const std::vector<uint64_t>& versions, uint64_t room_bytes) {
  // A version that was pinned gives way to the newest, even to an older one.
  const uint64_t last = before.serving.pinned_version() == 0
                            ? before.primary->version
                            : uint64_t{0};
  for (auto version = versions.rbegin(); version != versions.rend();
       ++version) {
    if (*version <= last) break;
    auto model = Load(before, *version, *before.shape,
                      Names(serving, *version) ? memory_bytes_ : room_bytes);
    if (model.ok()) return *std::move(model);
  }
  return before.primary;
}

absl::StatusOr<std::shared_ptr<const ServingSet>> ModelRegistry::MakeSet(
    const model::v1::Serving& serving, const ServingSet& before,
    const std::vector<uint64_t>& versions) {
  const bool is_pinned = serving.pinned_version() > 0;
  // Until there is a newer one, the version that serves has its room, too.
  const uint64_t own =
      is_pinned || Names(serving, before.primary->version)
          ? 0
          : std::min(before.primary->bytes, RoomFor(before.name));
  uint64_t room_bytes = RoomFor(before.name) - own;
  RETURN_IF_ERROR(CheckNamed(serving, before, &room_bytes));
  ServingSet::Model primary = before.primary;
  if (!is_pinned) {
    primary = FollowNewest(serving, before, versions, room_bytes + own);
  }
  // A state whose versions load and do not go together must not load them again
  // at every look.
  FailedSet& failed = failed_sets_[before.name];
  const std::string state = serving.SerializeAsString();
  if (failed.state == state && failed.versions == versions &&
      absl::Now() < failed.retry_time) {
    return failed.status;
  }
  auto set =
      MakeServingSet(before.name, serving, primary,
                     [&](uint64_t version, const ServedModel& beside) {
                       return Load(before, version, beside, memory_bytes_);
                     });
  if (!set.ok()) {
    failed = {state, versions, set.status(), absl::Now() + kRetryAfter};
  }
  return set;
}

absl::StatusOr<std::shared_ptr<const ServingSet>> ModelRegistry::MakeFallback(
    const ServingSet& before, const std::vector<uint64_t>& versions) {
  if (before.primary->version == 0) {
    const auto history =
        ServingHistory(absl::StrCat(store_.root(), "/", before.name));
    if (history.ok()) {
      for (auto state = history->rbegin(); state != history->rend(); ++state) {
        auto set = MakeSet(*state, before, versions);
        if (set.ok()) return set;
      }
    }
  }
  return MakeSet(before.serving, before, versions);
}

}  // namespace sortition
