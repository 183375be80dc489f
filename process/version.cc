#include "process/version.h"

#include "absl/strings/str_cat.h"

namespace sortition {

absl::string_view Version() { return SORTITION_VERSION; }

std::string VersionText(absl::string_view program) {
  const auto or_else = [](absl::string_view text, absl::string_view other) {
    return text.empty() ? other : text;
  };
  return absl::StrCat(
      program, " ", Version(), "\n",
      "commit: ", or_else(SORTITION_COMMIT, "unknown"), "\n",
      "build: ", or_else(SORTITION_BUILD_TYPE, "no type"), ", compiler ",
      SORTITION_COMPILER, ", sanitizers ", or_else(SORTITION_SANITIZE, "none"),
      "\noptional parts: ", or_else(SORTITION_OPTIONAL_PARTS, "none"), "\n",
      "libraries: ", SORTITION_LIBRARIES, "\n");
}

}  // namespace sortition
