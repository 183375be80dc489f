#include "io/spool/find_spools.h"

#include <glob.h>

#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "io/segments/segment.h"
#include "io/spool/writer_state.h"

namespace sortition {
namespace {

bool IsSpool(const std::string& dir) {
  std::error_code error;
  if (std::filesystem::exists(absl::StrCat(dir, "/", kWriterLockFile), error)) {
    return true;
  }
  const auto names = ListSegments(dir);
  return names.ok() && !names->empty();
}

}  // namespace

bool IsSpoolPattern(absl::string_view path) {
  return absl::StrContains(path, '*');
}

absl::StatusOr<std::vector<std::string>> FindSpools(
    const std::string& pattern) {
  glob_t found = {};
  const absl::Cleanup release = [&found] { globfree(&found); };
  const int error = glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  if (error != 0 && error != GLOB_NOMATCH) {
    return absl::UnavailableError(
        absl::StrCat("cannot look for spools ", pattern));
  }
  std::vector<std::string> spools;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    if (IsSpool(found.gl_pathv[i])) spools.emplace_back(found.gl_pathv[i]);
  }
  return spools;
}

}  // namespace sortition
