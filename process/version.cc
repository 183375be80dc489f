#include "process/version.h"

namespace sortition {

absl::string_view Version() { return SORTITION_VERSION; }

}  // namespace sortition
