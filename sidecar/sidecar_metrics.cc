#include "sidecar/sidecar_metrics.h"

#include <string>
#include <utility>

#include "absl/strings/ascii.h"

namespace sortition {
namespace {

// Rewards take seconds (clicks) to days (purchases).
std::vector<double> RewardLatencySeconds() {
  return {0.01, 0.1, 0.5,  1,    2,     5,     10,     30,    60,
          300,  600, 1800, 3600, 21600, 86400, 259200, 604800};
}

using Read = std::function<uint64_t(const SidecarCounts&)>;

Read Count(uint64_t SidecarCounts::*member) {
  return [member](const SidecarCounts& counts) { return counts.*member; };
}
Read Join(uint64_t JoinCounts::*member) {
  return [member](const SidecarCounts& counts) { return counts.join.*member; };
}
Read Tail(uint64_t TailCounts::*member) {
  return [member](const SidecarCounts& counts) { return counts.tail.*member; };
}
Read Keeper(uint64_t TupleKeeperCounts::*member) {
  return
      [member](const SidecarCounts& counts) { return counts.keeper.*member; };
}

}  // namespace

void SidecarMetrics::Add(Metrics* metrics, const char* name, const char* help,
                         Read read, const MetricLabels& labels) {
  counters_.push_back(
      {metrics->Counter(std::string("sortition_") + name, help, labels),
       std::move(read)});
}

void SidecarMetrics::AddJoinCounters(Metrics* metrics) {
  Add(metrics, "join_decisions_total", "Decisions read, duplicates not counted",
      Join(&JoinCounts::decisions));
  Add(metrics, "join_duplicate_decisions_total",
      "Decisions dropped because their id was seen before",
      Join(&JoinCounts::duplicate_decisions));
  Add(metrics, "join_shown_total",
      "Shown records joined, without reports of viewports alone",
      Join(&JoinCounts::shown));
  Add(metrics, "join_unused_shown_total",
      "Shown records dropped: page reported before, late, or decision unknown",
      Join(&JoinCounts::unused_shown));
  Add(metrics, "join_viewport_reports_total",
      "Reports of how far users looked; the largest of a decision is kept",
      Join(&JoinCounts::viewports));
  Add(metrics, "join_pages_left_out_total",
      "Pages that were shown, left out of tuples because one before is missing",
      Join(&JoinCounts::pages_left_out));
  Add(metrics, "join_feedback_total", "Feedback joined",
      Join(&JoinCounts::feedback));
  Add(metrics, "join_duplicate_feedback_total",
      "Feedback dropped because its id was seen before",
      Join(&JoinCounts::duplicate_feedback));
  const char* late_help = "Late feedback written to late segments";
  Add(metrics, "join_late_total", late_help,
      Count(&SidecarCounts::late_after_window), {{"reason", "after_window"}});
  Add(metrics, "join_late_total", late_help,
      Count(&SidecarCounts::late_unknown_decision),
      {{"reason", "unknown_decision"}});
  Add(metrics, "join_late_total", late_help,
      Count(&SidecarCounts::late_out_of_range), {{"reason", "out_of_range"}});
  Add(metrics, "join_late_total", late_help,
      Count(&SidecarCounts::late_no_such_candidate),
      {{"reason", "no_such_candidate"}});
  Add(metrics, "join_late_total", late_help,
      Count(&SidecarCounts::late_too_many), {{"reason", "too_many"}});
  Add(metrics, "join_held_overflow_total",
      "Records late because too many wait for an unknown decision",
      Join(&JoinCounts::held_overflow));
  Add(metrics, "join_corrected_times_total",
      "Records stamped in the future, which count as of now",
      Join(&JoinCounts::corrected_times));
  Add(metrics, "join_shadow_views_total", "Views of shadows joined",
      Join(&JoinCounts::views));
  const char* views_help = "Views of shadows dropped";
  Add(metrics, "join_dropped_shadow_views_total", views_help,
      Join(&JoinCounts::duplicate_views), {{"reason", "duplicate"}});
  Add(metrics, "join_dropped_shadow_views_total", views_help,
      Join(&JoinCounts::late_views), {{"reason", "after_window"}});
  Add(metrics, "join_dropped_shadow_views_total", views_help,
      Join(&JoinCounts::unknown_views), {{"reason", "unknown_decision"}});
  Add(metrics, "join_dropped_shadow_views_total", views_help,
      Count(&SidecarCounts::unreadable_views), {{"reason", "unreadable"}});
  const char* tuples_help = "Tuples written";
  Add(metrics, "join_tuples_total", tuples_help, Count(&SidecarCounts::matched),
      {{"reward", "matched"}});
  Add(metrics, "join_tuples_total", tuples_help,
      Count(&SidecarCounts::defaulted), {{"reward", "default"}});
  for (int i = 1; i < log::v1::CensorReason_ARRAYSIZE; ++i) {
    const auto reason = static_cast<log::v1::CensorReason>(i);
    Add(metrics, "join_censored_tuples_total",
        "Tuples that learners leave out because feedback may be missing",
        [i](const SidecarCounts& counts) { return counts.censored[i]; },
        {{"reason",
          absl::AsciiStrToLower(log::v1::CensorReason_Name(reason))}});
  }
  Add(metrics, "join_ambiguous_decisions_total",
      "Decisions without a tuple because their id has two answers",
      Count(&SidecarCounts::ambiguous_decisions));
  Add(metrics, "join_not_shown_total", "Decisions left out by only_if_shown",
      Count(&SidecarCounts::not_shown));
  Add(metrics, "join_unreported_abstentions_total",
      "Abstentions and empty subsets left out by only_if_shown because no "
      "report said what was shown",
      Count(&SidecarCounts::unreported_abstentions));
  Add(metrics, "join_sampled_out_total",
      "Decisions left out by keep_probability",
      Count(&SidecarCounts::sampled_out));
  Add(metrics, "join_written_before_total",
      "Decisions read again after a restart whose tuple is written",
      Count(&SidecarCounts::written_before));
}

void SidecarMetrics::AddSidecarCounters(Metrics* metrics) {
  Add(metrics, "sidecar_spool_read_bytes_total",
      "Payload bytes read from the spool", Tail(&TailCounts::bytes));
  Add(metrics, "sidecar_corrupt_records_total", "Damaged records skipped",
      Tail(&TailCounts::corrupt_records));
  Add(metrics, "sidecar_missing_records_total",
      "Records that the numbers of segments show to be lost or damaged",
      Tail(&TailCounts::missing_records));
  Add(metrics, "sidecar_malformed_records_total",
      "Records with a good checksum and malformed content",
      Count(&SidecarCounts::malformed_records));
  Add(metrics, "sidecar_unreadable_decisions_total",
      "Decisions without a tuple: damaged between reading and writing",
      Count(&SidecarCounts::unreadable_decisions));
  Add(metrics, "sidecar_gap_records_total",
      "Records that the server reports as lost",
      Count(&SidecarCounts::gap_records));
  Add(metrics, "sidecar_recovered_segments_total",
      "Spool segments recovered from dead writers",
      Tail(&TailCounts::recovered_segments));
  Add(metrics, "sidecar_torn_bytes_total", "Bytes cut from torn tails",
      Tail(&TailCounts::torn_bytes), {{"of", "spool"}});
  Add(metrics, "sidecar_torn_bytes_total", "Bytes cut from torn tails",
      Count(&SidecarCounts::output_torn_bytes), {{"of", "output"}});
  Add(metrics, "sidecar_out_of_order_segments_total",
      "Segments that appeared before the place already reached",
      Tail(&TailCounts::out_of_order_segments));
  Add(metrics, "sidecar_full_disk_retries_total",
      "Writes delayed because the disk is full",
      Count(&SidecarCounts::full_disk_retries));
  Add(metrics, "sidecar_removed_segments_total", "Spool segments removed",
      Count(&SidecarCounts::removed_segments));
  Add(metrics, "sidecar_foreign_feedback_total",
      "Feedback for decisions of servers whose spools are not read here",
      Count(&SidecarCounts::foreign_feedback));
  Add(metrics, "sidecar_unknown_feedback_total",
      "Feedback for other decisions that no spool has, old ones not counted",
      Count(&SidecarCounts::unknown_feedback));
  Add(metrics, "sidecar_incomplete_marks_total",
      "Windows for which the log was marked incomplete",
      Count(&SidecarCounts::incomplete_marks));
}

void SidecarMetrics::AddKeeperCounters(Metrics* metrics) {
  Add(metrics, "sidecar_compressed_segments_total", "Tuple segments compressed",
      Keeper(&TupleKeeperCounts::compressed_segments));
  const char* bytes_help = "Bytes of the tuple segments that were compressed";
  Add(metrics, "sidecar_compressed_bytes_total", bytes_help,
      Keeper(&TupleKeeperCounts::bytes_before), {{"of", "before"}});
  Add(metrics, "sidecar_compressed_bytes_total", bytes_help,
      Keeper(&TupleKeeperCounts::bytes_after), {{"of", "after"}});
  Add(metrics, "sidecar_expired_segments_total",
      "Tuple and late segments removed by keep_tuples_seconds and "
      "keep_tuples_bytes",
      Keeper(&TupleKeeperCounts::removed_segments));
  Add(metrics, "sidecar_expired_bytes_total", "Bytes of these segments",
      Keeper(&TupleKeeperCounts::removed_bytes));
  expired_seconds_ = metrics->Gauge(
      "sortition_sidecar_expired_timestamp_seconds",
      "When the newest of these segments began, seconds since the epoch; 0: "
      "none was removed since the start");
  Add(metrics, "sidecar_upkeep_failures_total",
      "Rounds of compression and removal that ended with an error",
      Keeper(&TupleKeeperCounts::failures));
}

SidecarMetrics::SidecarMetrics(Metrics* metrics, double window_seconds)
    : model_rewards_(metrics) {
  AddJoinCounters(metrics);
  AddSidecarCounters(metrics);
  AddKeeperCounters(metrics);
  spools_ = metrics->Gauge("sortition_sidecar_spools", "Spools that are read");
  pending_ = metrics->Gauge("sortition_join_pending_decisions",
                            "Decisions whose window is open");
  spool_lag_bytes_ = metrics->Gauge(
      "sortition_sidecar_spool_lag_bytes",
      "Bytes in the spool not read yet, including preallocated ones");
  watermark_seconds_ = metrics->Gauge(
      "sortition_join_watermark_seconds",
      "Log time up to which all is read, seconds since the epoch");
  reward_latency_ = metrics->Histogram(
      "sortition_join_reward_latency_seconds",
      "Time from a decision to the feedback that counted, seconds",
      RewardLatencySeconds());
  metrics
      ->Gauge("sortition_join_window_seconds",
              "Longest time from a decision to feedback that counts (option "
              "join.reward_wait_time_seconds)")
      ->Set(window_seconds);
}

void SidecarMetrics::ObserveTuple(const ClosedDecision& closed,
                                  const DecidingModel& model) {
  for (const JoinedRecord& record : closed.records) {
    if (record.is_shown) continue;
    reward_latency_->Observe(
        1e-6 * static_cast<double>(record.time_us - closed.time_us));
  }
  if (!closed.censored.empty()) return;
  model_rewards_.Add(model.name, model.version, closed.has_feedback,
                     closed.reward);
}

void SidecarMetrics::Update(const SidecarCounts& counts) {
  for (const Counter& counter : counters_) {
    const double added =
        static_cast<double>(counter.read(counts)) - counter.metric->value();
    if (added > 0) counter.metric->Increment(added);
  }
  spools_->Set(static_cast<double>(counts.spools));
  pending_->Set(static_cast<double>(counts.pending));
  spool_lag_bytes_->Set(static_cast<double>(counts.spool_lag_bytes));
  expired_seconds_->Set(static_cast<double>(counts.keeper.removed_began_us) *
                        1e-6);
  watermark_seconds_->Set(static_cast<double>(counts.watermark_us) * 1e-6);
}

}  // namespace sortition
