#include "trainer/tuples/scan/left_out_report.h"

#include <map>

#include "absl/strings/str_format.h"

namespace sortition {

void AppendLeftOut(const LeftOut& left_out, std::string* text) {
  if (left_out.kept_fraction < 1) {
    absl::StrAppendFormat(
        text, "  sub-sampled to %.4g %% of the decisions to fit memory_mb\n",
        100 * left_out.kept_fraction);
  }
  if (left_out.corrupt_records > 0) {
    absl::StrAppendFormat(text, "  %d damaged records passed over\n",
                          left_out.corrupt_records);
  }
  // They are sorted here, because the order of a proto map is not fixed.
  const std::map<std::string, uint64_t> sorted(left_out.excluded.begin(),
                                               left_out.excluded.end());
  for (const auto& [reason, count] : sorted) {
    absl::StrAppendFormat(text, "  %d left out: %s\n", count, reason);
  }
}

}  // namespace sortition
