#include "io/models/newest_version.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/serving_state.h"
#include "io/models/store_listing.h"

namespace sortition {

absl::StatusOr<uint64_t> NewestVersion(const std::string& model,
                                       const ModelStore& store) {
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(model));
  return versions.empty() ? 0 : versions.back();
}

absl::StatusOr<StoredModel> LoadVersion(const std::string& model,
                                        uint64_t version,
                                        const ModelStore& store) {
  RETURN_IF_ERROR(ValidateModelName(model));
  if (version == 0) {
    ASSIGN_OR_RETURN(version, NewestVersion(model, store));
  }
  if (version > 0) return store.Load(model, version);
  return NoVersionError(store.root(), model);
}

absl::StatusOr<Incumbent> FindIncumbent(const std::string& model,
                                        const ModelStore& store) {
  Incumbent incumbent;
  ASSIGN_OR_RETURN(const model::v1::Serving serving,
                   ReadServing(absl::StrCat(store.root(), "/", model)));
  ASSIGN_OR_RETURN(incumbent.newest, NewestVersion(model, store));
  incumbent.is_pinned = serving.pinned_version() > 0;
  incumbent.serving =
      incumbent.is_pinned ? serving.pinned_version() : incumbent.newest;
  incumbent.mode = serving.mode();
  return incumbent;
}

absl::StatusOr<std::optional<StoredModel>> LoadIfAny(const std::string& model,
                                                     uint64_t version,
                                                     const ModelStore& store) {
  if (version == 0) return std::nullopt;
  ASSIGN_OR_RETURN(StoredModel stored, store.Load(model, version));
  return stored;
}

absl::Status CheckUnchanged(const std::string& model, const ModelStore& store,
                            const Incumbent& before) {
  ASSIGN_OR_RETURN(const Incumbent now, FindIncumbent(model, store));
  if (now.newest != before.newest) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", now.newest, " of model '", model,
        "' is the newest in the store now, and was ", before.newest,
        " when this run began: another was published or removed meanwhile; "
        "train again, so that the gate compares with what is there"));
  }
  if (now.serving != before.serving) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", now.serving, " of model '", model,
        "' serves now, and version ", before.serving,
        " did when this run began (SERVING.textproto was changed): the new "
        "model was not compared with it; train again"));
  }
  return absl::OkStatus();
}

std::string WhyNotServing(const std::string& model,
                          const Incumbent& incumbent) {
  std::string text;
  if (incumbent.is_pinned) {
    absl::StrAppend(&text, "Version ", incumbent.serving,
                    " is pinned and goes on to serve; what is published serves "
                    "after `sortition models unpin --model=",
                    model, " --reason=...`, or when it is pinned itself.");
  }
  if (incumbent.mode != model::v1::ONLINE &&
      incumbent.mode != model::v1::EXPLORE_ABOVE_BASELINE) {
    absl::StrAppend(&text, text.empty() ? "" : " ",
                    "Users get the caller's baseline as long as the mode is ",
                    model::v1::LearningMode_Name(incumbent.mode), ".");
  }
  return text;
}

}  // namespace sortition
