#include "io/models/newest_version.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<uint64_t> NewestVersion(const std::string& model,
                                       const ModelStore& store) {
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(model));
  return versions.empty() ? 0 : versions.back();
}

absl::StatusOr<std::optional<StoredModel>> LoadNewest(const std::string& model,
                                                      const ModelStore& store) {
  ASSIGN_OR_RETURN(const uint64_t newest, NewestVersion(model, store));
  if (newest == 0) return std::nullopt;
  ASSIGN_OR_RETURN(StoredModel stored, store.Load(model, newest));
  return stored;
}

absl::Status CheckStillNewest(const std::string& model, const ModelStore& store,
                              uint64_t baseline) {
  ASSIGN_OR_RETURN(const uint64_t newest, NewestVersion(model, store));
  if (newest == baseline) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "version ", newest, " of model '", model,
      "' was published meanwhile; the new model was compared with version ",
      baseline, ", must be compared with the newest"));
}

}  // namespace sortition
