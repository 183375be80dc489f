#include "sidecar/pipeline.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segment.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kStart = 1000 * kSecond;

class PipelineTest : public testing::Test {
 protected:
  PipelineTest() : options_(Options(dir_.path())) {
    std::filesystem::create_directories(options_.spool());
  }

  std::unique_ptr<Pipeline> Open() {
    auto pipeline = Pipeline::Open(options_, &metrics_, clock_.Get());
    EXPECT_OK(pipeline);
    return *std::move(pipeline);
  }
  // One undisturbed life, to the end.
  void Finish() {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    EXPECT_OK(pipeline->Close());
  }
  // Dies after so many steps; false where the end came first.
  bool DieAfter(uint64_t steps) {
    const auto pipeline = Open();
    for (uint64_t i = 0; i < steps;) {
      const auto is_busy = pipeline->Poll(1);
      EXPECT_OK(is_busy);
      if (*is_busy) {
        ++i;
        continue;
      }
      if (pipeline->counts().pending == 0) return false;
      clock_.now_us += kSecond;
    }
    return true;
  }
  // Everything as it was before the first life.
  void StartAgain(const std::string& saved_spool) {
    std::filesystem::remove_all(options_.spool());
    std::filesystem::remove_all(options_.tuples());
    std::filesystem::copy(saved_spool, options_.spool());
    clock_.now_us = kStart;
  }
  static std::vector<std::string> Names(const std::string& dir) {
    auto names = ListSegments(dir);
    EXPECT_OK(names);
    return *std::move(names);
  }
  std::vector<std::string> Spool() const { return Names(options_.spool()); }

  TempDir dir_;
  Metrics metrics_;
  FakeClock clock_{kStart};
  config::v1::SidecarOptions options_;
};

void ExpectSame(const Expected& actual, const Expected& expected) {
  EXPECT_EQ(actual.tuples, expected.tuples);
  EXPECT_EQ(actual.late, expected.late);
}

TEST_F(PipelineTest, JoinsAHistoryByTheRules) {
  const auto history = History(400, 1, kStart);
  WriteSpool(options_.spool(), history, 50);
  Finish();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// The decision must be in the tuple byte for byte, unknown fields included.
TEST_F(PipelineTest, PassesTheBytesOfADecisionOn) {
  log::v1::LogRecord record = DecisionRecord("a", kStart);
  record.mutable_decision()
      ->GetReflection()
      ->MutableUnknownFields(record.mutable_decision())
      ->AddLengthDelimited(500, "from the future");
  WriteSpool(options_.spool(),
             {record, ShownRecord("a", kStart + kSecond),
              FeedbackRecord("f", "a", kStart + 2 * kSecond, 0.5)},
             10);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  const log::v1::BanditTuple& tuple = tuples[0];
  EXPECT_EQ(tuple.decision().SerializeAsString(),
            record.decision().SerializeAsString());
  EXPECT_EQ(tuple.position().segment(), Spool()[0]);
  EXPECT_GT(tuple.position().offset(), 0u);
  EXPECT_EQ(tuple.reward(), 0.5);
  EXPECT_EQ(tuple.spool_writer(), "server");
  EXPECT_EQ(tuple.shown().decision_id(), "a");
  EXPECT_EQ(tuple.feedback(0).feedback_id(), "f");
}

TEST_F(PipelineTest, OnlyIfShownLeavesOutTheRest) {
  options_.mutable_join()->set_only_if_shown(true);
  WriteSpool(options_.spool(),
             {DecisionRecord("a", kStart), DecisionRecord("b", kStart),
              ShownRecord("b", kStart + 1)},
             10);
  Finish();
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("b 0 "));
}

class CrashTest : public PipelineTest,
                  public testing::WithParamInterface<bool> {};

// Killed after every possible number of steps, then run to its end: the output
// is the one of an undisturbed run. One step is one record read, or one tuple
// or late record written; sync and removal happen after each.
TEST_P(CrashTest, OutputDoesNotDependOnWhereItDied) {
  options_.mutable_join()->set_only_if_shown(GetParam());
  const std::string saved = dir_ / "saved";
  const auto history = History(40, 5, kStart);
  WriteSpool(saved, history, 9);
  StartAgain(saved);
  Finish();
  const Expected whole = Output(options_.tuples());
  if (!GetParam()) ExpectSame(whole, ExpectedOutput(history));
  ASSERT_GT(whole.tuples.size(), 10u);
  ASSERT_GT(whole.late.size(), 5u);
  const auto tuples = ReadTuples(options_.tuples());

  bool has_died = true;
  int deaths = 0;
  for (uint64_t steps = 0; has_died; ++steps, ++deaths) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    StartAgain(saved);
    has_died = DieAfter(steps);
    Finish();
    ExpectSame(Output(options_.tuples()), whole);
    const auto again = ReadTuples(options_.tuples());
    ASSERT_EQ(again.size(), tuples.size());
    for (size_t i = 0; i < tuples.size(); ++i) {
      ASSERT_EQ(again[i].SerializeAsString(), tuples[i].SerializeAsString());
    }
    ASSERT_EQ(Spool().size(), 1u);
  }
  EXPECT_GT(deaths, 100);
}

INSTANTIATE_TEST_SUITE_P(OnlyIfShown, CrashTest, testing::Bool());

TEST_F(PipelineTest, OutputDoesNotDependOnManyDeaths) {
  const std::string saved = dir_ / "saved";
  const auto history = History(60, 11, kStart);
  WriteSpool(saved, history, 13);
  const Expected expected = ExpectedOutput(history);
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    StartAgain(saved);
    for (int deaths = 0; deaths < 12; ++deaths) DieAfter(random() % 300);
    Finish();
    ExpectSame(Output(options_.tuples()), expected);
  }
}

// A kill inside pwritev(2) leaves a part of a record.
TEST_F(PipelineTest, TornTuplesAreWrittenAgain) {
  options_.set_sync_interval_seconds(3600);
  const std::string saved = dir_ / "saved";
  const auto history = History(60, 3, kStart);
  WriteSpool(saved, history, 13);
  const Expected expected = ExpectedOutput(history);
  for (uint64_t steps = 60; steps < 260; steps += 20) {
    SCOPED_TRACE(steps);
    StartAgain(saved);
    DieAfter(steps);
    for (const std::string& dir :
         {options_.tuples(), options_.tuples() + "/late"}) {
      const auto names = Names(dir);
      if (names.empty()) continue;
      const std::string path = dir + "/" + names.back();
      uint64_t last = 0;
      uint64_t end = 0;
      auto reader = *SegmentReader::Open(path);
      absl::string_view payload;
      uint64_t offset = 0;
      while (*reader->Next(&payload, &offset) ==
             SegmentReader::Outcome::kRecord) {
        last = offset;
        end = reader->offset();
      }
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const uint64_t kept = last + 1 + steps % (end - last - 1);
      file.seekp(static_cast<std::streamoff>(kept));
      file << std::string(end - kept, '\0');
    }
    Finish();
    ExpectSame(Output(options_.tuples()), expected);
  }
}

TEST_F(PipelineTest, RecoversTheSegmentOfADeadWriter) {
  auto writer = NewSegment(options_.spool(), 1, 0);
  ASSERT_OK(writer->Append(DecisionRecord("a", kStart)));
  ASSERT_OK(writer->Append(FeedbackRecord("f", "a", kStart + 1, 4)));
  const std::string path = options_.spool() + "/" + writer->name();
  const uint64_t end = writer->bytes();
  ASSERT_OK(writer->Append(DecisionRecord("torn", kStart + 2)));
  const uint64_t torn_end = writer->bytes();
  writer.reset();  // Dies ...
  {
    // ... with 30 bytes of the last record written.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(end + 30));
    file << std::string(torn_end - end - 30, '\0');
  }
  // The next life of the server.
  auto next = NewSegment(options_.spool(), 2, 0);
  ASSERT_OK(next->Append(DecisionRecord("b", kStart + 3)));
  ASSERT_OK(next->Close());
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("a 4 f", "b 0 "));
  EXPECT_EQ(pipeline->counts().tail.recovered_segments, 1u);
  EXPECT_EQ(pipeline->counts().tail.torn_bytes, 30u);
  EXPECT_EQ(pipeline->counts().tail.corrupt_records, 0u);
}

TEST_F(PipelineTest, PassesOverADamagedRecord) {
  auto writer = NewSegment(options_.spool(), 1, 0);
  ASSERT_OK(writer->Append(DecisionRecord("a", kStart)));
  const uint64_t damaged = writer->bytes() + 40;
  ASSERT_OK(writer->Append(DecisionRecord("b", kStart + 1)));
  ASSERT_OK(writer->Append(DecisionRecord("c", kStart + 2)));
  ASSERT_OK(writer->Close());
  const std::string path = options_.spool() + "/" + writer->name();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(damaged));
  const int byte = file.get();
  file.seekp(static_cast<std::streamoff>(damaged));
  file.put(static_cast<char>(byte ^ 0x10));
  file.close();
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("a 0 ", "c 0 "));
  EXPECT_EQ(pipeline->counts().tail.corrupt_records, 1u);
}

TEST_F(PipelineTest, PassesOverRecordsThatMakeNoSense) {
  auto writer = NewSegment(options_.spool(), 1, 0);
  const absl::string_view junk[] = {"no protobuf"};
  ASSERT_OK(writer->Append(junk));
  log::v1::LogRecord without_id;
  without_id.mutable_decision()->set_time_us(kStart);
  ASSERT_OK(writer->Append(without_id));
  ASSERT_OK(writer->Append(FeedbackRecord("f", "a", kStart, NAN)));
  ASSERT_OK(writer->Append(DecisionRecord("a", kStart)));
  ASSERT_OK(writer->Close());
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("a 0 "));
  EXPECT_EQ(pipeline->counts().malformed_records, 3u);
}

TEST_F(PipelineTest, RefusesALaterFormat) {
  SegmentWriter::Options segment;
  segment.dir = options_.spool();
  segment.name = SegmentName(1, "server", 0);
  segment.header.set_format_version(2);
  auto writer = *SegmentWriter::Create(segment);
  ASSERT_OK(writer->Close());
  const auto pipeline = Open();
  EXPECT_THAT(pipeline->Poll(10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("format_version 2 is not in [1, 1]")));
}

TEST_F(PipelineTest, RemovesWhatIsSafeAndKeepsTheNewest) {
  WriteSpool(options_.spool(), History(100, 2, kStart), 20);
  const std::string newest = Spool().back();
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_THAT(Spool(), ElementsAre(newest));
  EXPECT_GT(pipeline->counts().removed_segments, 3u);
}

TEST_F(PipelineTest, NoDeleteSpoolKeepsAll) {
  options_.set_delete_spool(false);
  const auto history = History(100, 2, kStart);
  WriteSpool(options_.spool(), history, 20);
  const auto before = Spool();
  Finish();
  Finish();  // A second life finds nothing to write.
  EXPECT_EQ(Spool(), before);
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// Decision at 0 s closes at 11 s of log time; its segment must stay before.
TEST_F(PipelineTest, KeepsASegmentWhileItsWindowsAreOpen) {
  WriteSpool(options_.spool(),
             {DecisionRecord("a", kStart), DecisionRecord("b", kStart + 1)}, 1);
  const auto pipeline = Open();
  clock_.now_us = kStart + 10 * kSecond;
  while (*pipeline->Poll(1)) {
  }
  EXPECT_EQ(Spool().size(), 2u);
  clock_.now_us = kStart + 12 * kSecond;
  while (*pipeline->Poll(1)) {
  }
  EXPECT_EQ(Spool().size(), 1u);
}

TEST_F(PipelineTest, OneSidecarPerDirectory) {
  const auto pipeline = Open();
  EXPECT_THAT(Pipeline::Open(options_, &metrics_, clock_.Get()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("another sidecar works on")));
}

TEST_F(PipelineTest, RotatesBySizeAndByAge) {
  options_.set_segment_seconds(5);
  const auto history = History(600, 4, kStart);
  WriteSpool(options_.spool(), history, 100);
  {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    clock_.now_us += 6 * kSecond;
    ASSERT_OK(pipeline->Poll(1));
    // By age: all segments are closed, though the pipeline is not.
    for (const std::string& name : Names(options_.tuples())) {
      const auto is_live = SegmentHasLiveWriter(options_.tuples() + "/" + name);
      ASSERT_OK(is_live);
      EXPECT_FALSE(*is_live);
    }
  }
  const auto names = Names(options_.tuples());
  EXPECT_GT(names.size(), 1u);
  for (const std::string& name : names) {
    EXPECT_LE(std::filesystem::file_size(options_.tuples() + "/" + name),
              65536u + 100u);  // And a footer.
  }
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

TEST_F(PipelineTest, CountsWhatItDoes) {
  const auto history = History(100, 6, kStart);
  WriteSpool(options_.spool(), history, 20);
  const Expected expected = ExpectedOutput(history);
  Finish();
  const std::string text = metrics_.Text();
  EXPECT_THAT(text, HasSubstr(absl::StrCat("sortition_join_decisions_total ",
                                           expected.tuples.size() + 1)));
  EXPECT_THAT(text, HasSubstr("sortition_join_pending_decisions 0"));
  EXPECT_THAT(text, HasSubstr("sortition_join_reward_latency_seconds_count"));
  EXPECT_THAT(text, HasSubstr("sortition_sidecar_spool_lag_bytes 0"));
}

// Tails a spool that another thread writes. All log times lie far ahead of the
// sidecar's clock, so that only the log closes windows, however slow it goes.
class LiveTest : public PipelineTest,
                 public testing::WithParamInterface<bool> {};

TEST_P(LiveTest, FollowsAWriter) {
  options_.set_inotify(GetParam());
  const auto history = History(500, 8, kStart);
  Expected expected = ExpectedOutput(history);
  std::atomic<bool> is_written{false};
  std::thread writer([&] {
    std::unique_ptr<SegmentWriter> current = NewSegment(options_.spool(), 1, 0);
    for (size_t i = 0; i < history.size(); ++i) {
      if (i % 100 == 99) {
        // The next one is there, and used, before the old one has its footer.
        auto next =
            NewSegment(options_.spool(), static_cast<int64_t>(i) + 2, i);
        EXPECT_OK(next->Append(history[i]));
        EXPECT_OK(current->Close());
        current = std::move(next);
        continue;
      }
      EXPECT_OK(current->Append(history[i]));
    }
    is_written = true;
  });
  const auto pipeline =
      *Pipeline::Open(options_, &metrics_, [] { return kStart - kSecond; });
  while (true) {
    const bool was_written = is_written;
    const auto is_busy = pipeline->Poll(16);
    ASSERT_OK(is_busy);
    if (*is_busy) continue;
    if (was_written) break;
    pipeline->Wait(0.01);
  }
  writer.join();
  ASSERT_OK(pipeline->Close());
  ExpectSame(Output(options_.tuples()), expected);
}

INSTANTIATE_TEST_SUITE_P(Inotify, LiveTest, testing::Bool());

}  // namespace
}  // namespace sortition
