#include "sidecar/spools/spool_wait.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr int64_t kSayAgainUs = 60'000'000;
constexpr char kMessage[] = "no spool yet: waiting for a server to write one";

}  // namespace

SpoolWait::SpoolWait(const std::vector<std::string>& spools)
    : waits_for_(absl::StrJoin(spools, ",")) {}

void SpoolWait::Update(bool is_found, int64_t now_us) {
  if (is_found) {
    if (!problem_.empty()) LogInfo("spool found", {{"spool", waits_for_}});
    problem_.clear();
    return;
  }
  // A clock that was set back must not silence it.
  const bool is_due =
      problem_.empty() || now_us >= said_us_ + kSayAgainUs || now_us < said_us_;
  problem_ = absl::StrCat(kMessage, " (", waits_for_, ")");
  if (!is_due) return;
  said_us_ = now_us;
  LogWarning(kMessage, {{"spool", waits_for_}});
}

}  // namespace sortition
