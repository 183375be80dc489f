#include "trainer/retention/version_holds.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/choices/traffic_split.h"

namespace sortition {
namespace {

// Returns the newest version that loads; 0: none does.
uint64_t NewestThatLoads(const ModelStore& store, const std::string& model,
                         const std::vector<uint64_t>& versions) {
  for (auto version = versions.rbegin(); version != versions.rend();
       ++version) {
    if (store.Load(model, *version).ok()) return *version;
  }
  return 0;
}

}  // namespace

VersionHolds HoldsOfServing(const ModelStore& store, const std::string& model,
                            const std::vector<uint64_t>& versions,
                            const model::v1::Serving& serving) {
  VersionHolds holds;
  const auto add = [&](uint64_t version, std::string reason,
                       std::string command) {
    holds[version].push_back(
        {std::move(reason),
         absl::StrCat("`sortition models ", command, " --model=", model,
                      " --reason=...`")});
  };
  if (serving.pinned_version() > 0) {
    add(serving.pinned_version(), "pinned", "pin ANOTHER");
  } else if (const uint64_t newest = NewestThatLoads(store, model, versions);
             newest > 0) {
    add(newest, "serves, the newest that loads", "pin ANOTHER");
  }
  for (const auto& label : serving.labels()) {
    add(label.version(), absl::StrCat("label ", label.name()),
        absl::StrCat("label ", label.name(), " ANOTHER"));
  }
  for (const auto& arm : serving.split().arms()) {
    add(arm.version(),
        absl::StrCat("arm of the split (", PlacesOf(arm), " of 10,000 places)"),
        "split");
  }
  if (serving.has_interleave()) {
    add(serving.interleave().version(),
        absl::StrCat("interleaved (", serving.interleave().parts(),
                     " of 10,000 places)"),
        "interleave none");
  }
  for (const auto& shadow : serving.shadows()) {
    add(shadow.version(),
        absl::StrCat("shadow of every ", shadow.every(), " decisions"),
        "shadow");
  }
  for (const uint64_t version : serving.protected_versions()) {
    add(version, "protected", absl::StrCat("unprotect ", version));
  }
  return holds;
}

void AddLogHolds(const LoggedVersions& logged, VersionHolds* holds) {
  for (const auto& [version, uses] : logged.uses) {
    (*holds)[version].push_back(
        {absl::StrCat("needed to verify ", uses, " records of the log"),
         "a --log without those records"});
  }
}

}  // namespace sortition
