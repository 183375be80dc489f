#include "tests/sidecar/spool_testing.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"

namespace sortition::testing_sidecar {
namespace {

constexpr int64_t kWindowUs = static_cast<int64_t>(kWindowSeconds) * kSecond;

std::string TupleLine(const std::string& id, double reward,
                      const std::vector<std::string>& feedback_ids) {
  return absl::StrCat(id, " ", reward, " ", absl::StrJoin(feedback_ids, ","));
}

std::string LateLine(const std::string& feedback_id,
                     log::v1::LateFeedback::Reason reason) {
  return absl::StrCat(feedback_id, " ",
                      log::v1::LateFeedback::Reason_Name(reason));
}

template <typename Take>
void ForEachRecord(const std::string& dir, Take take) {
  const auto names = ListSegments(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    auto reader = SegmentReader::Open(dir + "/" + name);
    // Upkeep may have removed it since it was listed.
    if (absl::IsNotFound(reader.status())) continue;
    ASSERT_TRUE(reader.ok()) << reader.status();
    while (true) {
      absl::string_view payload;
      uint64_t offset = 0;
      const auto outcome = (*reader)->Next(&payload, &offset);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      if (*outcome != SegmentReader::Outcome::kRecord) break;
      log::v1::LogRecord record;
      ASSERT_TRUE(record.ParseFromArray(payload.data(),
                                        static_cast<int>(payload.size())));
      take(record);
    }
  }
}

}  // namespace

config::v1::SidecarOptions Options(const std::string& dir) {
  config::v1::SidecarOptions options;
  options.add_spool(dir + "/spool");
  options.set_tuples(dir + "/tuples");
  options.mutable_join()->set_reward_wait_time_seconds(kWindowSeconds);
  options.mutable_join()->set_slack_seconds(kSlackSeconds);
  // The clocks of tests are behind their prepared spools.
  options.mutable_join()->set_max_lead_seconds(1e10);
  options.set_segment_bytes(65536);
  options.set_sync_interval_seconds(0.01);
  // To close an inotify instance takes the kernel 10 ms.
  options.set_inotify(false);
  return options;
}

log::v1::LogRecord DecisionRecord(const std::string& id, int64_t time_us,
                                  uint64_t version) {
  log::v1::LogRecord record;
  log::v1::Decision& decision = *record.mutable_decision();
  decision.set_decision_id(id);
  decision.set_time_us(time_us);
  decision.set_model("m");
  decision.set_version(version);
  decision.set_num_candidates(3);
  decision.set_num_features(2);
  decision.add_action(1);
  decision.set_log_propensity(-std::log(3.0));
  for (int i = 0; i < 6; ++i) {
    decision.add_dense_values(static_cast<float>(i) * 0.25f);
  }
  return record;
}

log::v1::LogRecord FeedbackRecord(const std::string& feedback_id,
                                  const std::string& id, int64_t time_us,
                                  double reward) {
  log::v1::LogRecord record;
  log::v1::Feedback& feedback = *record.mutable_feedback();
  feedback.set_feedback_id(feedback_id);
  feedback.set_decision_id(id);
  feedback.set_time_us(time_us);
  feedback.set_reward(reward);
  return record;
}

log::v1::LogRecord ShownRecord(const std::string& id, int64_t time_us,
                               bool not_shown) {
  log::v1::LogRecord record;
  log::v1::Shown& shown = *record.mutable_shown();
  shown.set_decision_id(id);
  shown.set_time_us(time_us);
  shown.set_not_shown(not_shown);
  return record;
}

log::v1::LogRecord ViewRecordOf(const std::string& id, int64_t time_us,
                                uint64_t version) {
  log::v1::LogRecord record;
  log::v1::ShadowView& view = *record.mutable_shadow_view();
  view.set_decision_id(id);
  view.set_time_us(time_us);
  view.set_model("m");
  view.set_version(version);
  view.set_log_propensity(-static_cast<double>(version));
  view.add_mode(static_cast<int32_t>(version % 3));
  return record;
}

std::unique_ptr<SegmentWriter> NewSegment(const std::string& spool,
                                          int64_t created_us, uint64_t counter,
                                          const std::string& writer_id) {
  std::filesystem::create_directories(spool);
  SegmentWriter::Options options;
  options.dir = spool;
  options.name = SegmentName(created_us, writer_id, counter);
  options.preallocate_bytes = 65536;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::SPOOL);
  options.header.set_writer_id(writer_id);
  options.header.set_created_time_us(created_us);
  auto writer = SegmentWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

std::vector<log::v1::LogRecord> History(int num_decisions, uint32_t seed,
                                        int64_t start_us) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t bound) {
    return static_cast<uint32_t>(random() % bound);
  };
  // Sorts by time; records of one time keep their order.
  std::multimap<int64_t, log::v1::LogRecord> events;
  int num_feedback = 0;
  for (int i = 0; i < num_decisions; ++i) {
    const std::string id = absl::StrCat("d", i);
    const int64_t time_us = start_us + i * kSecond / 2;
    events.emplace(time_us, DecisionRecord(id, time_us));
    if (below(8) == 0) {
      const int64_t again = time_us + below(19) * kSecond + 1;
      events.emplace(again, DecisionRecord(id, again, 7 + below(2)));
    }
    if (below(8) == 0) {
      const int64_t reuse =
          time_us + 2 * kWindowUs + (1 + below(5)) * kSecond + 1;
      events.emplace(reuse, DecisionRecord(id, reuse, 7 + below(2)));
      const int64_t at = reuse + below(12) * kSecond + 1;
      events.emplace(
          at, FeedbackRecord(absl::StrCat("r", i), id, at, 1 + below(5)));
    }
    if (below(2) == 0) {
      const int64_t shown = time_us + below(3000000) + 1;
      events.emplace(shown, ShownRecord(id, shown, below(4) == 0));
    }
    for (uint32_t n = below(3); n > 0; --n) {
      // From 3 s early to 18 s late.
      const int64_t at = time_us + below(21) * kSecond - 3 * kSecond + 2;
      const std::string feedback_id = absl::StrCat("f", num_feedback++);
      const double reward = below(5);
      events.emplace(at, FeedbackRecord(feedback_id, id, at, reward));
      if (below(4) == 0) {
        const int64_t again = at + below(5) * kSecond;
        events.emplace(again, FeedbackRecord(feedback_id, id, again, reward));
      }
    }
    if (below(10) == 0) {
      events.emplace(time_us + 3, FeedbackRecord(absl::StrCat("n", i), "nobody",
                                                 time_us + 3, 1));
    }
  }
  const int64_t end_us = events.rbegin()->first + 5 * kWindowUs;
  std::vector<log::v1::LogRecord> records;
  for (auto& [time_us, record] : events) records.push_back(std::move(record));
  records.push_back(DecisionRecord("end", end_us));
  return records;
}

void WriteSpool(const std::string& spool,
                const std::vector<log::v1::LogRecord>& records,
                size_t per_segment) {
  uint64_t counter = 0;
  for (size_t begin = 0; begin < records.size(); begin += per_segment) {
    const auto writer = NewSegment(spool, 1000 + counter, counter);
    ++counter;
    const size_t end = std::min(records.size(), begin + per_segment);
    for (size_t i = begin; i < end; ++i) {
      ASSERT_TRUE(writer->Append(records[i]).ok());
    }
    ASSERT_TRUE(writer->Close().ok());
  }
}

Expected ExpectedOutput(const std::vector<log::v1::LogRecord>& records) {
  // Positions of every new use of a decision id, and of the first feedback with
  // an id; in a History() all repetitions come within two windows.
  std::map<std::string, std::vector<size_t>> decisions;
  std::map<std::string, size_t> feedbacks;
  std::set<size_t> ambiguous;
  std::map<size_t, std::pair<double, std::vector<std::string>>> joined;
  const auto time_of = [&](size_t i) {
    return records[i].decision().time_us();
  };
  for (size_t i = 0; i < records.size(); ++i) {
    if (records[i].has_feedback()) {
      feedbacks.emplace(records[i].feedback().feedback_id(), i);
    }
    if (!records[i].has_decision()) continue;
    const log::v1::Decision& decision = records[i].decision();
    std::vector<size_t>& uses = decisions[decision.decision_id()];
    if (uses.empty() || time_of(i) > time_of(uses.back()) + 2 * kWindowUs) {
      uses.push_back(i);
      joined[i];
    } else if (time_of(i) <= time_of(uses.back()) + kWindowUs &&
               decision.version() !=
                   records[uses.back()].decision().version()) {
      ambiguous.insert(uses.back());
    }
  }
  Expected expected;
  expected.num_ambiguous = ambiguous.size();
  for (size_t i = 0; i < records.size(); ++i) {
    if (!records[i].has_feedback()) continue;
    const log::v1::Feedback& feedback = records[i].feedback();
    if (feedbacks[feedback.feedback_id()] != i) continue;
    const auto decision = decisions.find(feedback.decision_id());
    if (decision == decisions.end()) {
      expected.late.push_back(LateLine(
          feedback.feedback_id(), log::v1::LateFeedback::UNKNOWN_DECISION));
      continue;
    }
    // Feedback for a first use comes before the second use.
    const std::vector<size_t>& uses = decision->second;
    const size_t use =
        feedback.time_us() < time_of(uses.back()) ? uses.front() : uses.back();
    if (feedback.time_us() > time_of(use) + kWindowUs) {
      expected.late.push_back(LateLine(feedback.feedback_id(),
                                       log::v1::LateFeedback::AFTER_WINDOW));
      continue;
    }
    auto& [reward, ids] = joined[use];
    reward += feedback.reward();
    ids.push_back(feedback.feedback_id());
  }
  for (const auto& [i, sum] : joined) {
    const std::string& id = records[i].decision().decision_id();
    if (id == "end" || ambiguous.contains(i)) continue;
    expected.tuples.push_back(TupleLine(id, sum.first, sum.second));
  }
  std::sort(expected.late.begin(), expected.late.end());
  return expected;
}

std::vector<log::v1::BanditTuple> ReadTuples(const std::string& tuples_dir) {
  std::vector<log::v1::BanditTuple> tuples;
  ForEachRecord(tuples_dir, [&](const log::v1::LogRecord& record) {
    if (record.has_tuple()) tuples.push_back(record.tuple());
  });
  return tuples;
}

std::vector<log::v1::LateFeedback> ReadLate(const std::string& tuples_dir) {
  std::vector<log::v1::LateFeedback> late;
  ForEachRecord(tuples_dir + "/late", [&](const log::v1::LogRecord& record) {
    if (record.has_late()) late.push_back(record.late());
  });
  return late;
}

Expected Output(const std::string& tuples_dir) {
  Expected output;
  for (const log::v1::BanditTuple& tuple : ReadTuples(tuples_dir)) {
    std::vector<std::string> ids;
    for (const auto& feedback : tuple.feedback()) {
      ids.push_back(feedback.feedback_id());
    }
    EXPECT_EQ(tuple.has_feedback(), !ids.empty());
    if (tuple.decision().decision_id() == "end") continue;
    output.tuples.push_back(
        TupleLine(tuple.decision().decision_id(), tuple.reward(), ids));
  }
  for (const log::v1::LateFeedback& late : ReadLate(tuples_dir)) {
    output.late.push_back(
        LateLine(late.feedback().feedback_id(), late.reason()));
  }
  std::sort(output.late.begin(), output.late.end());
  return output;
}

void RunToEnd(Pipeline* pipeline, FakeClock* clock) {
  // Far more than any history of these tests needs.
  for (int i = 0; i < 100000; ++i) {
    const auto is_busy = pipeline->Poll(64);
    ASSERT_TRUE(is_busy.ok()) << is_busy.status();
    if (*is_busy) continue;
    if (pipeline->counts().pending == 0) return;
    clock->now_us += kSecond;
  }
  FAIL() << "no end";
}

bool WaitUntil(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

}  // namespace sortition::testing_sidecar
