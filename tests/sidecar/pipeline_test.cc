#include "sidecar/pipeline.h"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/segments/compressed_file.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "tests/sidecar/pipeline_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST_F(PipelineTest, JoinsAHistoryByTheRules) {
  const auto history = History(400, 1, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  Finish();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// The tuple must contain the decision byte for byte, unknown fields included.
TEST_F(PipelineTest, PassesTheBytesOfADecisionOn) {
  log::v1::LogRecord record = DecisionRecord("a", kStartUs);
  record.mutable_decision()
      ->GetReflection()
      ->MutableUnknownFields(record.mutable_decision())
      ->AddLengthDelimited(500, "from the future");
  WriteSpool(options_.spool(0),
             {record, ShownRecord("a", kStartUs + kSecond),
              FeedbackRecord("f", "a", kStartUs + 2 * kSecond, 0.5)},
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
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs), DecisionRecord("b", kStartUs),
              ShownRecord("b", kStartUs + 1)},
             10);
  Finish();
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("b 0 "));
}

TEST_F(PipelineTest, RecoversTheSegmentOfADeadWriter) {
  auto writer = NewSegment(options_.spool(0), 1, 0);
  ASSERT_OK(writer->Append(DecisionRecord("a", kStartUs)));
  ASSERT_OK(writer->Append(FeedbackRecord("f", "a", kStartUs + 1, 4)));
  const std::string path = options_.spool(0) + "/" + writer->name();
  const uint64_t end = writer->bytes();
  ASSERT_OK(writer->Append(DecisionRecord("torn", kStartUs + 2)));
  const uint64_t torn_end = writer->bytes();
  writer.reset();  // Dies ...
  {
    // The last record is written in part: 30 bytes of it.
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(end + 30));
    file << std::string(torn_end - end - 30, '\0');
  }
  // The server starts again.
  auto next = NewSegment(options_.spool(0), 2, 0);
  ASSERT_OK(next->Append(DecisionRecord("b", kStartUs + 3)));
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
  auto writer = NewSegment(options_.spool(0), 1, 0);
  ASSERT_OK(writer->Append(DecisionRecord("a", kStartUs)));
  const uint64_t damaged = writer->bytes() + 40;
  ASSERT_OK(writer->Append(DecisionRecord("b", kStartUs + 1)));
  ASSERT_OK(writer->Append(DecisionRecord("c", kStartUs + 2)));
  ASSERT_OK(writer->Close());
  const std::string path = options_.spool(0) + "/" + writer->name();
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
  auto writer = NewSegment(options_.spool(0), 1, 0);
  const absl::string_view junk[] = {"no protobuf"};
  ASSERT_OK(writer->Append(junk));
  log::v1::LogRecord without_id;
  without_id.mutable_decision()->set_time_us(kStartUs);
  ASSERT_OK(writer->Append(without_id));
  ASSERT_OK(writer->Append(FeedbackRecord("f", "a", kStartUs, NAN)));
  ASSERT_OK(writer->Append(DecisionRecord("a", kStartUs)));
  ASSERT_OK(writer->Close());
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("a 0 "));
  EXPECT_EQ(pipeline->counts().malformed_records, 3u);
}

log::v1::LogRecord RankFeedbackRecord(const std::string& feedback_id,
                                      const std::string& id, int64_t time_us,
                                      double reward, uint32_t rank) {
  log::v1::LogRecord record = FeedbackRecord(feedback_id, id, time_us, reward);
  record.mutable_feedback()->set_rank(rank);
  return record;
}

// 1 + 0.5 of rank 2, 0.25 of rank 0, and 0.125 of no rank.
TEST_F(PipelineTest, RewardsPerRankAreBesideTheirSum) {
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs),
              RankFeedbackRecord("f1", "a", kStartUs + 1, 1, 2),
              RankFeedbackRecord("f2", "a", kStartUs + 2, 0.25, 0),
              FeedbackRecord("f3", "a", kStartUs + 3, 0.125),
              RankFeedbackRecord("f4", "a", kStartUs + 4, 0.5, 2)},
             10);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].reward(), 1.875);
  ASSERT_EQ(tuples[0].rank_rewards_size(), 2);
  EXPECT_EQ(tuples[0].rank_rewards(0).ShortDebugString(),
            "reward: 0.25 count: 1");
  EXPECT_EQ(tuples[0].rank_rewards(1).ShortDebugString(),
            "rank: 2 reward: 1.5 count: 2");
}

// The action is candidate 1, at rank 0; candidate 2 is not in it.
TEST_F(PipelineTest, FeedbackByIndexGetsTheRankOfItsCandidate) {
  log::v1::LogRecord click = FeedbackRecord("f1", "a", kStartUs + 1, 1);
  click.mutable_feedback()->set_index(1);
  log::v1::LogRecord other = FeedbackRecord("f2", "a", kStartUs + 2, 0.5);
  other.mutable_feedback()->set_index(2);
  WriteSpool(options_.spool(0), {DecisionRecord("a", kStartUs), click, other},
             10);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].reward(), 1.5);
  ASSERT_EQ(tuples[0].rank_rewards_size(), 1);
  EXPECT_EQ(tuples[0].rank_rewards(0).ShortDebugString(), "reward: 1 count: 1");
  EXPECT_EQ(tuples[0].feedback(1).index(), 2u);
}

TEST_F(PipelineTest, RewardsOutsideTheRangeAreLateOnceOverRestarts) {
  options_.mutable_join()->set_reward_min(0);
  options_.mutable_join()->set_reward_max(1);
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs),
              FeedbackRecord("f1", "a", kStartUs + 1, 1.5),
              FeedbackRecord("f2", "a", kStartUs + 2, 1)},
             10);
  Finish();
  Finish();
  const Expected output = Output(options_.tuples());
  EXPECT_THAT(output.tuples, ElementsAre("a 1 f2"));
  EXPECT_THAT(output.late, ElementsAre("f1 OUT_OF_RANGE"));
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("sortition_join_late_total{reason=\"out_of_range\"} 1\n"));
}

// Decisions of the fixture have candidates 0, 1 and 2.
TEST_F(PipelineTest, FeedbackAboutNoCandidateIsLateOnceOverRestarts) {
  log::v1::LogRecord beyond = FeedbackRecord("f1", "a", kStartUs + 1, 5);
  beyond.mutable_feedback()->set_index(3);
  log::v1::LogRecord last = FeedbackRecord("f2", "a", kStartUs + 2, 1);
  last.mutable_feedback()->set_index(2);
  WriteSpool(options_.spool(0), {DecisionRecord("a", kStartUs), beyond, last},
             10);
  Finish();
  Finish();
  const Expected output = Output(options_.tuples());
  EXPECT_THAT(output.tuples, ElementsAre("a 1 f2"));
  EXPECT_THAT(output.late, ElementsAre("f1 NO_SUCH_CANDIDATE"));
  EXPECT_THAT(
      metrics_.Text(),
      HasSubstr("sortition_join_late_total{reason=\"no_such_candidate\"} 1\n"));
}

TEST_F(PipelineTest, OnlyIfShownCountsAbstentionsThatWereNotReported) {
  options_.mutable_join()->set_only_if_shown(true);
  std::vector<log::v1::LogRecord> records;
  for (const char* id : {"reported", "silent"}) {
    records.push_back(DecisionRecord(id, kStartUs));
    log::v1::Decision& decision = *records.back().mutable_decision();
    decision.set_action_kind(log::v1::SELECT);
    decision.set_action(0, -1);
  }
  records.push_back(ShownRecord("reported", kStartUs + 1, /*not_shown=*/true));
  records.push_back(DecisionRecord("other", kStartUs + 2));
  WriteSpool(options_.spool(0), records, 10);
  Finish();
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre("reported 0 "));
  EXPECT_THAT(
      metrics_.Text(),
      AllOf(HasSubstr("sortition_join_not_shown_total 2\n"),
            HasSubstr("sortition_join_unreported_abstentions_total 1\n")));
}

TEST_F(PipelineTest, ARangeWithoutRewardsIsRefusedByName) {
  options_.mutable_join()->set_reward_min(2);
  options_.mutable_join()->set_reward_max(1);
  EXPECT_THAT(Pipeline::Open(options_, &metrics_, clock_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "join.reward_min = 2: must be at most join.reward_max "
                       "= 1"));
  options_.mutable_join()->set_reward_min(NAN);
  EXPECT_THAT(Pipeline::Open(options_, &metrics_, clock_.Get()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("join.reward_min = nan: ")));
}

// A segment that cannot be read now may be readable later: nothing is skipped.
TEST_F(PipelineTest, ASegmentThatCannotBeReadBackLosesNothing) {
  const auto history = History(20, 5, kStartUs);
  WriteSpool(options_.spool(0), history, 1000);
  const std::string path = options_.spool(0) + "/" + Spool()[0];
  const std::string aside = dir_ / "aside";
  {
    const auto pipeline = Open();
    ASSERT_OK(pipeline->Poll(3));
    std::filesystem::rename(path, aside);
    std::filesystem::create_directory(path);
    absl::StatusOr<bool> is_busy = true;
    while (is_busy.ok() && *is_busy) is_busy = pipeline->Poll(1);
    EXPECT_FALSE(is_busy.ok());
    EXPECT_EQ(pipeline->counts().unreadable_decisions, 0u);
  }
  std::filesystem::remove(path);
  std::filesystem::rename(aside, path);
  Finish();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// Records may be megabytes each; the watchdog waits for the end of a turn.
TEST_F(PipelineTest, ATurnEndsWhenItsTimeIsOver) {
  WriteSpool(options_.spool(0), History(20, 5, kStartUs), 1000);
  int64_t steady_us = 0;
  const auto pipeline = Pipeline::Open(options_, &metrics_, clock_.Get(),
                                       [&] { return steady_us += 30'000; });
  ASSERT_OK(pipeline);
  const auto is_busy = (*pipeline)->Poll(1000);
  ASSERT_OK(is_busy);
  EXPECT_TRUE(*is_busy);
  EXPECT_GT((*pipeline)->counts().pending, 0u);
  EXPECT_LE((*pipeline)->counts().pending, 4u);
}

// The late segments have names older than the whole spool: only their content
// tells what was written.
TEST_F(PipelineTest, LateFeedbackIsNotRepeatedAfterTheClockWasSetBack) {
  options_.set_delete_spool(false);
  options_.set_segment_seconds(1);
  const auto history = History(100, 6, kStartUs);
  WriteSpool(options_.spool(0), history, 50);
  for (const std::string& name : Spool()) {
    std::filesystem::rename(options_.spool(0) + "/" + name,
                            options_.spool(0) + "/7" + name.substr(1));
  }
  Finish();
  ASSERT_GT(Names(options_.tuples() + "/late").size(), 1u);
  Finish();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

TEST_F(PipelineTest, RefusesALaterFormat) {
  SegmentWriter::Options segment;
  segment.dir = options_.spool(0);
  segment.name = SegmentName(1, "server", 0);
  segment.header.set_format_version(2);
  auto writer = *SegmentWriter::Create(segment);
  ASSERT_OK(writer->Close());
  const auto pipeline = Open();
  EXPECT_THAT(pipeline->Poll(10),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("format_version 2 is not in [1, 1]")));
}

// The newest tuple segment was compressed, and a bit of it has flipped. What is
// behind the damage is written again.
TEST_F(PipelineTest, StartsOnADamagedCompressedSegment) {
  options_.set_delete_spool(false);
  const auto history = History(60, 3, kStartUs);
  WriteSpool(options_.spool(0), history, 20);
  Finish();
  const std::string newest = Names(options_.tuples()).back();
  const std::string path = options_.tuples() + "/" + newest;
  const std::string compressed = CompressedSegmentPath(path);
  ASSERT_OK(CompressFile(path, compressed, [] { return false; }));
  std::filesystem::remove(path);
  const std::string saved = dir_ / "saved";
  std::filesystem::copy(options_.tuples(), saved,
                        std::filesystem::copy_options::recursive);
  ASSERT_OK_AND_ASSIGN(const std::string whole, ReadFile(compressed));
  ASSERT_GT(whole.size(), 400u);
  for (size_t place = 0; place < whole.size(); place += whole.size() / 20) {
    std::filesystem::remove_all(options_.tuples());
    std::filesystem::copy(saved, options_.tuples(),
                          std::filesystem::copy_options::recursive);
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    ASSERT_OK(WriteFile(compressed, damaged));
    clock_.now_us = kStartUs + 1000 * kSecond;
    Finish();
    ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
    if (HasFailure()) FAIL() << place << " of " << whole.size();
  }
}

// A caller sends more feedback about one decision than memory could hold: the
// tuple stays small, the rest is late, and the operator is told once a minute.
TEST_F(PipelineTest, AFloodOfFeedbackForOneDecisionIsLate) {
  constexpr int kFeedback = 20000;
  constexpr uint64_t kLimit = 1000;  // The default.
  std::vector<log::v1::LogRecord> records = {DecisionRecord("a", kStartUs)};
  for (int i = 0; i < kFeedback; ++i) {
    records.push_back(
        FeedbackRecord(absl::StrCat("f", i), "a", kStartUs + i, 1));
  }
  records.push_back(DecisionRecord("end", kStartUs + 100 * kSecond));
  WriteSpool(options_.spool(0), records, 5000);
  const auto pipeline = Open();
  testing::internal::CaptureStderr();
  RunToEnd(pipeline.get(), &clock_);
  const std::string log = testing::internal::GetCapturedStderr();
  ASSERT_OK(pipeline->Close());
  EXPECT_EQ(pipeline->counts().late_too_many, kFeedback - kLimit);
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 2u);
  EXPECT_EQ(tuples[0].feedback_size(), static_cast<int>(kLimit));
  EXPECT_EQ(tuples[0].reward(), kLimit);
  const auto late = ReadLate(options_.tuples());
  ASSERT_EQ(late.size(), kFeedback - kLimit);
  EXPECT_EQ(late[0].reason(), log::v1::LateFeedback::TOO_MANY);
  EXPECT_THAT(log, HasSubstr("join.max_feedback_per_decision"));
}

TEST_F(PipelineTest, RemovesWhatIsSafeAndKeepsTheNewest) {
  WriteSpool(options_.spool(0), History(100, 2, kStartUs), 20);
  const std::string newest = Spool().back();
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_THAT(Spool(), ElementsAre(newest));
  EXPECT_GT(pipeline->counts().removed_segments, 3u);
}

TEST_F(PipelineTest, NoDeleteSpoolKeepsAll) {
  options_.set_delete_spool(false);
  const auto history = History(100, 2, kStartUs);
  WriteSpool(options_.spool(0), history, 20);
  const auto before = Spool();
  Finish();
  Finish();  // A second run finds nothing to write.
  EXPECT_EQ(Spool(), before);
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

// The decision at 0 s closes at 11 s of log time; its segment must stay until
// then.
TEST_F(PipelineTest, KeepsASegmentWhileItsWindowsAreOpen) {
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs), DecisionRecord("b", kStartUs + 1)},
             1);
  const auto pipeline = Open();
  clock_.now_us = kStartUs + 10 * kSecond;
  while (*pipeline->Poll(1)) {
  }
  EXPECT_EQ(Spool().size(), 2u);
  clock_.now_us = kStartUs + 12 * kSecond;
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
  const auto history = History(600, 4, kStartUs);
  WriteSpool(options_.spool(0), history, 100);
  {
    const auto pipeline = Open();
    RunToEnd(pipeline.get(), &clock_);
    clock_.now_us += 6 * kSecond;
    ASSERT_OK(pipeline->Poll(1));
    // All segments are closed by age, although the pipeline is not.
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
              65536u + 100u);  // Plus a footer.
  }
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
}

TEST_F(PipelineTest, CountsWhatItDoes) {
  const auto history = History(100, 6, kStartUs);
  WriteSpool(options_.spool(0), history, 20);
  const Expected expected = ExpectedOutput(history);
  Finish();
  const std::string text = metrics_.Text();
  const auto line = [](const std::string& name, size_t value) {
    return absl::StrCat("\nsortition_join_", name, " ", value, "\n");
  };
  ASSERT_GT(expected.num_ambiguous, 0u);
  EXPECT_THAT(text, HasSubstr(line("ambiguous_decisions_total",
                                   expected.num_ambiguous)));
  EXPECT_THAT(
      text, HasSubstr(line("decisions_total", expected.tuples.size() +
                                                  expected.num_ambiguous + 1)));
  EXPECT_THAT(text, HasSubstr("sortition_join_pending_decisions 0"));
  EXPECT_THAT(text, HasSubstr("sortition_join_reward_latency_seconds_count"));
  EXPECT_THAT(text, HasSubstr("sortition_join_window_seconds 10\n"));
  EXPECT_THAT(text, HasSubstr("sortition_sidecar_tuples_total{has_feedback="
                              "\"true\",model=\"m\",version=\"7\"} "));
  EXPECT_THAT(text, HasSubstr("sortition_sidecar_spool_lag_bytes 0"));
}

}  // namespace
}  // namespace sortition
