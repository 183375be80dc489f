#include "io/segments/log_paths.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

bool IsDirectory(const std::string& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// Of an entry that matches nothing. A folder that one may not look into is not
// one that is missing.
absl::Status NothingAt(const std::string& entry) {
  std::error_code error;
  if (!fs::exists(entry, error) && error) {
    return absl::ErrnoToStatus(
        error.value(),
        absl::StrCat("'", entry,
                     "' must be readable by the user who runs this program"));
  }
  return absl::NotFoundError(absl::StrCat(
      "'", entry,
      "' does not exist and matches nothing; must be a directory of segments, "
      "a segment, or a pattern of such with *, ? or []"));
}

// Returns whether a file is a segment by its name. Locks and files of other
// kinds lie beside segments.
class SegmentNames {
 public:
  bool Contain(const fs::path& file) {
    const auto [dir, is_new] = names_.try_emplace(file.parent_path().string());
    if (is_new) {
      const std::string parent = dir->first.empty() ? "." : dir->first;
      dir->second = ListSegments(parent).value_or(std::vector<std::string>());
    }
    return std::binary_search(dir->second.begin(), dir->second.end(),
                              file.filename().string());
  }

 private:
  std::map<std::string, std::vector<std::string>> names_;  // By directory.
};

// Returns the directories and segments that match.
std::vector<std::string> Glob(const std::string& pattern) {
  glob_t found = {};
  const absl::Cleanup free = [&found] { globfree(&found); };
  if (glob(pattern.c_str(), 0, nullptr, &found) != 0) return {};
  std::vector<std::string> paths(found.gl_pathv,
                                 found.gl_pathv + found.gl_pathc);
  SegmentNames segments;
  std::erase_if(paths, [&segments](const std::string& path) {
    return !IsDirectory(path) && !segments.Contain(path);
  });
  return paths;
}

// Collects segments, each file once.
class Segments {
 public:
  void Add(const std::string& path, bool is_late) {
    std::error_code error;
    const fs::path file = fs::canonical(path, error);
    if (!seen_.insert(error ? path : file.string()).second) return;
    found_.emplace_back(is_late, fs::path(path).filename().string(), path);
  }

  absl::Status AddDirectory(const std::string& dir, bool is_late) {
    ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
    for (const std::string& name : names) {
      Add((fs::path(dir) / name).string(), is_late);
    }
    return absl::OkStatus();
  }

  std::vector<std::string> Sorted() {
    std::sort(found_.begin(), found_.end());
    std::vector<std::string> paths;
    for (auto& [is_late, name, path] : found_) paths.push_back(std::move(path));
    return paths;
  }

 private:
  std::set<std::string> seen_;  // Without symbolic links.
  std::vector<std::tuple<bool, std::string, std::string>> found_;
};

absl::StatusOr<std::vector<std::string>> Find(
    const std::vector<std::string>& entries, bool with_late) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                   ExpandLogEntries(entries));
  Segments segments;
  std::vector<std::string> dirs;
  for (const std::string& path : paths) {
    if (IsDirectory(path)) {
      dirs.push_back(path);
      RETURN_IF_ERROR(segments.AddDirectory(path, /*is_late=*/false));
    } else {
      segments.Add(path, /*is_late=*/false);
    }
  }
  for (const std::string& dir : dirs) {
    const std::string late = (fs::path(dir) / "late").string();
    if (!with_late || !IsDirectory(late)) continue;
    RETURN_IF_ERROR(segments.AddDirectory(late, /*is_late=*/true));
  }
  return segments.Sorted();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindSegments(
    const std::vector<std::string>& entries) {
  return Find(entries, /*with_late=*/false);
}

absl::StatusOr<std::vector<std::string>> FindSegmentsWithLate(
    const std::vector<std::string>& entries) {
  return Find(entries, /*with_late=*/true);
}

absl::StatusOr<std::vector<std::string>> ExpandLogEntries(
    const std::vector<std::string>& entries) {
  std::vector<std::string> split;
  for (const std::string& entry : entries) {
    const std::vector<std::string> parts = SplitLogEntries(entry);
    // Nothing but commas: the error below names it as it was given.
    if (parts.empty()) split.push_back(entry);
    split.insert(split.end(), parts.begin(), parts.end());
  }
  std::vector<std::string> paths;
  for (const std::string& entry : split) {
    const std::vector<std::string> matches =
        Exists(entry) ? std::vector<std::string>{entry} : Glob(entry);
    if (matches.empty()) return NothingAt(entry);
    paths.insert(paths.end(), matches.begin(), matches.end());
  }
  return paths;
}

std::vector<std::string> SplitLogEntries(absl::string_view value) {
  if (Exists(std::string(value))) return {std::string(value)};
  return absl::StrSplit(value, ',', absl::SkipEmpty());
}

}  // namespace sortition
