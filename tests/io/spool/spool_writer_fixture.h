#pragma once
// A spool in a directory of its own, and decisions for it.
#include <poll.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

// True once `condition` holds; false after a minute.
inline bool PollUntil(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

inline log::v1::Decision SmallDecision(const std::string& id) {
  log::v1::Decision decision;
  decision.set_decision_id(id);
  decision.set_time_us(1700000000000000);
  decision.set_model("m");
  decision.set_version(300);
  decision.mutable_policy()->mutable_plackett_luce();
  decision.mutable_policy()->set_inverse_temperature(2);
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(2);
  decision.set_num_features(3);
  decision.add_eligible(true);
  decision.add_candidate_ids("c");
  decision.set_seed(0);
  decision.add_action(1);
  decision.add_action(-1);
  decision.set_log_propensity(-0.25);
  decision.set_can_abstain(true);
  return decision;
}

inline std::vector<float> Values(size_t size) {
  std::vector<float> values(size);
  for (size_t i = 0; i < size; ++i) {
    values[i] = static_cast<float>(i) * 0.37f - 5.0f;
  }
  return values;
}

constexpr int kEveryCall = std::numeric_limits<int>::max();

// As long as it lives, the next `count` syncs of files whose path contains
// `path` fail; likewise for writes.
inline FileFault FailSyncs(const std::string& path, int error = EIO,
                           int count = kEveryCall) {
  return FileFault(
      {.call = FileCall::kSync, .path = path, .error = error, .count = count});
}
inline FileFault FailWrites(const std::string& path, int error = EIO,
                            int count = kEveryCall) {
  return FileFault(
      {.call = FileCall::kWrite, .path = path, .error = error, .count = count});
}
// Likewise, but the kernel drops what was not synced.
inline FileFault ForgetOneSync(const std::string& path) {
  return FileFault({.call = FileCall::kSync,
                    .path = path,
                    .error = EIO,
                    .count = 1,
                    .forgets = true});
}

// Keeps what a spool says.
class SpoolEvents final : public SpoolObserver {
 public:
  void OnAppend(double) override { ++num_appends_; }
  void OnSync(double) override { ++num_syncs_; }
  void OnEvent(const SpoolEvent& event) override {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }

  void OnState(SpoolState state) override {
    const std::lock_guard lock(mutex_);
    states_.push_back(state);
  }

  std::vector<SpoolState> states() const {
    const std::lock_guard lock(mutex_);
    return states_;
  }
  std::vector<SpoolEvent> events() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  int num_appends() const { return num_appends_; }
  int num_syncs() const { return num_syncs_; }

 private:
  mutable std::mutex mutex_;
  std::vector<SpoolEvent> events_;
  std::vector<SpoolState> states_;
  std::atomic<int> num_appends_{0};
  std::atomic<int> num_syncs_{0};
};

class SpoolWriterTest : public testing::Test {
 protected:
  SpoolWriterTest() {
    options_.set_dir(dir_ / "spool");
    options_.set_segment_bytes(65536);
    options_.set_segment_seconds(86400);
    options_.set_sync_interval_seconds(0.01);
  }

  std::unique_ptr<SpoolWriter> Open() {
    auto writer = SpoolWriter::Open(options_, "the options", &events_);
    EXPECT_TRUE(writer.ok()) << writer.status();
    return *std::move(writer);
  }

  std::vector<std::string> Segments() { return *ListSegments(options_.dir()); }

  // The records of all segments, in order.
  std::vector<log::v1::LogRecord> Records() {
    std::vector<log::v1::LogRecord> records;
    for (const std::string& name : Segments()) {
      const Contents contents = ReadAll(options_.dir() + "/" + name);
      EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
      EXPECT_THAT(contents.corrupt_offsets, testing::IsEmpty());
      records.insert(records.end(), contents.records.begin(),
                     contents.records.end());
    }
    return records;
  }

  std::vector<std::string> Ids() {
    Contents all;
    all.records = Records();
    return all.Ids();
  }

  const TempDir dir_;
  config::v1::SpoolOptions options_;
  SpoolEvents events_;
};

}  // namespace sortition
