#include "sidecar/status_figures.h"

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "process/status/status_text.h"

namespace sortition {

status::v1::Sidecar StatusFigures(const SidecarCounts& counts,
                                  const std::string& tuple_dir) {
  status::v1::Sidecar figures;
  figures.set_pending(counts.pending);
  figures.set_lag_bytes(counts.spool_lag_bytes);
  figures.set_watermark_us(counts.watermark_us);
  figures.set_tuples(counts.tuples);
  figures.set_censored(counts.censored_tuples);
  figures.set_feedback(counts.join.feedback);
  figures.set_late(counts.late_after_window);
  figures.set_unmatched(counts.late_unknown_decision);
  for (const auto& [reason, count] :
       {std::pair("out_of_range", counts.late_out_of_range),
        std::pair("no_such_candidate", counts.late_no_such_candidate)}) {
    status::v1::Count& invalid = *figures.add_invalid_feedback();
    invalid.set_name(reason);
    invalid.set_count(count);
  }
  if (counts.reward_waits > 0) {
    figures.set_mean_reward_wait_seconds(
        counts.reward_wait_seconds / static_cast<double>(counts.reward_waits));
  }
  figures.set_spools(static_cast<uint32_t>(counts.spools));
  figures.set_tuple_dir(Utf8Text(tuple_dir));
  std::error_code error;
  const auto space = std::filesystem::space(tuple_dir, error);
  if (!error) figures.set_disk_free_bytes(space.available);
  return figures;
}

}  // namespace sortition
