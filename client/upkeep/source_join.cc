#include "client/upkeep/source_join.h"

#include "absl/strings/str_cat.h"
#include "io/segments/reward_join.h"

namespace sortition {
namespace {

// Returns how the sidecar joined, or the whole text if no sidecar wrote it.
std::string JoinText(const std::string& options_text) {
  const std::string join = RewardJoinText(options_text);
  return join.empty() ? options_text : join;
}

}  // namespace

absl::Status SourceJoin::Take(const std::string& path,
                              const std::string& options_text) {
  const std::string join = JoinText(options_text);
  if (!join_.has_value()) {
    join_ = join;
    path_ = path;
  }
  if (join != *join_) {
    return absl::FailedPreconditionError(
        absl::StrCat(path_, " and ", path, " were joined in different ways (",
                     *join_, "; ", join, "): compact them one by one"));
  }
  options_text_ = options_text;
  return absl::OkStatus();
}

}  // namespace sortition
