// Which decisions are censored, and why.
#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/spool/writer_state.h"
#include "sidecar/join/censored_times.h"
#include "tests/sidecar/join/joiner_fixture.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using log::v1::CensorReason;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(CensoredTimesTest, IntervalsContainTheirEnds) {
  CensoredTimes times;
  times.Add(log::v1::LOST, 100, 200);
  EXPECT_THAT(times.ReasonsIn(0, 99), IsEmpty());
  EXPECT_THAT(times.ReasonsIn(0, 100), ElementsAre(log::v1::LOST));
  EXPECT_THAT(times.ReasonsIn(120, 130), ElementsAre(log::v1::LOST));
  EXPECT_THAT(times.ReasonsIn(0, 1000), ElementsAre(log::v1::LOST));
  EXPECT_THAT(times.ReasonsIn(200, 300), ElementsAre(log::v1::LOST));
  EXPECT_THAT(times.ReasonsIn(201, 300), IsEmpty());
}

TEST(CensoredTimesTest, OpenOnesLastAsFarAsIsKnown) {
  CensoredTimes times;
  times.SetOpen(log::v1::REFUSED, 100, 5000);
  times.Add(log::v1::CLOCK_STEP, 150, 150);
  EXPECT_THAT(times.ReasonsIn(0, 99), IsEmpty());
  EXPECT_THAT(times.ReasonsIn(1000, 2000), ElementsAre(log::v1::REFUSED));
  EXPECT_THAT(times.ReasonsIn(0, 150),
              ElementsAre(log::v1::REFUSED, log::v1::CLOCK_STEP));
  // Beyond the time of which it is known nothing is said.
  EXPECT_THAT(times.ReasonsIn(5001, 6000), IsEmpty());
  times.SetOpen(log::v1::REFUSED, std::nullopt, 0);
  EXPECT_THAT(times.ReasonsIn(1000, 2000), IsEmpty());
}

// Merging may censor more, and never less, than the intervals themselves.
TEST(CensoredTimesTest, BoundedMemoryCensorsNoLess) {
  std::mt19937 random(5);
  CensoredTimes times;
  std::vector<std::pair<int64_t, int64_t>> all;
  const int64_t second = 1000000;
  for (int i = 0; i < 5000; ++i) {
    const int64_t first = i * 3 * second + random() % second;
    const int64_t last = first + random() % second;
    all.emplace_back(first, last);
    times.Add(log::v1::LOST, first, last);
  }
  for (const auto& [first, last] : all) {
    EXPECT_THAT(times.ReasonsIn(first, first), ElementsAre(log::v1::LOST));
    EXPECT_THAT(times.ReasonsIn(last, last), ElementsAre(log::v1::LOST));
  }
  // The newest are kept apart.
  EXPECT_THAT(
      times.ReasonsIn(all.back().second + 1, all.back().second + second),
      IsEmpty());
  EXPECT_THAT(times.ReasonsIn(all[4900].second + 1, all[4901].first - 1),
              IsEmpty());
  times.ForgetBefore(all.back().second + 1);
  EXPECT_THAT(times.ReasonsIn(0, INT64_MAX), IsEmpty());
}

class JoinerCensoringTest : public JoinerTest {
 protected:
  std::vector<std::string> Censored() const {
    std::vector<std::string> ids;
    for (const ClosedDecision& closed : closed_) {
      if (closed.censored.empty()) continue;
      ids.push_back(absl::StrCat((closed.time_us - kBase) / kSecond,
                                 closed.has_feedback ? "+" : "-"));
    }
    return ids;
  }
};

// Window 10 s, slack 1 s: a loss at 20 to 25 concerns decisions from 9 on, as
// its records may be stamped from 19 on.
TEST_F(JoinerCensoringTest, AllWhoseWindowMeetsTheTimeWithFeedbackOrWithout) {
  int number = 0;
  for (const double time : {8, 9, 12, 16, 19}) {
    Decide(absl::StrCat("d", time), time);
    if (++number % 2 == 0) {
      Feed(absl::StrCat("f", time), absl::StrCat("d", time), time + 0.1, 1);
    }
  }
  joiner().Censor(log::v1::LOST, At(20), At(25));
  Decide("at the end", 25);
  Decide("after", 26);
  Advance(1000);
  EXPECT_EQ(closed_.size(), 7u);
  EXPECT_THAT(Censored(), ElementsAre("9+", "12-", "16+", "19-", "25-"));
}

TEST_F(JoinerCensoringTest, IsForgottenOnlyWhenNothingOldCanCome) {
  joiner().Censor(log::v1::CLOCK_STEP, At(20), At(120));
  Decide("ahead", 120);
  // The clock was set back by 100 s: it takes that long to get beyond.
  for (int i = 0; i < 100; ++i) Decide(absl::StrCat("back", i), 20 + i);
  Advance(1000);
  EXPECT_EQ(closed_.size(), 101u);
  EXPECT_EQ(Censored().size(), 101u);
  Decide("later", 1000);
  Advance(2000);
  EXPECT_EQ(Censored().size(), 101u);
}

// Through all of the pipeline, with a window of 10 s and a slack of 1 s.
class PipelineCensoringTest : public PipelineTest {
 protected:
  static int64_t At(double seconds) {
    return kStartUs + static_cast<int64_t>(seconds * kSecond);
  }
  static log::v1::LogRecord GapRecord(CensorReason kind, double first,
                                      double last) {
    log::v1::LogRecord record;
    record.mutable_gap()->set_kind(kind);
    record.mutable_gap()->set_first_time_us(At(first));
    record.mutable_gap()->set_last_time_us(At(last));
    return record;
  }
  // "id reason,reason" of the censored tuples.
  std::vector<std::string> Censored() {
    std::vector<std::string> lines;
    for (const log::v1::BanditTuple& tuple : ReadTuples(options_.tuples())) {
      if (tuple.censored_size() == 0) continue;
      std::string line = tuple.decision().decision_id();
      for (const int reason : tuple.censored()) {
        absl::StrAppend(
            &line, " ",
            log::v1::CensorReason_Name(static_cast<CensorReason>(reason)));
      }
      lines.push_back(line);
    }
    return lines;
  }
  // Appends a decision every second from `first` to `last`, each with feedback.
  void Traffic(SegmentWriter* writer, int first, int last) {
    for (int i = first; i <= last; ++i) {
      const std::string id = absl::StrCat("d", i);
      ASSERT_OK(writer->Append(DecisionRecord(id, At(i))));
      ASSERT_OK(writer->Append(FeedbackRecord("f" + id, id, At(i + 0.5), 1)));
    }
  }
  std::unique_ptr<SegmentWriter> Segment(const std::string& incarnation,
                                         uint64_t first_sequence,
                                         double created,
                                         std::vector<log::v1::Gap> gaps = {}) {
    SegmentWriter::Options options;
    options.dir = options_.spool(0);
    options.name = SegmentName(At(created), "server", 0);
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::SPOOL);
    options.header.set_incarnation(incarnation);
    options.header.set_first_sequence(first_sequence);
    options.header.set_created_time_us(At(created));
    for (const log::v1::Gap& gap : gaps)
      *options.header.add_gaps_before() = gap;
    auto writer = SegmentWriter::Create(options);
    EXPECT_OK(writer);
    return *std::move(writer);
  }
  void SayState(const WriterState& state) {
    ASSERT_OK(WriteFile(options_.spool(0) + "/" + kWriterLockFile,
                        EncodeWriterState(state)));
  }
};

TEST_F(PipelineCensoringTest, GapRecordsOfEachKind) {
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 12);
  ASSERT_OK(writer->Append(GapRecord(log::v1::REFUSED, 12.8, 13)));
  ASSERT_OK(writer->Append(GapRecord(log::v1::CLOCK_STEP, 13, 13)));
  // Of an older server.
  ASSERT_OK(
      writer->Append(GapRecord(log::v1::CENSOR_REASON_UNSPECIFIED, 13, 13.5)));
  Traffic(writer.get(), 14, 16);
  ASSERT_OK(writer->Close(true));
  Finish();
  EXPECT_EQ(Output(options_.tuples()).tuples.size(), 16u);
  EXPECT_THAT(
      Censored(),
      ElementsAre("d2 LOST REFUSED CLOCK_STEP", "d3 LOST REFUSED CLOCK_STEP",
                  "d4 LOST REFUSED CLOCK_STEP", "d5 LOST REFUSED CLOCK_STEP",
                  "d6 LOST REFUSED CLOCK_STEP", "d7 LOST REFUSED CLOCK_STEP",
                  "d8 LOST REFUSED CLOCK_STEP", "d9 LOST REFUSED CLOCK_STEP",
                  "d10 LOST REFUSED CLOCK_STEP", "d11 LOST REFUSED CLOCK_STEP",
                  "d12 LOST REFUSED CLOCK_STEP"));
}

TEST_F(PipelineCensoringTest, WriterThatWasAwayLongerThanRetriesBridge) {
  options_.mutable_join()->set_max_away_seconds(5);
  log::v1::Gap away = GapRecord(log::v1::WRITER_AWAY, 12.6, 20).gap();
  auto first = Segment("one", 0, 0);
  Traffic(first.get(), 0, 12);
  ASSERT_OK(first->Close(true));
  auto second = Segment("two", 0, 20, {away});
  Traffic(second.get(), 21, 22);
  ASSERT_OK(second->Close(true));
  away.set_first_time_us(At(22));
  away.set_last_time_us(At(26));
  auto third = Segment("three", 0, 26, {away});  // Not too long.
  Traffic(third.get(), 27, 28);
  ASSERT_OK(third->Close(true));
  Finish();
  EXPECT_THAT(Censored(),
              ElementsAre("d2 WRITER_AWAY", "d3 WRITER_AWAY", "d4 WRITER_AWAY",
                          "d5 WRITER_AWAY", "d6 WRITER_AWAY", "d7 WRITER_AWAY",
                          "d8 WRITER_AWAY", "d9 WRITER_AWAY", "d10 WRITER_AWAY",
                          "d11 WRITER_AWAY", "d12 WRITER_AWAY"));
}

// As long as it may come back in time, nothing is decided.
TEST_F(PipelineCensoringTest, WindowsStayOpenUntilAnAbsenceIsKnown) {
  options_.mutable_join()->set_max_away_seconds(30);
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 3);
  SayState({.alive_us = At(4)});
  const auto pipeline = Open();
  clock_.now_us = At(33);
  for (bool is_busy = true; is_busy;) is_busy = *pipeline->Poll(64);
  EXPECT_EQ(pipeline->counts().pending, 4u);
  // It is back within 30 s.
  SayState({.alive_us = At(33)});
  for (bool is_busy = true; is_busy;) is_busy = *pipeline->Poll(64);
  EXPECT_EQ(pipeline->counts().pending, 0u);
  EXPECT_THAT(Censored(), IsEmpty());
}

// Removes one of three segments of an incarnation.
TEST_F(PipelineCensoringTest, MissingSegment) {
  auto first = Segment("one", 0, 0);
  Traffic(first.get(), 0, 12);
  ASSERT_OK(first->Close());
  auto third = Segment("one", 30, 20);
  Traffic(third.get(), 21, 23);
  ASSERT_OK(third->Close(true));
  Finish();
  EXPECT_THAT(Censored(), ElementsAre("d2 MISSING", "d3 MISSING", "d4 MISSING",
                                      "d5 MISSING", "d6 MISSING", "d7 MISSING",
                                      "d8 MISSING", "d9 MISSING", "d10 MISSING",
                                      "d11 MISSING", "d12 MISSING"));
}

// What is gone is the end of an incarnation, or the begin of the next one.
TEST_F(PipelineCensoringTest, MissingSegmentsBetweenIncarnations) {
  auto first = Segment("one", 0, 0);
  Traffic(first.get(), 0, 1);
  ASSERT_OK(first->Close(false));  // Another one followed.
  auto second = Segment("two", 0, 3);
  Traffic(second.get(), 30, 31);
  ASSERT_OK(second->Close(true));
  auto third = Segment("three", 7, 33);  // Another one went before.
  Traffic(third.get(), 60, 61);
  ASSERT_OK(third->Close(true));
  auto fourth = Segment("four", 0, 63);  // All is there.
  Traffic(fourth.get(), 64, 64);
  ASSERT_OK(fourth->Close(true));
  Finish();
  EXPECT_THAT(Censored(), ElementsAre("d0 MISSING", "d1 MISSING", "d30 MISSING",
                                      "d31 MISSING"));
}

TEST_F(PipelineCensoringTest, NothingIsMissingBehindADeadWriter) {
  auto first = Segment("one", 0, 0);
  Traffic(first.get(), 0, 1);
  first.reset();  // Dies.
  auto second = Segment("two", 0, 3);
  Traffic(second.get(), 4, 5);
  ASSERT_OK(second->Close(true));
  Finish();
  EXPECT_EQ(Output(options_.tuples()).tuples.size(), 4u);
  EXPECT_THAT(Censored(), IsEmpty());
}

TEST_F(PipelineCensoringTest, DamagedRecord) {
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 15);
  const uint64_t damaged = writer->bytes() + 40;
  ASSERT_OK(writer->Append(DecisionRecord("damaged", At(16))));
  Traffic(writer.get(), 17, 18);
  ASSERT_OK(writer->Close(false));
  auto next = Segment("one", 37, 40);
  Traffic(next.get(), 41, 41);
  ASSERT_OK(next->Close(true));
  {
    std::fstream file(options_.spool(0) + "/" + writer->name(),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(damaged));
    file.put('\xff');
  }
  Finish();
  // Between 15.5 and 17, and the slack. That the damaged record is missing from
  // the numbers is no further loss.
  EXPECT_THAT(
      Censored(),
      ElementsAre("d5 DAMAGED", "d6 DAMAGED", "d7 DAMAGED", "d8 DAMAGED",
                  "d9 DAMAGED", "d10 DAMAGED", "d11 DAMAGED", "d12 DAMAGED",
                  "d13 DAMAGED", "d14 DAMAGED", "d15 DAMAGED", "d17 DAMAGED"));
}

// The server is in trouble since 13, and has not told it in the spool yet.
TEST_F(PipelineCensoringTest, TroubleThatHasNotEnded) {
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 3);
  SayState({.alive_us = At(1000), .trouble_since_us = At(13)});
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_THAT(Censored(), ElementsAre("d2 REFUSED", "d3 REFUSED"));
  // It ends. What is read of the time behind it, before the next look at the
  // state, is whole.
  const int64_t look_us = clock_.now_us;
  ASSERT_OK(writer->Append(GapRecord(
      log::v1::REFUSED, 13, static_cast<double>(look_us - kStartUs) / 1e6)));
  Traffic(writer.get(), 100, 199);
  SayState({.alive_us = At(1000)});
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_EQ(Output(options_.tuples()).tuples.size(), 104u);
  EXPECT_THAT(Censored(), ElementsAre("d2 REFUSED", "d3 REFUSED"));
}

TEST_F(PipelineCensoringTest, WriterThatIsAwayNow) {
  options_.mutable_join()->set_max_away_seconds(2);
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 18);
  ASSERT_OK(writer->Close(true));
  SayState({.alive_us = At(19), .is_closed = true});
  Finish();
  // Away from 19 on, and the slack.
  EXPECT_THAT(
      Censored(),
      ElementsAre("d8 WRITER_AWAY", "d9 WRITER_AWAY", "d10 WRITER_AWAY",
                  "d11 WRITER_AWAY", "d12 WRITER_AWAY", "d13 WRITER_AWAY",
                  "d14 WRITER_AWAY", "d15 WRITER_AWAY", "d16 WRITER_AWAY",
                  "d17 WRITER_AWAY", "d18 WRITER_AWAY"));
}

// The sidecar's own clock is set while the server is idle.
TEST_F(PipelineCensoringTest, StepOfTheSidecarsClock) {
  auto writer = Segment("one", 0, 0);
  Traffic(writer.get(), 0, 3);
  int64_t steady_us = 0;
  auto pipeline = *Pipeline::Open(options_, &metrics_, clock_.Get(),
                                  [&] { return steady_us; });
  clock_.now_us = At(4);
  ASSERT_OK(pipeline->Poll(1000));
  EXPECT_EQ(pipeline->counts().pending, 4u);
  clock_.now_us = At(400);  // Forward by 395 s.
  steady_us += kSecond;
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_THAT(Censored(), ElementsAre("d0 CLOCK_STEP", "d1 CLOCK_STEP",
                                      "d2 CLOCK_STEP", "d3 CLOCK_STEP"));
}

// A sidecar that dies at any step writes the same tuples in the end.
TEST_F(PipelineCensoringTest, IsTheSameAfterARestart) {
  options_.mutable_join()->set_max_away_seconds(5);
  auto first = Segment("one", 0, 0);
  Traffic(first.get(), 0, 12);
  ASSERT_OK(first->Append(GapRecord(log::v1::LOST, 12.8, 13)));
  Traffic(first.get(), 14, 40);
  ASSERT_OK(first->Close());
  // A segment with nothing but a gap: the clock was set back to 35.
  auto gap = Segment("one", 81, 40.6);
  ASSERT_OK(gap->Append(GapRecord(log::v1::CLOCK_STEP, 35, 41)));
  ASSERT_OK(gap->Close(true));
  auto second =
      Segment("two", 0, 60, {GapRecord(log::v1::WRITER_AWAY, 40, 60).gap()});
  Traffic(second.get(), 61, 100);
  ASSERT_OK(second->Close(true));
  const std::string saved = dir_ / "saved";
  std::filesystem::copy(options_.spool(0), saved);
  Finish();
  const std::vector<std::string> expected = Censored();
  EXPECT_GT(expected.size(), 10u);
  for (uint64_t steps = 1; steps < 400; steps += 23) {
    StartAgain(saved);
    for (uint64_t at = steps; DieAfter(at);) at += 100;
    Finish();
    EXPECT_EQ(Censored(), expected) << steps;
  }
}

}  // namespace
}  // namespace sortition
