#include "client/logs/log_stats.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "client/logs/log_scan.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/segments/decision_view.h"
#include "io/segments/reward_join.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

class Counter : public LogVisitor {
 public:
  explicit Counter(LogStats* stats) : stats_(*stats) {}

  void BeginSegment(const std::string&) override {
    ++stats_.segments;
    records_ = 0;
    footer_.Clear();
    header_.Clear();
    join_.clear();
  }

  absl::Status Record(const log::v1::LogRecord& record,
                      const ScannedFrame&) override {
    if (record.has_header()) {
      Start(record.header());
    } else if (record.has_footer()) {
      footer_ = record.footer();
    } else {
      ++stats_.records;
      ++records_;
      CountRecord(record);
    }
    return absl::OkStatus();
  }

  absl::Status Corrupt(uint64_t, uint64_t) override {
    ++stats_.corrupt_records;
    return absl::OkStatus();
  }

  absl::Status EndSegment(const SegmentEnd& end) override {
    stats_.bytes += end.bytes;
    stats_.torn_bytes += end.torn_bytes + footer_.torn_bytes();
    ++(footer_.recovered() ? stats_.segments_recovered
       : end.closed        ? stats_.segments_closed
       : end.live          ? stats_.segments_open
                           : stats_.segments_abandoned);
    if (header_.incarnation().empty()) return absl::OkStatus();
    next_sequence_[Writer(header_)] = header_.first_sequence() + records_;
    return absl::OkStatus();
  }

  // Adds up the rewards of a spool, once all of its feedback is known.
  void Finish() {
    stats_.distinct_decision_ids = decisions_.size();
    stats_.duplicate_decision_ids =
        stats_.decisions + stats_.tuples - stats_.distinct_decision_ids;
    for (const auto& [id, reward] : rewards_) {
      const auto decision = decisions_.find(id);
      if (decision == decisions_.end() || decision->second == nullptr) continue;
      ++decision->second->with_feedback;
      decision->second->reward_sum += reward;
    }
  }

 private:
  static std::string Writer(const log::v1::SegmentHeader& header) {
    return header.writer_id() + '\n' + header.incarnation();
  }

  void Start(const log::v1::SegmentHeader& header) {
    header_ = header;
    join_ = RewardJoinText(header);
    const auto next = next_sequence_.find(Writer(header));
    if (next != next_sequence_.end() &&
        header.first_sequence() > next->second) {
      stats_.missing_records += header.first_sequence() - next->second;
    }
  }

  void CountRecord(const log::v1::LogRecord& record) {
    switch (record.record_case()) {
      case log::v1::LogRecord::kDecision: {
        ++stats_.decisions;
        VersionStats* version = CountDecision(record.decision(), 1);
        version->uncensored_weight_sum += 1;
        decisions_.try_emplace(HashBytes(record.decision().decision_id()),
                               version);
        break;
      }
      case log::v1::LogRecord::kTuple:
        CountTuple(record.tuple());
        break;
      case log::v1::LogRecord::kShown:
        ++stats_.shown;
        break;
      case log::v1::LogRecord::kFeedback:
        CountFeedback(record.feedback());
        break;
      case log::v1::LogRecord::kShadowView:
        CountView(record.shadow_view());
        break;
      case log::v1::LogRecord::kGap:
        ++stats_.gaps;
        stats_.lost_records += record.gap().lost_records();
        break;
      case log::v1::LogRecord::kLate:
        CountLate(record.late().reason());
        break;
      case log::v1::LogRecord::kIncomplete:
        ++stats_.incomplete_marks;
        stats_.foreign_feedback += record.incomplete().foreign_feedback();
        stats_.unknown_feedback += record.incomplete().unknown_feedback();
        break;
      default:
        break;
    }
  }

  void CountLate(log::v1::LateFeedback::Reason reason) {
    using log::v1::LateFeedback;
    ++stats_.late;
    ++(reason == LateFeedback::AFTER_WINDOW   ? stats_.late_after_window
       : reason == LateFeedback::OUT_OF_RANGE ? stats_.late_out_of_range
       : reason == LateFeedback::NO_SUCH_CANDIDATE
           ? stats_.late_no_such_candidate
       : reason == LateFeedback::TOO_MANY ? stats_.late_too_many
                                          : stats_.late_unknown_decision);
  }

  VersionStats* CountDecision(const log::v1::Decision& decision,
                              double weight) {
    if (stats_.first_time_us == 0 ||
        decision.time_us() < stats_.first_time_us) {
      stats_.first_time_us = decision.time_us();
    }
    stats_.last_time_us = std::max(stats_.last_time_us, decision.time_us());
    if (decision.action_kind() == log::v1::LABELS) ++stats_.labels;
    if (decision.action_kind() == log::v1::SUBSET) ++stats_.subsets;
    if (IsCertain(decision) ||
        (!IsOfBaseline(decision) &&
         !HasFullSupport(decision.policy(), NumEligible(decision)))) {
      ++stats_.without_full_support;
    }
    VersionStats& version =
        stats_.models[{decision.model(), decision.version()}];
    ++version.decisions;
    version.weight_sum += weight;
    version.propensity_sum += weight * std::exp(decision.log_propensity());
    return &version;
  }

  void CountTuple(const log::v1::BanditTuple& tuple) {
    ++stats_.tuples;
    const double probability = tuple.keep_probability();
    const double weight = probability > 0 ? 1 / probability : 1;
    if (!join_.empty()) ++stats_.joins[join_];
    VersionStats* version = CountDecision(tuple.decision(), weight);
    decisions_.try_emplace(HashBytes(tuple.decision().decision_id()), nullptr);
    if (tuple.censored_size() > 0) {
      ++stats_.censored_tuples;
      ++version->censored;
    } else {
      version->uncensored_weight_sum += weight;
      version->reward_sum += weight * tuple.reward();
    }
    if (tuple.has_feedback()) {
      ++stats_.tuples_with_feedback;
      ++version->with_feedback;
    }
    if (tuple.rank_rewards_size() > 0) ++stats_.tuples_with_rank_rewards;
    if (tuple.has_shown()) CountShown(tuple, weight);
    for (const log::v1::ShadowView& view : tuple.shadow_views()) {
      ShadowStats& shadow = CountView(view);
      ++shadow.in_tuples;
      const auto& action = tuple.decision().action();
      if (std::equal(action.begin(), action.end(), view.mode().begin(),
                     view.mode().end())) {
        ++shadow.agreements;
      }
    }
    stats_.feedback += static_cast<uint64_t>(tuple.feedback_size());
  }

  void CountShown(const log::v1::BanditTuple& tuple, double weight) {
    ++stats_.shown;
    const auto add = [weight](uint32_t ranks, WeightedSum* sum) {
      sum->weight_sum += weight;
      sum->sum += weight * ranks;
    };
    add(ShownRanks(tuple), &stats_.shown_ranks);
    if (!tuple.shown().has_seen_ranks()) return;
    ++stats_.tuples_with_seen_ranks;
    add(SeenRanks(tuple), &stats_.seen_ranks);
  }

  ShadowStats& CountView(const log::v1::ShadowView& view) {
    ++stats_.shadow_views;
    ShadowStats& shadow = stats_.shadows[{view.model(), view.version()}];
    ++shadow.views;
    shadow.propensity_sum += std::exp(view.log_propensity());
    return shadow;
  }

  void CountFeedback(const log::v1::Feedback& feedback) {
    ++stats_.feedback;
    if (!feedback_ids_.insert(HashBytes(feedback.feedback_id())).second) {
      ++stats_.duplicate_feedback_ids;
      return;
    }
    rewards_[HashBytes(feedback.decision_id())] += feedback.reward();
  }

  LogStats& stats_;
  log::v1::SegmentHeader header_;
  std::string join_;  // Of the segment.
  log::v1::SegmentFooter footer_;
  uint64_t records_ = 0;
  absl::flat_hash_map<std::string, uint64_t> next_sequence_;
  // Where a decision of the spool counts; null for the decision of a tuple,
  // which has its own reward. Feedback may come before its decision, and is
  // matched at the end.
  absl::flat_hash_map<Hash128, VersionStats*, Hash128Hasher> decisions_;
  absl::flat_hash_map<Hash128, double, Hash128Hasher> rewards_;
  absl::flat_hash_set<Hash128, Hash128Hasher> feedback_ids_;
};

}  // namespace

absl::StatusOr<LogStats> CollectLogStats(
    const std::vector<std::string>& entries) {
  LogStats stats;
  Counter counter(&stats);
  RETURN_IF_ERROR(ScanLog(entries, &counter));
  counter.Finish();
  return stats;
}

}  // namespace sortition
