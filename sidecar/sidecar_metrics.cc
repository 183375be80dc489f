#include "sidecar/sidecar_metrics.h"

#include <string>

namespace sortition {
namespace {

// Rewards come within seconds (clicks) up to days (purchases).
const std::vector<double> kRewardLatencySeconds = {
    0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 1800, 3600, 21600, 86400};

}  // namespace

SidecarMetrics::SidecarMetrics(Metrics* metrics) {
  const auto add = [&](const char* name, const char* help, Read read,
                       const MetricLabels& labels = {}) {
    counters_.push_back(
        {metrics->Counter(std::string("sortition_") + name, help, labels),
         std::move(read)});
  };
  const auto count = [](auto member) -> Read {
    return [member](const SidecarCounts& counts) { return counts.*member; };
  };
  const auto join = [](auto member) -> Read {
    return
        [member](const SidecarCounts& counts) { return counts.join.*member; };
  };
  const auto tail = [](auto member) -> Read {
    return
        [member](const SidecarCounts& counts) { return counts.tail.*member; };
  };

  add("join_decisions_total", "Decisions read, duplicates not counted",
      join(&JoinCounts::decisions));
  add("join_duplicate_decisions_total", "Decisions dropped: id seen before",
      join(&JoinCounts::duplicate_decisions));
  add("join_shown_total", "Shown records joined", join(&JoinCounts::shown));
  add("join_unused_shown_total",
      "Shown records dropped: second, late or of no known decision",
      join(&JoinCounts::unused_shown));
  add("join_feedback_total", "Feedback joined", join(&JoinCounts::feedback));
  add("join_duplicate_feedback_total", "Feedback dropped: id seen before",
      join(&JoinCounts::duplicate_feedback));
  const char* late_help = "Late feedback written to late segments";
  add("join_late_total", late_help, count(&SidecarCounts::late_after_window),
      {{"reason", "after_window"}});
  add("join_late_total", late_help,
      count(&SidecarCounts::late_unknown_decision),
      {{"reason", "unknown_decision"}});
  const char* tuples_help = "Tuples written";
  add("join_tuples_total", tuples_help, count(&SidecarCounts::matched),
      {{"reward", "matched"}});
  add("join_tuples_total", tuples_help, count(&SidecarCounts::defaulted),
      {{"reward", "default"}});
  add("join_not_shown_total", "Decisions left out by only_if_shown",
      count(&SidecarCounts::not_shown));
  add("join_written_before_total",
      "Decisions read again whose tuple was written before a restart",
      count(&SidecarCounts::written_before));

  add("sidecar_spool_read_bytes_total", "Payload bytes read from the spool",
      tail(&TailCounts::bytes));
  add("sidecar_corrupt_records_total", "Damaged records passed over",
      tail(&TailCounts::corrupt_records));
  add("sidecar_malformed_records_total",
      "Records with a good checksum that make no sense",
      count(&SidecarCounts::malformed_records));
  add("sidecar_unreadable_decisions_total",
      "Decisions without a tuple: damaged between reading and writing",
      count(&SidecarCounts::unreadable_decisions));
  add("sidecar_gap_records_total", "Records that the server reported as lost",
      count(&SidecarCounts::gap_records));
  add("sidecar_recovered_segments_total", "Spool segments of dead writers",
      tail(&TailCounts::recovered_segments));
  add("sidecar_torn_bytes_total", "Bytes cut from torn tails",
      tail(&TailCounts::torn_bytes), {{"of", "spool"}});
  add("sidecar_torn_bytes_total", "Bytes cut from torn tails",
      count(&SidecarCounts::output_torn_bytes), {{"of", "output"}});
  add("sidecar_out_of_order_segments_total",
      "Segments that sort before the place that was reached",
      tail(&TailCounts::out_of_order_segments));
  add("sidecar_full_disk_retries_total", "Writes put off: disk full",
      count(&SidecarCounts::full_disk_retries));
  add("sidecar_removed_segments_total", "Spool segments removed",
      count(&SidecarCounts::removed_segments));

  pending_ = metrics->Gauge("sortition_join_pending_decisions",
                            "Decisions whose window is open");
  spool_lag_bytes_ =
      metrics->Gauge("sortition_sidecar_spool_lag_bytes",
                     "Bytes in the spool not read yet, preallocated included");
  watermark_seconds_ =
      metrics->Gauge("sortition_join_watermark_seconds",
                     "Log time up to which all is read, since the epoch");
  reward_latency_ = metrics->Histogram("sortition_join_reward_latency_seconds",
                                       "From decision to feedback that counted",
                                       kRewardLatencySeconds);
}

void SidecarMetrics::Update(const SidecarCounts& counts) {
  for (const Counter& counter : counters_) {
    const double added =
        static_cast<double>(counter.read(counts)) - counter.metric->value();
    if (added > 0) counter.metric->Increment(added);
  }
  pending_->Set(static_cast<double>(counts.pending));
  spool_lag_bytes_->Set(static_cast<double>(counts.spool_lag_bytes));
  watermark_seconds_->Set(static_cast<double>(counts.watermark_us) * 1e-6);
}

}  // namespace sortition
