// A disk that fails or stalls: what was answered is in the log, or the log says
// that it is not.
#include <poll.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using testing::Contains;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::SizeIs;

class SpoolSyncTest : public SpoolWriterTest {
 protected:
  // Appends "0", "1", … and keeps the ids that were taken.
  void Append(SpoolWriter* writer, int n) {
    for (int i = 0; i < n; ++i) {
      const std::string id = absl::StrCat(next_++);
      if (writer->AppendDecision(SmallDecision(id), Values(30)).ok()) {
        taken_.push_back(id);
      }
    }
  }

  bool PollState(const SpoolWriter& writer, SpoolState state) {
    return PollUntil([&] { return writer.stats().state == state; });
  }

  uint64_t LostInGaps() {
    uint64_t lost = 0;
    for (const log::v1::LogRecord& record : Records()) {
      lost += record.gap().lost_records();
    }
    return lost;
  }

  int next_ = 0;
  std::vector<std::string> taken_;
};

TEST_F(SpoolSyncTest, AFailedSyncMovesItsRecordsToAnotherSegment) {
  FakeDisk disk(options_.dir());
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  Append(writer.get(), 20);
  {
    const FileFault fault = FailSyncs(".seg", EIO, 1);
    stall.reset();
    ASSERT_TRUE(PollUntil([&] { return fault.num_failures() == 1; }));
  }
  ASSERT_TRUE(PollUntil([&] { return writer->stats().saved > 0; }));
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  Append(writer.get(), 20);
  const int syncs = events_.num_syncs();
  ASSERT_TRUE(PollUntil([&] { return events_.num_syncs() > syncs + 1; }));
  disk.CutPower(options_.dir());
  EXPECT_THAT(Ids(), IsSupersetOf(taken_));
  EXPECT_EQ(LostInGaps(), 0u);
}

TEST_F(SpoolSyncTest, WhatTheKernelForgotBecomesAGap) {
  FakeDisk disk(options_.dir());
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  Append(writer.get(), 20);
  {
    const FileFault fault = ForgetOneSync(".seg");
    stall.reset();
    ASSERT_TRUE(PollUntil([&] { return fault.num_failures() == 1; }));
  }
  ASSERT_TRUE(PollUntil([&] { return writer->stats().lost > 0; }));
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(LostInGaps(), writer->stats().lost);
  EXPECT_EQ(Ids().size() + writer->stats().lost, taken_.size());
  EXPECT_THAT(events_.events(),
              Contains(Field(&SpoolEvent::error, HasSubstr("cannot sync"))));
}

// The disk takes long to fail, and a rotation comes first.
TEST_F(SpoolSyncTest, ASegmentRotatedOutWhileItsSyncFailsIsSavedOnce) {
  const auto writer = Open();
  auto stall = std::make_unique<SyncStall>();
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  const std::string first = Segments().front();
  Append(writer.get(), 500);
  EXPECT_GT(writer->stats().segments, 1u);
  {
    const FileFault fault = FailSyncs(first);
    stall.reset();
    ASSERT_TRUE(PollUntil([&] { return writer->stats().saved > 0; }));
    ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
    ASSERT_OK(writer->Close());
  }
  const uint64_t in_first = ReadAll(options_.dir() + "/" + first).Ids().size();
  EXPECT_EQ(writer->stats().saved, in_first);
  EXPECT_THAT(Ids(), IsSupersetOf(taken_));
}

// A sync that says "no space" is a failed sync like others.
TEST_F(SpoolSyncTest, NoSpaceForASyncIsNoFullDisk) {
  const auto writer = Open();
  Append(writer.get(), 5);
  {
    const FileFault fault = FailSyncs(".seg", ENOSPC);
    ASSERT_TRUE(PollState(*writer, SpoolState::kSyncFailed));
  }
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), IsSupersetOf(taken_));
}

TEST_F(SpoolSyncTest, RefusesAsLongAsNothingCanBeSynced) {
  const auto writer = Open();
  {
    const FileFault fault = FailSyncs(".seg");
    Append(writer.get(), 20);
    ASSERT_TRUE(PollState(*writer, SpoolState::kSyncFailed));
    ASSERT_TRUE(PollUntil([&] {
      return writer->AppendDecision(SmallDecision("x"), {}).code() ==
             absl::StatusCode::kUnavailable;
    }));
    EXPECT_GT(writer->stats().refused, 0u);
  }
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  Append(writer.get(), 20);
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), IsSupersetOf(taken_));
}

TEST_F(SpoolSyncTest, CountsAsLongAsNothingCanBeSynced) {
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  {
    const FileFault fault = FailSyncs(".seg");
    Append(writer.get(), 20);
    ASSERT_TRUE(PollState(*writer, SpoolState::kSyncFailed));
    ASSERT_TRUE(PollUntil([&] {
      Append(writer.get(), 1);
      return writer->stats().lost > 0;
    }));
  }
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(taken_.size(), static_cast<size_t>(next_));
  EXPECT_EQ(LostInGaps(), writer->stats().lost);
  const std::vector<std::string> ids = Ids();
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size() + LostInGaps(),
            taken_.size());
}

TEST_F(SpoolSyncTest, AFailedWriteRefusesUntilTheDiskWorksAgain) {
  const auto writer = Open();
  Append(writer.get(), 3);
  {
    const FileFault fault = FailWrites("/spool/");
    EXPECT_THAT(writer->AppendDecision(SmallDecision("x"), {}),
                IsUnavailable("Input/output error"));
    EXPECT_EQ(writer->stats().state, SpoolState::kIoError);
    ASSERT_TRUE(PollUntil([&] { return !events_.states().empty(); }));
  }
  // Nobody appends: callers stay away from a server that refuses.
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  ASSERT_TRUE(PollUntil([&] { return events_.events().size() == 2; }));
  EXPECT_THAT(events_.events()[0].message, HasSubstr("cannot be written"));
  EXPECT_THAT(events_.events()[1].message, HasSubstr("takes records again"));
  EXPECT_THAT(events_.states(),
              ElementsAre(SpoolState::kIoError, SpoolState::kOk));
  Append(writer.get(), 3);
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), taken_);
  EXPECT_EQ(writer->stats().refused, 1u);
}

TEST_F(SpoolSyncTest, AReadOnlyDiskCountsUnderCount) {
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  {
    const FileFault fault = FailWrites("/spool/", EROFS);
    ASSERT_OK(writer->AppendDecision(SmallDecision("x"), {}));
  }
  ASSERT_TRUE(PollState(*writer, SpoolState::kOk));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(writer->stats().lost, 1u);
  EXPECT_EQ(LostInGaps(), 1u);
}

TEST_F(SpoolSyncTest, ASegmentGrowsIfNoOtherCanBeStarted) {
  const auto writer = Open();
  {
    const FileFault fault(
        {.call = FileCall::kCreate, .path = ".prepared", .error = EMFILE});
    // Some 200 kB: three segments of 64 KiB, of which one may be prepared.
    Append(writer.get(), 1000);
    EXPECT_EQ(taken_.size(), 1000u);
    EXPECT_LE(Segments().size(), 2u);
    ASSERT_TRUE(PollUntil([&] { return !events_.events().empty(); }));
    EXPECT_THAT(events_.events()[0].error, HasSubstr("Too many open files"));
    EXPECT_EQ(writer->stats().state, SpoolState::kOk);
  }
  const uint64_t segments = writer->stats().segments;
  ASSERT_TRUE(PollUntil([&] {
    Append(writer.get(), 1);
    return writer->stats().segments > segments;
  }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), taken_);
}

TEST_F(SpoolSyncTest, ATornSegmentIsLeft) {
  const auto writer = Open();
  Append(writer.get(), 1);
  const std::string name = Segments()[0];
  const FileFault no_cut(
      {.call = FileCall::kTruncate, .path = name, .error = EIO});
  {
    const FileFault fault = FailWrites(name, EIO, 1);
    Append(writer.get(), 1);
    EXPECT_THAT(taken_, SizeIs(1));
  }
  Append(writer.get(), 1);
  EXPECT_THAT(taken_, SizeIs(2));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids(), taken_);
}

TEST_F(SpoolSyncTest, DeadIncarnationsLeaveNoEmptySpace) {
  for (int i = 0; i < 10; ++i) {
    SegmentWriter::Options segment;
    segment.dir = options_.dir();
    std::filesystem::create_directories(segment.dir);
    segment.name = SegmentName(1700000000000000 + i, "server", 0);
    segment.preallocate_bytes = 65536;
    segment.header.set_kind(log::v1::SegmentHeader::SPOOL);
    ASSERT_OK_AND_ASSIGN(const auto dead, SegmentWriter::Create(segment));
    log::v1::LogRecord record;
    *record.mutable_decision() = SmallDecision(absl::StrCat("dead", i));
    ASSERT_OK(dead->Append(record));
  }
  const auto writer = Open();
  EXPECT_LT(writer->stats().spool_bytes, 65536u);
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), SizeIs(10));
}

TEST_F(SpoolSyncTest, ADirectoryThatCannotBeListedIsNotEmpty) {
  const auto writer = Open();
  Append(writer.get(), 1000);
  ASSERT_TRUE(PollUntil([&] { return writer->stats().spool_bytes > 150000; }));
  std::filesystem::rename(options_.dir(), dir_ / "elsewhere");
  ASSERT_TRUE(PollUntil([&] { return !events_.events().empty(); }));
  EXPECT_THAT(events_.events()[0].error, HasSubstr("cannot list"));
  EXPECT_GT(writer->stats().spool_bytes, 150000u);
  std::filesystem::rename(dir_ / "elsewhere", options_.dir());
}

// The kernel reports a failed sync once, and success from then on.
TEST(SegmentSyncTest, AFailedSyncIsForGood) {
  const TempDir dir;
  const auto writer = NewSegment(dir.path(), 65536);
  ASSERT_OK(writer->Append(FeedbackRecord("a")));
  ASSERT_OK(writer->Sync());
  ASSERT_OK(writer->Append(FeedbackRecord("b")));
  {
    const FileFault fault = FailSyncs(".seg", ENOSPC, 1);
    EXPECT_THAT(writer->Sync(), StatusIs(absl::StatusCode::kUnavailable));
  }
  EXPECT_THAT(writer->Sync(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(writer->Close(), StatusIs(absl::StatusCode::kUnavailable));
  const UnsyncedFrames unsynced = writer->ReadUnsynced();
  EXPECT_EQ(unsynced.num_records, 1u);
  EXPECT_EQ(unsynced.num_lost, 0u);
}

bool PollUntil(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

bool HasPreparedFile(const std::string& dir) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    // The file is created under this name, then preallocated.
    if (entry.path().extension() == ".tmp" &&
        std::filesystem::file_size(entry.path()) > 0) {
      return true;
    }
  }
  return false;
}

TEST(SpoolStallTest, NoRequestWaitsForASyncThatStalls) {
  const TempDir dir;
  config::v1::SpoolOptions options;
  options.set_dir(dir / "spool");
  options.set_segment_bytes(65536);
  options.set_segment_seconds(86400);
  options.set_sync_interval_seconds(0.01);
  ASSERT_OK_AND_ASSIGN(const auto writer, SpoolWriter::Open(options, ""));
  auto stall = std::make_unique<SyncStall>();
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));

  // Each record fills a segment, so each append but the first rotates.
  const std::vector<float> values(20000, 0.5f);
  std::vector<std::string> expected;
  bool is_prepared = true;
  for (int i = 0; i < 10 && is_prepared; ++i) {
    is_prepared = PollUntil([&] { return HasPreparedFile(options.dir()); });
    log::v1::Decision decision;
    decision.set_decision_id(absl::StrCat(i));
    expected.push_back(decision.decision_id());
    EXPECT_OK(writer->AppendDecision(decision, values));
  }
  EXPECT_TRUE(is_prepared);
  EXPECT_EQ(stall->num_waiting(), 1);
  stall.reset();
  ASSERT_OK(writer->Close());

  EXPECT_EQ(writer->stats().segments, expected.size());
  Contents all;
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(options.dir()));
  for (const std::string& name : names) {
    const Contents contents = ReadAll(options.dir() + "/" + name);
    EXPECT_TRUE(contents.records.back().has_footer());
    all.records.insert(all.records.end(), contents.records.begin(),
                       contents.records.end());
  }
  EXPECT_EQ(all.Ids(), expected);
}

}  // namespace
}  // namespace sortition
