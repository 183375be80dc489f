#include "client/validation/log_check.h"

#include "absl/strings/str_cat.h"

namespace sortition {

void Offences::Add(const LogEntry& entry, absl::string_view what) {
  if (++count_ > 1) return;
  first_ = absl::StrCat(
      entry.file, " offset ", entry.offset,
      entry.decision == nullptr ? "" : " decision ",
      entry.decision == nullptr ? "" : entry.decision->decision_id(), ": ",
      what);
}

std::string Offences::Text(uint64_t of, absl::string_view things) const {
  return absl::StrCat(count_, " of ", of, " ", things, ", first ", first_);
}

Finding Verdict(const Offences& offences, Level level, uint64_t of,
                absl::string_view things, const std::string& good) {
  if (offences.count() == 0) return {Level::kPass, good};
  return {level, offences.Text(of, things)};
}

}  // namespace sortition
