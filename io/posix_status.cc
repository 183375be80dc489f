#include "io/posix_status.h"

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

absl::StatusCode CodeOf(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::StatusCode::kNotFound;
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::StatusCode::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::StatusCode::kResourceExhausted;
    case EEXIST:
    case ENOTEMPTY:
      return absl::StatusCode::kAlreadyExists;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

}  // namespace

absl::Status PosixStatus(int error, const std::string& path,
                         absl::string_view what) {
  return absl::Status(CodeOf(error),
                      absl::StrCat(what, " ", path, ": ", strerror(error)));
}

}  // namespace sortition
