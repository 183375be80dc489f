#include "trainer/ope/column_features.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "trainer/frames/model_frame.h"
#include "trainer/offpolicy/frame_options.h"

namespace sortition {
namespace {

using config::v1::OpeOptions;

// Models of rewards hold dense rows, and hash rows of more features to this
// number (RewardModelSums).
constexpr uint64_t kMaxDrafted = 1024;

// Returns the newest version of the store if it reads columns.
absl::StatusOr<std::optional<StoredModel>> NewestOfColumns(
    const OpeOptions& options) {
  std::optional<StoredModel> none;
  if (options.model_store().empty()) return none;
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(const uint64_t version,
                   NewestVersion(options.model(), store));
  ASSIGN_OR_RETURN(std::optional<StoredModel> newest,
                   LoadIfAny(options.model(), version, store));
  if (newest.has_value() && !newest->model.has_features()) return none;
  return newest;
}

bool IsOfColumns(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsInvalidArgument(status);
}

// Returns the features that a new model of this log would have.
absl::StatusOr<ColumnFeatures> MakeFeatures(const OpeOptions& options) {
  config::v1::TrainOptions reading = ReadingOptions(options);
  reading.set_features(options.features());
  const absl::StatusOr<ModelFrame> frame =
      MakeFrame(reading, std::nullopt, kMaxDrafted);
  if (!frame.ok() && options.features().empty() &&
      IsOfColumns(frame.status())) {
    return ColumnFeatures{
        .features = nullptr,
        .note = absl::StrCat(
            "No model of rewards is fitted, so doubly robust estimators are "
            "left out, because no features could be drafted from the columns "
            "of the log (--features declares them): ",
            frame.status().message())};
  }
  RETURN_IF_ERROR(frame.status());
  if (!frame->has_schema()) return ColumnFeatures();
  return ColumnFeatures{
      .features = frame->features,
      .note = frame->drafted_features.empty()
                  ? absl::StrCat("The model of rewards sees the features of ",
                                 options.features(), ".")
                  : "The model of rewards sees features that were drafted "
                    "from the columns of the log: `sortition-trainer "
                    "suggest-features` prints them, --features declares "
                    "others."};
}

}  // namespace

absl::StatusOr<ColumnFeatures> FindColumnFeatures(const OpeOptions& options,
                                                  const OpeShape& shape) {
  if (options.features().empty()) {
    // Nothing else reads features.
    if (shape.num_features.has_value() || options.reward_model() == "none") {
      return ColumnFeatures{.features = shape.features, .note = ""};
    }
    ASSIGN_OR_RETURN(const std::optional<StoredModel> newest,
                     NewestOfColumns(options));
    if (newest.has_value()) {
      ASSIGN_OR_RETURN(const ModelFrame frame, FrameOf(newest->model));
      return ColumnFeatures{
          .features = frame.features,
          .note = absl::StrCat("The model of rewards sees the features of "
                               "version ",
                               newest->model.version(), ".")};
    }
  }
  return MakeFeatures(options);
}

}  // namespace sortition
