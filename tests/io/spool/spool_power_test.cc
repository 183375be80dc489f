// Durability POWER: what was answered is on the disk.
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode;
using config::v1::SpoolOptions;
using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;

// Keeps the answers to several appends.
class Answers final : public SpoolWaiter {
 public:
  void OnSynced(const absl::Status& status) override {
    const std::lock_guard lock(mutex_);
    codes_.push_back(status.code());
  }
  std::vector<StatusCode> codes() const {
    const std::lock_guard lock(mutex_);
    return codes_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<StatusCode> codes_;
};

class SpoolPowerTest : public SpoolWriterTest {
 protected:
  SpoolPowerTest() {
    options_.set_durability(SpoolOptions::POWER);
    // Nothing is synced but for those that wait.
    options_.set_sync_interval_seconds(3600);
  }

  // Appends "0", "1", … without waiting.
  void Append(SpoolWriter* writer, int n, size_t num_values = 30) {
    for (int i = 0; i < n; ++i) {
      ids_.push_back(absl::StrCat(ids_.size()));
      const absl::StatusOr<bool> waits = writer->AppendDecision(
          SmallDecision(ids_.back()), Values(num_values), &answers_);
      ASSERT_OK(waits);
      EXPECT_TRUE(*waits);
    }
  }

  bool PollAnswers(size_t n) {
    return PollUntil([&] { return answers_.codes().size() >= n; });
  }

  uint64_t LostInGaps() {
    uint64_t lost = 0;
    for (const log::v1::LogRecord& record : Records()) {
      lost += record.gap().lost_records();
    }
    return lost;
  }

  Answers answers_;
  std::vector<std::string> ids_;
};

TEST_F(SpoolPowerTest, APowerCutTakesNothingThatWasAnswered) {
  constexpr size_t kThreads = 8;
  FakeDisk disk(options_.dir());
  const auto writer = Open();
  std::mutex mutex;
  std::vector<std::string> answered;
  bool done = false;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const std::string id = absl::StrCat(t, "-", i);
        const absl::Status status =
            writer->AppendDecision(SmallDecision(id), Values(1000));
        const std::lock_guard lock(mutex);
        if (done) return;
        EXPECT_OK(status);
        answered.push_back(id);
      }
    });
  }
  // A segment has 64 KiB, a record 4 kB.
  EXPECT_TRUE(PollUntil([&] { return writer->stats().segments > 10; }));
  {
    const SyncStall stall;
    // From here on nothing can be answered.
    EXPECT_TRUE(PollUntil([&] { return stall.num_waiting() == 1; }));
    EXPECT_TRUE(PollUntil([&] { return writer->stats().waiting == kThreads; }));
    const std::lock_guard lock(mutex);
    done = true;
    disk.CutPower(options_.dir());
    Contents all;
    for (const std::string& name : Segments()) {
      const Contents contents = ReadAll(options_.dir() + "/" + name);
      all.records.insert(all.records.end(), contents.records.begin(),
                         contents.records.end());
    }
    const std::vector<std::string> ids = all.Ids();
    EXPECT_THAT(ids, IsSupersetOf(answered));
    // The cut took something: those that waited.
    EXPECT_LT(ids.size(), answered.size() + kThreads);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(SpoolPowerTest, AppendsShareASync) {
  const auto writer = Open();
  {
    const SyncStall stall;
    Append(writer.get(), 1);
    ASSERT_TRUE(PollUntil([&] { return stall.num_waiting() == 1; }));
    Append(writer.get(), 63);
    EXPECT_THAT(answers_.codes(), SizeIs(0));
    EXPECT_EQ(writer->stats().waiting, 64u);
  }
  ASSERT_TRUE(PollAnswers(64));
  // One for the first, one for all that came while it was under way.
  EXPECT_EQ(events_.num_syncs(), 2);
  EXPECT_THAT(answers_.codes(), Each(StatusCode::kOk));
  EXPECT_EQ(writer->stats().waiting, 0u);
  ASSERT_OK(writer->Close());
  EXPECT_THAT(answers_.codes(), SizeIs(64));
}

TEST_F(SpoolPowerTest, AnswersWaitForTheirRecordsInAnotherSegment) {
  FakeDisk disk(options_.dir());
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  Append(writer.get(), 20);
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  const FileFault fault = FailSyncs(Segments().front(), EIO, 1);
  stall.reset();
  ASSERT_TRUE(PollAnswers(20));
  disk.CutPower(options_.dir());
  EXPECT_EQ(fault.num_failures(), 1);
  EXPECT_THAT(answers_.codes(), Each(StatusCode::kOk));
  EXPECT_THAT(Ids(), IsSupersetOf(ids_));
  EXPECT_EQ(writer->stats().saved, 20u);
}

TEST_F(SpoolPowerTest, WhatCannotBeSavedIsRefused) {
  const auto writer = Open();
  {
    const FileFault fault = FailSyncs(".seg");
    EXPECT_THAT(writer->AppendDecision(SmallDecision("x"), {}),
                IsUnavailable("could not be synced"));
    EXPECT_EQ(writer->stats().refused, 1u);
    EXPECT_EQ(writer->stats().waiting, 0u);
  }
  ASSERT_TRUE(
      PollUntil([&] { return writer->stats().state == SpoolState::kOk; }));
  EXPECT_OK(writer->AppendDecision(SmallDecision("y"), {}));
}

TEST_F(SpoolPowerTest, WhatCannotBeSavedIsAnsweredUnderCount) {
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  {
    const FileFault fault = FailSyncs(".seg");
    EXPECT_OK(writer->AppendDecision(SmallDecision("x"), {}));
  }
  ASSERT_TRUE(
      PollUntil([&] { return writer->stats().state == SpoolState::kOk; }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(writer->stats().refused, 0u);
  EXPECT_THAT(Ids(), Contains("x"));
}

class ForgottenTest : public SpoolPowerTest,
                      public testing::WithParamInterface<bool> {};

// The first append is on the disk, the other two are forgotten with the sync
// that fails.
TEST_P(ForgottenTest, OnlyWhatWasForgottenIsRefusedOrCounted) {
  const bool counts = GetParam();
  if (counts) options_.set_when_full(SpoolOptions::COUNT);
  FakeDisk disk(options_.dir());
  const auto writer = Open();
  Append(writer.get(), 1);
  ASSERT_TRUE(PollAnswers(1));
  auto stall = std::make_unique<SyncStall>();
  Append(writer.get(), 2);
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  const FileFault fault = ForgetOneSync(Segments().front());
  stall.reset();
  ASSERT_TRUE(PollAnswers(3));
  const StatusCode lost = counts ? StatusCode::kOk : StatusCode::kUnavailable;
  EXPECT_THAT(answers_.codes(),
              testing::ElementsAre(StatusCode::kOk, lost, lost));
  EXPECT_EQ(writer->stats().refused, counts ? 0u : 2u);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(LostInGaps(), 2u);
}

INSTANTIATE_TEST_SUITE_P(WhenFull, ForgottenTest, testing::Bool());

// One bad segment, rotated out, must not hold up those that wait for others.
TEST_F(SpoolPowerTest, ASegmentThatFailsLateHoldsUpNobody) {
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  Append(writer.get(), 1, 10000);
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  const std::string first = Segments().front();
  Append(writer.get(), 3, 10000);
  EXPECT_GT(writer->stats().segments, 1u);
  const FileFault fault = FailSyncs(first);
  stall.reset();
  ASSERT_TRUE(PollAnswers(4));
  EXPECT_THAT(answers_.codes(), Each(StatusCode::kOk));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), IsSupersetOf(ids_));
}

TEST_F(SpoolPowerTest, CloseSyncsAndAnswersThoseThatWait) {
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  Append(writer.get(), 1);
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  // These come too late for the sync that is under way.
  Append(writer.get(), 4);
  std::thread closing([&] { EXPECT_OK(writer->Close()); });
  ASSERT_TRUE(PollUntil([&] {
    return writer->AppendDecision(SmallDecision("late"), {}, &answers_)
               .status()
               .code() == StatusCode::kFailedPrecondition;
  }));
  stall.reset();
  closing.join();
  EXPECT_THAT(answers_.codes(), Each(StatusCode::kOk));
  EXPECT_GE(answers_.codes().size(), 5u);
  EXPECT_THAT(Ids(), IsSupersetOf(ids_));
}

TEST_F(SpoolPowerTest, CloseRefusesWhatItCannotSync) {
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  Append(writer.get(), 3);
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  const FileFault fault = FailSyncs(".seg");
  stall.reset();
  EXPECT_FALSE(writer->Close().ok());
  EXPECT_THAT(answers_.codes(), SizeIs(3));
  EXPECT_THAT(answers_.codes(), Each(StatusCode::kUnavailable));
}

TEST_F(SpoolPowerTest, ReportsAloneCanWait) {
  options_.set_durability(SpoolOptions::PROCESS);
  options_.set_feedback_durability(SpoolOptions::POWER);
  const auto writer = Open();
  const log::v1::LogRecord report = FeedbackRecord("f");
  {
    const SyncStall stall;
    ASSERT_OK_AND_ASSIGN(
        bool waits, writer->AppendDecision(SmallDecision("d"), {}, &answers_));
    EXPECT_FALSE(waits);
    ASSERT_OK_AND_ASSIGN(waits, writer->Append({&report, 1}, &answers_));
    EXPECT_TRUE(waits);
    ASSERT_TRUE(PollUntil([&] { return stall.num_waiting() == 1; }));
    EXPECT_THAT(answers_.codes(), SizeIs(0));
  }
  ASSERT_TRUE(PollAnswers(1));
  EXPECT_OK(writer->Append({&report, 1}));
  EXPECT_EQ(writer->stats().waiting, 0u);
}

TEST_F(SpoolPowerTest, NothingWaitsUnderProcess) {
  options_.set_durability(SpoolOptions::PROCESS);
  const auto writer = Open();
  const SyncStall stall;
  const log::v1::LogRecord report = FeedbackRecord("f");
  EXPECT_OK(writer->AppendDecision(SmallDecision("d"), {}));
  ASSERT_OK_AND_ASSIGN(const bool waits,
                       writer->Append({&report, 1}, &answers_));
  EXPECT_FALSE(waits);
  EXPECT_EQ(stall.num_waiting(), 0);
}

TEST_F(SpoolPowerTest, AStallIsAStateAndAnEvent) {
  const auto writer = Open();
  {
    const SyncStall stall;
    Append(writer.get(), 1);
    ASSERT_TRUE(PollUntil([&] { return !events_.events().empty(); }));
    EXPECT_EQ(writer->stats().state, SpoolState::kStalled);
    EXPECT_GT(writer->stats().longest_wait_seconds, 1);
    EXPECT_THAT(answers_.codes(), SizeIs(0));
    // It is a state in which records are still taken.
    Append(writer.get(), 1);
  }
  ASSERT_TRUE(PollAnswers(2));
  ASSERT_TRUE(PollUntil([&] { return events_.events().size() == 2; }));
  EXPECT_EQ(writer->stats().state, SpoolState::kOk);
  EXPECT_THAT(events_.events()[1],
              Field(&SpoolEvent::message, HasSubstr("takes records again")));
  EXPECT_EQ(writer->stats().longest_wait_seconds, 0);
}

}  // namespace
}  // namespace sortition
