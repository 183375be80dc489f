"""The log: what the servers write, what the sidecar makes of it."""
from dashboards.panels import dashboard, graph, number, quantile, rate, section, share, total, variable

ALL = 'instance=~"$instance"'
SIDECAR = 'job=~"sortition-(sidecar|consumer)", instance=~"$instance"'

LATE = "sortition_join_late_total"
FEEDBACK = "sortition_join_feedback_total"
TUPLES = "sortition_join_tuples_total"


def increase(metric, labels=ALL):
    return f"sum(increase({metric}{{{labels}}}[$__rate_interval]))"


NOW = section(
    "Now",
    number("Logs that fail", "none", "Servers whose spool is not ok. Their logs name the error.",
           f'count(sortition_spool_state{{{ALL}, state="ok"}} == 0) or vector(0)', bad_above=1),
    number("Spool used", "percentunit", "The fullest spool, of spool.max_bytes. Above a half the "
           "sidecar is behind or down.",
           f"max(sortition_spool_size_bytes{{{ALL}}} / sortition_spool_max_bytes{{{ALL}}})",
           bad_above=0.5),
    number("Lost or refused", "none", "Records of the last hour that are not in the log. Any is too "
           "many: the disk is full or fails.",
           f"sum(increase(sortition_spool_lost_records_total{{{ALL}}}[1h])) + "
           f"sum(increase(sortition_spool_refused_total{{{ALL}}}[1h]))", bad_above=1),
    number("Sidecar behind", "s", "Age of what the sidecar reads now. Above five minutes it is stuck "
           "or too slow.", f"max(time() - sortition_join_watermark_seconds{{{ALL}}})", bad_above=300),
    number("Censored", "percentunit", "Share of tuples that nobody may learn from. Above a tenth see "
           "the reasons below.",
           share(rate("sortition_join_censored_tuples_total", ALL), rate(TUPLES, ALL)),
           bad_above=0.1),
    number("Late", "percentunit", "Share of feedback that came after its window, or for nothing. "
           "Above 5 % make join.reward_wait_time_seconds longer.",
           share(rate(LATE, ALL), f"({rate(LATE, ALL)} + {rate(FEEDBACK, ALL)})"), bad_above=0.05))

SPOOL = section(
    "Spool",
    graph("Records", "ops", "Decisions, reports and views per second, by server.",
          (rate("sortition_spool_records_total", ALL, "instance"), "{{instance}}")),
    graph("Bytes", "Bps", "Multiply by how long the sidecar may be down to choose spool.max_bytes.",
          (rate("sortition_spool_bytes_total", ALL, "instance"), "{{instance}}")),
    graph("State", "none", "1 for the state that a spool is in. full: the sidecar or the disk; "
          "io_error, sync_failed: the disk; stalled: fdatasync does not return.",
          (total(f'sortition_spool_state{{{ALL}, state!="ok"}}', "instance, state"),
           "{{instance}} {{state}}"), steps=True),
    graph("Size", "bytes", "Falls when the sidecar removes segments. If it only grows, the sidecar "
          "is down.",
          (total(f"sortition_spool_size_bytes{{{ALL}}}", "instance"), "{{instance}}"),
          (total(f"sortition_spool_max_bytes{{{ALL}}}", "instance"), "limit of {{instance}}"),
          dashed="^limit"),
    graph("Free space on its disk", "bytes", "Should be more than what the spool may still grow.",
          (total(f"sortition_spool_disk_free_bytes{{{ALL}}}", "instance"), "{{instance}}")),
    graph("Refused, lost, saved", "ops", "Refused or lost records are not in the log. Saved ones were "
          "written again after a failed fdatasync: replace the disk.",
          (rate("sortition_spool_refused_total", ALL), "refused"),
          (rate("sortition_spool_lost_records_total", ALL), "lost"),
          (rate("sortition_spool_saved_records_total", ALL), "saved")),
    graph("Time of an append", "s", "On the way of every request. Milliseconds mean that the page "
          "cache waits for the disk.",
          (quantile(0.5, "sortition_spool_append_seconds", ALL), "median"),
          (quantile(0.99, "sortition_spool_append_seconds", ALL), "99 %")),
    graph("Time of fdatasync", "s", "Under POWER answers wait for one or two of these.",
          (quantile(0.5, "sortition_spool_sync_seconds", ALL), "median"),
          (quantile(0.99, "sortition_spool_sync_seconds", ALL), "99 %")),
    graph("Answers that wait for the disk", "none", "Under POWER, and how long the first of them has "
          "waited, in seconds.",
          (total(f"sortition_spool_waiting{{{ALL}}}"), "waiting"),
          (f"max(sortition_spool_longest_wait_seconds{{{ALL}}})", "longest, seconds")))

SIDECAR_SECTION = section(
    "Sidecar",
    graph("Behind", "s", "Age of what is read now. A line that rises steadily: stuck; see its log.",
          (f"time() - sortition_join_watermark_seconds{{{ALL}}}", "{{instance}}")),
    graph("Not read yet", "bytes", "Preallocated bytes included, so it is never quite 0.",
          (total(f"sortition_sidecar_spool_lag_bytes{{{ALL}}}", "instance"), "{{instance}}")),
    graph("Read", "Bps", "If it is below what servers write for long, the sidecar is too slow.",
          (rate("sortition_sidecar_spool_read_bytes_total", ALL, "instance"), "{{instance}}")),
    graph("Decisions whose window is open", "none", "Rate of decisions times the window; each takes "
          "some bytes of memory.",
          (total(f"sortition_join_pending_decisions{{{ALL}}}", "instance"), "{{instance}}")),
    graph("Damaged, missing, lost", "none", "Damaged or missing: disk, memory, or a removed segment. "
          "Gaps: the server could not log.",
          (increase("sortition_sidecar_corrupt_records_total"), "damaged"),
          (increase("sortition_sidecar_malformed_records_total"), "without meaning"),
          (increase("sortition_sidecar_missing_records_total"), "missing"),
          (increase("sortition_sidecar_gap_records_total"), "gaps"),
          (increase("sortition_sidecar_unreadable_decisions_total"), "unreadable")),
    graph("Segments", "ops", "Recovered ones are of servers that died. Removed ones are safe "
          "downstream.",
          (rate("sortition_sidecar_removed_segments_total", ALL), "removed"),
          (rate("sortition_sidecar_recovered_segments_total", ALL), "recovered"),
          (rate("sortition_sidecar_expired_segments_total", ALL), "tuples, too old"),
          (rate("sortition_sidecar_compressed_segments_total", ALL), "tuples, compressed")),
    graph("Trouble with the disk", "none", "Writes put off because the disk is full, and rounds of "
          "compression or removal that failed. The sidecar's log names the error.",
          (increase("sortition_sidecar_full_disk_retries_total"), "full"),
          (increase("sortition_sidecar_upkeep_failures_total"), "upkeep failed")),
    graph("Processor", "percentunit", "One thread joins: at 1 it can do no more.",
          (f"rate(process_cpu_seconds_total{{{SIDECAR}}}[$__rate_interval])", "{{instance}}")),
    graph("Memory", "bytes", "Follows the number of open decisions.",
          (f"process_resident_memory_bytes{{{SIDECAR}}}", "{{instance}}")))

JOIN = section(
    "Join",
    graph("Tuples", "ops", "With feedback, or with the default reward because none came.",
          (rate(TUPLES, ALL, "reward"), "{{reward}}"), stacked=True),
    graph("Share with feedback", "percentunit", "A fall: a front end reports no more, or reports to "
          "another server.",
          (share(rate(TUPLES, ALL + ', reward="matched"'), rate(TUPLES, ALL)), "matched")),
    graph("Feedback", "ops", "Joined, and dropped because its id was seen before.",
          (rate(FEEDBACK, ALL), "joined"),
          (rate("sortition_join_duplicate_feedback_total", ALL), "duplicates")),
    graph("Delay of feedback", "s", "From the decision. Where the 95 % line comes near the window, "
          "rewards are cut off: make join.reward_wait_time_seconds longer.",
          (quantile(0.5, "sortition_join_reward_latency_seconds", ALL), "median"),
          (quantile(0.95, "sortition_join_reward_latency_seconds", ALL), "95 %"),
          (f"max(sortition_join_window_seconds{{{ALL}}})", "window"), dashed="^window"),
    graph("Late feedback", "ops", "after_window: the window is too short. unknown_decision: two "
          "windows late, wrong ids, or another server's. out_of_range: rewards that cannot be. "
          "no_such_candidate: an index or rank that the request did not have.",
          (rate(LATE, ALL, "reason"), "{{reason}}"), stacked=True),
    graph("Censored tuples", "percentunit", "Share by reason; learners leave them out, because their "
          "feedback may be missing (docs/join.md).",
          (f"{rate('sortition_join_censored_tuples_total', ALL, 'reason')} / on () group_left () "
           f"{rate(TUPLES, ALL)}", "{{reason}}"), stacked=True),
    graph("Decisions left out", "ops", "By sampling, because they were not shown, because their id "
          "was seen, or because it has two answers.",
          (rate("sortition_join_sampled_out_total", ALL), "sampled out"),
          (rate("sortition_join_not_shown_total", ALL), "not shown"),
          (rate("sortition_join_duplicate_decisions_total", ALL), "duplicates"),
          (rate("sortition_join_ambiguous_decisions_total", ALL), "two answers")),
    graph("Shown", "ops", "Reports of what users saw.",
          (rate("sortition_join_shown_total", ALL), "joined"),
          (rate("sortition_join_viewport_reports_total", ALL), "viewports"),
          (rate("sortition_join_unused_shown_total", ALL), "not joined")),
    graph("Feedback for decisions that are not here", "none", "Of other servers or of nobody. One "
          "sidecar must read all spools, or feedback must go to the server of its decision.",
          (increase("sortition_sidecar_foreign_feedback_total"), "of other servers"),
          (increase("sortition_sidecar_unknown_feedback_total"), "unknown"),
          (increase("sortition_join_held_overflow_total"), "too much to keep"),
          (increase("sortition_sidecar_incomplete_marks_total"), "windows marked incomplete")))

STREAMS = section(
    "Streams",
    graph("Not in the stream yet", "bytes", "Of the spool. Rises while the broker is away.",
          (total(f"sortition_ship_lag_bytes{{{ALL}}}", "instance"), "{{instance}}")),
    graph("Messages", "ops", "Published and taken; the same in the long run.",
          (rate("sortition_ship_messages_total", ALL), "published"),
          (rate("sortition_mirror_messages_total", ALL), "taken"),
          (rate("sortition_mirror_redelivered_total", ALL), "came again")),
    graph("Failures", "none", "Attempts that failed, and what the stream lost.",
          (increase("sortition_ship_failures_total"), "publishing"),
          (increase("sortition_mirror_failures_total"), "reading"),
          (increase("sortition_ship_restarts_total"), "published all again"),
          (increase("sortition_mirror_missing_total"), "lost for good")),
    graph("Stream", "bytes", "Near its limit the consumer does not keep up.",
          (f"max(sortition_stream_bytes{{{ALL}}})", "size"),
          (f"max(sortition_stream_max_bytes{{{ALL}}})", "limit"), dashed="^limit"),
    graph("Not fetched yet", "none", "Messages that the consumer has before it.",
          (total(f"sortition_mirror_pending_messages{{{ALL}}}", "instance"), "{{instance}}")),
    graph("Silence of writers", "s", "Since the last message of each. Windows of all wait for the "
          "most silent one.",
          (f"max by (writer) (sortition_mirror_silence_seconds{{{ALL}}})", "{{writer}}")),
    collapsed=True)

DASHBOARD = dashboard(
    "log", "What the servers write, what the sidecar makes of it, and what cannot be learned from. "
    "docs/operations.md explains each metric.",
    [variable("instance", "Process", "sortition_build_info")],
    [NOW, SPOOL, SIDECAR_SECTION, JOIN, STREAMS])
