#include "io/models/version_numbers.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

std::string ClaimsOf(const std::string& model_dir) {
  return absl::StrCat(model_dir, "/.numbers");
}

// Returns the claims, ascending.
absl::StatusOr<std::vector<uint64_t>> ListClaims(const std::string& dir) {
  std::vector<uint64_t> claims;
  const auto names = ListDirectory(dir);
  if (absl::IsNotFound(names.status())) return claims;
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    uint64_t number = 0;
    if (absl::SimpleAtoi(name, &number)) claims.push_back(number);
  }
  std::sort(claims.begin(), claims.end());
  return claims;
}

// The directory survives a power cut.
absl::Status MakeClaims(const std::string& model_dir) {
  const std::string dir = ClaimsOf(model_dir);
  if (mkdir(dir.c_str(), 0755) == 0) return SyncDirectory(model_dir);
  if (errno == EEXIST) return absl::OkStatus();
  return PosixStatus(errno, dir, "cannot create");
}

}  // namespace

absl::StatusOr<uint64_t> LargestClaim(const std::string& model_dir) {
  ASSIGN_OR_RETURN(const std::vector<uint64_t> claims,
                   ListClaims(ClaimsOf(model_dir)));
  return claims.empty() ? 0 : claims.back();
}

absl::StatusOr<uint64_t> ClaimNumber(const std::string& model_dir,
                                     uint64_t used) {
  const std::string dir = ClaimsOf(model_dir);
  RETURN_IF_ERROR(MakeClaims(model_dir));
  while (true) {
    ASSIGN_OR_RETURN(const uint64_t largest, LargestClaim(model_dir));
    const uint64_t number = std::max(largest, used) + 1;
    const std::string path = absl::StrCat(dir, "/", number);
    const int fd =
        open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 && errno == EEXIST) continue;  // Another one was faster.
    if (fd < 0) return PosixStatus(errno, path, "cannot create");
    close(fd);
    // After a power cut, no number that was used may be given again.
    RETURN_IF_ERROR(SyncDirectory(dir));
    // Others may have claimed this number and a larger one since, and removed
    // the smaller. Larger claims are made before smaller ones are removed.
    ASSIGN_OR_RETURN(const std::vector<uint64_t> claims, ListClaims(dir));
    for (const uint64_t claim : claims) {
      if (claim < claims.back()) {
        unlink(absl::StrCat(dir, "/", claim).c_str());
      }
    }
    if (number == claims.back()) return number;
  }
}

absl::Status KeepNumber(const std::string& model_dir, uint64_t number) {
  ASSIGN_OR_RETURN(const uint64_t largest, LargestClaim(model_dir));
  if (number <= largest) return absl::OkStatus();
  const std::string dir = ClaimsOf(model_dir);
  RETURN_IF_ERROR(MakeClaims(model_dir));
  RETURN_IF_ERROR(WriteFile(absl::StrCat(dir, "/", number), ""));
  return SyncDirectory(dir);
}

}  // namespace sortition
