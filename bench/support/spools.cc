#include "bench/support/spools.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "io/spool/spool_writer.h"

namespace sortition {
namespace {

constexpr int kFeedbackEvery = 4;

}  // namespace

absl::StatusOr<uint64_t> WriteSpool(const std::string& dir,
                                    log::v1::Decision decision,
                                    std::span<const float> features,
                                    int num_decisions) {
  config::v1::SpoolOptions options;
  options.set_dir(dir);
  options.set_max_bytes(uint64_t{1} << 40);
  ASSIGN_OR_RETURN(const std::unique_ptr<SpoolWriter> spool,
                   SpoolWriter::Open(options, ""));
  const int64_t end_us = NowUs() - int64_t{3600} * 1000000;
  std::vector<log::v1::LogRecord> record(1);
  log::v1::Feedback& feedback = *record[0].mutable_feedback();
  for (int i = 0; i < num_decisions; ++i) {
    const int64_t time_us = end_us - (num_decisions - i) * int64_t{50};
    const std::string id = absl::StrFormat("%036d", i);
    decision.set_decision_id(id);
    decision.set_time_us(time_us);
    RETURN_IF_ERROR(spool->AppendDecision(decision, features));
    if (i % kFeedbackEvery != 0) continue;
    feedback.set_feedback_id(id);
    feedback.set_decision_id(id);
    feedback.set_time_us(time_us + 1);
    feedback.set_reward(1);
    RETURN_IF_ERROR(spool->Append(record));
  }
  RETURN_IF_ERROR(spool->Close());
  return spool->stats().bytes;
}

void RemoveClosedSegments(const std::string& dir) {
  const auto names = ListSegments(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const std::string path = absl::StrCat(dir, "/", name);
    const absl::StatusOr<bool> live = SegmentHasLiveWriter(path);
    if (live.ok() && !*live) std::filesystem::remove(path);
  }
}

std::string ProgramDirectory(const std::string& flag) {
  if (!flag.empty()) return flag;
  return std::filesystem::read_symlink("/proc/self/exe").parent_path();
}

std::string SpoolParent(const std::string& flag, const std::string& bin) {
  if (!flag.empty() || std::getenv("TMPDIR") != nullptr) return flag;
  return bin;
}

}  // namespace sortition
