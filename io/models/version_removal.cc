#include "io/models/version_removal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/models/store_owner.h"
#include "io/models/version_numbers.h"
#include "io/posix_status.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

// Hidden: nothing takes such a directory for a version.
constexpr absl::string_view kPrefix = ".removed-";

absl::Status Delete(const std::string& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  return error ? PosixStatus(error.value(), path, "cannot remove")
               : absl::OkStatus();
}

}  // namespace

absl::Status RemoveVersion(const std::string& model_dir, uint64_t version) {
  const AsStoreOwner owner(model_dir);
  RETURN_IF_ERROR(KeepNumber(model_dir, version));
  const std::string path = absl::StrCat(model_dir, "/", version);
  const std::string hidden = absl::StrCat(model_dir, "/", kPrefix, version);
  RETURN_IF_ERROR(Delete(hidden));
  if (rename(path.c_str(), hidden.c_str()) != 0) {
    return PosixStatus(errno, path, "cannot rename");
  }
  RETURN_IF_ERROR(SyncDirectory(model_dir));
  return Delete(hidden);
}

absl::Status FinishRemovals(const std::string& model_dir) {
  ASSIGN_OR_RETURN(const auto names, ListDirectory(model_dir));
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, kPrefix)) continue;
    RETURN_IF_ERROR(Delete(absl::StrCat(model_dir, "/", name)));
  }
  return absl::OkStatus();
}

}  // namespace sortition
