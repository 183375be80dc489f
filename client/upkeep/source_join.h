#pragma once
// How the tuples of several segments were joined.
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace sortition {

// Holds the options of segments that were joined in one way. Options that do
// not change the meaning of a reward may differ, and so may keep_probability,
// which is in each tuple.
class SourceJoin {
 public:
  // Takes the options in the header of the segment `path`. FailedPrecondition,
  // naming both segments, if another one was joined differently.
  absl::Status Take(const std::string& path, const std::string& options_text);

  // The options taken last.
  const std::string& options_text() const { return options_text_; }

 private:
  std::optional<std::string> join_;
  std::string path_;  // Of the first segment.
  std::string options_text_;
};

}  // namespace sortition
