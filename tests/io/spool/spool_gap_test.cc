// What a spool tells about the time in which it took no records.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/parse_message.h"
#include "io/spool/writer_state.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using testing::Each;
using testing::IsEmpty;
using testing::SizeIs;

class SpoolGapTest : public SpoolWriterTest {
 protected:
  WriterState State() { return *ReadWriterState(options_.dir()); }

  std::vector<log::v1::Gap> Gaps() {
    std::vector<log::v1::Gap> gaps;
    for (const log::v1::LogRecord& record : Records()) {
      if (record.has_gap()) gaps.push_back(record.gap());
    }
    return gaps;
  }

  // The header of the newest segment.
  log::v1::SegmentHeader NewestHeader() {
    auto reader = SegmentReader::Open(options_.dir() + "/" + Segments().back());
    EXPECT_OK(reader);
    absl::string_view payload;
    uint64_t offset = 0;
    EXPECT_OK((*reader)->Next(&payload, &offset));
    log::v1::LogRecord record;
    EXPECT_TRUE(ParseMessage(payload, &record));
    return record.header();
  }

  // Opens a spool in which another process left `state`, and returns what the
  // new writer says of the time before.
  std::vector<log::v1::Gap> GapsAfter(const WriterState& state) {
    std::filesystem::create_directories(options_.dir());
    EXPECT_OK(WriteFile(options_.dir() + "/" + kWriterLockFile,
                        EncodeWriterState(state)));
    const auto writer = Open();
    const log::v1::SegmentHeader header = NewestHeader();
    return {header.gaps_before().begin(), header.gaps_before().end()};
  }
};

TEST_F(SpoolGapTest, TellsOfRefusedCallsWhenTheTroubleEnds) {
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("before"), {}));
  EXPECT_EQ(State().trouble_since_us, 0);
  // The begin comes from two clocks, each rounded to microseconds.
  const int64_t before_us = NowUs() - 1;
  int64_t ended_us = 0;
  {
    const FileFault fault = FailWrites(".seg");
    EXPECT_FALSE(writer->AppendDecision(SmallDecision("x"), {}).ok());
    // The reader must know at once: windows close while the trouble lasts.
    EXPECT_GE(State().trouble_since_us, before_us);
    EXPECT_LE(State().trouble_since_us, NowUs());
    EXPECT_FALSE(writer->AppendDecision(SmallDecision("y"), {}).ok());
    ended_us = NowUs();
  }
  EXPECT_TRUE(PollUntil(
      [&] { return writer->AppendDecision(SmallDecision("after"), {}).ok(); }));
  EXPECT_EQ(State().trouble_since_us, 0);
  ASSERT_OK(writer->Close());
  const std::vector<log::v1::Gap> gaps = Gaps();
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].kind(), log::v1::REFUSED);
  EXPECT_EQ(gaps[0].lost_records(), 0u);
  EXPECT_EQ(gaps[0].refused_calls(), writer->stats().refused);
  EXPECT_GE(gaps[0].first_time_us(), before_us);
  EXPECT_GE(gaps[0].last_time_us(), ended_us);
  // It stands before the first record behind it.
  EXPECT_THAT(Ids(), testing::ElementsAre("before", "after"));
  const std::vector<log::v1::LogRecord> records = Records();
  const auto find = [&](auto condition) {
    return std::find_if(records.begin(), records.end(), condition);
  };
  EXPECT_LT(find([](const auto& record) { return record.has_gap(); }),
            find([](const auto& record) {
              return record.decision().decision_id() == "after";
            }));
}

TEST_F(SpoolGapTest, LostRecordsMayBeAsOldAsTheLastSync) {
  options_.set_sync_interval_seconds(3600);
  options_.set_when_full(SpoolOptions::COUNT);
  const FakeDisk disk(".seg");
  const int64_t before_us = NowUs();
  auto writer = Open();
  const int64_t opened_us = NowUs();
  ASSERT_OK(writer->AppendDecision(SmallDecision("gone"), {}));
  {
    const FileFault fault = ForgetOneSync(".seg");
    ASSERT_OK(writer->Close());
  }
  const std::vector<log::v1::Gap> gaps = Gaps();
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].kind(), log::v1::LOST);
  EXPECT_EQ(gaps[0].lost_records(), 1u);
  EXPECT_GE(gaps[0].first_time_us(), before_us);
  EXPECT_LE(gaps[0].first_time_us(), opened_us);
  // All is told.
  EXPECT_EQ(State().trouble_since_us, 0);
  EXPECT_GE(gaps[0].last_time_us(), gaps[0].first_time_us());
}

TEST_F(SpoolGapTest, FirstWriterHasNothingToTell) {
  const auto writer = Open();
  EXPECT_THAT(NewestHeader().gaps_before(), IsEmpty());
}

TEST_F(SpoolGapTest, TellsHowLongNoWriterWasThere) {
  Open()->Close().IgnoreError();
  const int64_t closed_us = State().alive_us;
  EXPECT_TRUE(State().is_closed);
  const auto writer = Open();
  EXPECT_FALSE(State().is_closed);
  const log::v1::SegmentHeader header = NewestHeader();
  ASSERT_EQ(header.gaps_before_size(), 1);
  EXPECT_EQ(header.gaps_before(0).kind(), log::v1::WRITER_AWAY);
  EXPECT_EQ(header.gaps_before(0).first_time_us(), closed_us);
  EXPECT_GE(header.gaps_before(0).last_time_us(), closed_us);
}

// Only the first segment of a writer tells it.
TEST_F(SpoolGapTest, LaterSegmentsDoNotTellItAgain) {
  Open()->Close().IgnoreError();
  options_.set_segment_seconds(0.05);
  const auto writer = Open();
  const std::string first = Segments().back();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), {}));
  ASSERT_TRUE(PollUntil([&] { return Segments().back() != first; }));
  EXPECT_THAT(NewestHeader().gaps_before(), IsEmpty());
}

TEST_F(SpoolGapTest, TroubleOfADeadWriterLastsUntilItsSuccessor) {
  const auto gaps = GapsAfter({.newest_segment_us = 5,
                               .alive_us = 2000,
                               .trouble_since_us = 1000,
                               .durable_us = 900,
                               .is_closed = false,
                               .boot_id = BootId()});
  ASSERT_THAT(gaps, SizeIs(2));
  EXPECT_EQ(gaps[0].kind(), log::v1::WRITER_AWAY);
  EXPECT_EQ(gaps[0].first_time_us(), 2000);
  EXPECT_EQ(gaps[1].kind(), log::v1::LOST);
  EXPECT_EQ(gaps[1].first_time_us(), 1000);
  for (const log::v1::Gap& gap : gaps) {
    EXPECT_LE(gap.last_time_us(), NowUs());
    EXPECT_GE(gap.last_time_us(), NowUs() - 60000000);
  }
}

// After kill -9 the page cache has everything; after a power cut it has not.
TEST_F(SpoolGapTest, AfterARebootUnsyncedRecordsMayBeMissing) {
  WriterState state{.newest_segment_us = 5,
                    .alive_us = 2000,
                    .trouble_since_us = 0,
                    .durable_us = 900,
                    .is_closed = false,
                    .boot_id = "another boot"};
  const auto gaps = GapsAfter(state);
  ASSERT_THAT(gaps, SizeIs(2));
  EXPECT_EQ(gaps[1].kind(), log::v1::LOST);
  EXPECT_EQ(gaps[1].first_time_us(), 900);
  state.is_closed = true;
  EXPECT_THAT(GapsAfter(state), SizeIs(1));
  state.is_closed = false;
  state.boot_id = BootId();
  EXPECT_THAT(GapsAfter(state), SizeIs(1));
}

TEST_F(SpoolGapTest, TellsOfAClockThatWasSetBackMeanwhile) {
  const int64_t later_us = NowUs() + 3600'000'000;
  const auto gaps = GapsAfter({.newest_segment_us = 5,
                               .alive_us = later_us,
                               .trouble_since_us = 0,
                               .durable_us = later_us,
                               .is_closed = true,
                               .boot_id = BootId()});
  ASSERT_THAT(gaps, SizeIs(2));
  EXPECT_EQ(gaps[0].kind(), log::v1::CLOCK_STEP);
  EXPECT_LE(gaps[0].first_time_us(), NowUs());
  EXPECT_EQ(gaps[0].last_time_us(), later_us);
}

// The records are saved, but the gap cannot be told at once.
TEST_F(SpoolGapTest, TroubleEndsThoughItsGapHadToWait) {
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), {}));
  {
    const FileFault sync = FailSyncs(".seg", EIO, 1);
    // The header of the other segment and the saved record are written, and the
    // gap is not.
    const FileFault write({.call = FileCall::kWrite,
                           .path = ".seg",
                           .error = EIO,
                           .skip = 1,
                           .count = 3});
    ASSERT_TRUE(PollUntil(
        [&] { return !writer->AppendDecision(SmallDecision("x"), {}).ok(); }));
    ASSERT_TRUE(PollUntil([&] { return write.num_failures() == 3; }));
  }
  EXPECT_TRUE(PollUntil([&] {
    return writer->stats().state == SpoolState::kOk &&
           State().trouble_since_us == 0;
  }));
}

// A sync that began before a gap was told does not cover it. If the next one
// fails, the time of the gap is lost again.
TEST_F(SpoolGapTest, AGapThatIsLostIsToldAgain) {
  const FakeDisk disk(".seg");
  const auto writer = Open();
  int64_t refused_us = 0;
  std::unique_ptr<SyncStall> stall;
  {
    const FileFault fault = FailWrites("/spool/");
    ASSERT_FALSE(writer->AppendDecision(SmallDecision("x"), {}).ok());
    refused_us = NowUs();
    const int syncs = events_.num_syncs();
    ASSERT_TRUE(PollUntil([&] { return events_.num_syncs() > syncs; }));
    stall = std::make_unique<SyncStall>();
    ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));
  }
  // The spool goes on in another segment, which begins with the gap.
  ASSERT_TRUE(
      PollUntil([&] { return writer->stats().state == SpoolState::kOk; }));
  {
    const FileFault fault = ForgetOneSync(Segments().back());
    stall.reset();
    ASSERT_TRUE(PollUntil([&] { return fault.num_failures() == 1; }));
  }
  ASSERT_TRUE(PollUntil([&] { return writer->stats().lost > 0; }));
  ASSERT_OK(writer->Close());
  const std::vector<log::v1::Gap> gaps = Gaps();
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_LE(gaps[0].first_time_us(), refused_us);
}

// The header of a segment can be written and the gap cannot: each try leaves a
// segment behind.
TEST_F(SpoolGapTest, ADiskThatFailsIsTriedFiveTimesASecond) {
  const auto writer = Open();
  const FileFault fault = FailWrites(".seg");
  const int64_t begin_us = SteadyUs();
  ASSERT_FALSE(writer->AppendDecision(SmallDecision("x"), {}).ok());
  const uint64_t segments = writer->stats().segments;
  ASSERT_TRUE(PollUntil([&] { return fault.num_failures() >= 4; }));
  const uint64_t tries = writer->stats().segments - segments;
  EXPECT_LE(tries, 1 + static_cast<uint64_t>(SteadyUs() - begin_us) / 200000);
}

TEST_F(SpoolGapTest, SaysThatItIsAlive) {
  const auto writer = Open();
  const int64_t first_us = State().alive_us;
  EXPECT_GT(first_us, 0);
  EXPECT_TRUE(PollUntil([&] { return State().alive_us > first_us; }));
  EXPECT_TRUE(PollUntil([&] { return State().durable_us > first_us; }));
}

TEST_F(SpoolGapTest, FootersSayWhichSegmentIsTheLast) {
  options_.set_segment_seconds(0.05);
  {
    const auto writer = Open();
    ASSERT_OK(writer->AppendDecision(SmallDecision("a"), {}));
    ASSERT_TRUE(PollUntil([&] { return writer->stats().segments > 1; }));
    ASSERT_OK(writer->Close());
  }
  std::vector<bool> is_last;
  for (const std::string& name : Segments()) {
    const auto reader = *SegmentReader::Open(options_.dir() + "/" + name);
    absl::string_view payload;
    uint64_t offset = 0;
    log::v1::LogRecord record;
    while (*reader->Next(&payload, &offset) ==
           SegmentReader::Outcome::kRecord) {
      ASSERT_TRUE(ParseMessage(payload, &record));
    }
    ASSERT_TRUE(record.footer().has_is_last()) << name;
    is_last.push_back(record.footer().is_last());
  }
  ASSERT_GE(is_last.size(), 2u);
  EXPECT_TRUE(is_last.back());
  is_last.pop_back();
  EXPECT_THAT(is_last, Each(false));
}

}  // namespace
}  // namespace sortition
