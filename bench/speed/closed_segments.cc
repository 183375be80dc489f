#include "bench/speed/closed_segments.h"

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"

namespace sortition {

void RemoveClosedSegments(const std::string& dir) {
  const auto names = ListSegments(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(dir, "/", name);
    const absl::StatusOr<bool> live = SegmentHasLiveWriter(path);
    if (live.ok() && !*live) std::filesystem::remove(path);
  }
}

}  // namespace sortition
