// What a pipeline does with several spools, rule by rule.
#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/tagged_uuid.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/several_spools_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST_F(SeveralSpoolsTest, FeedbackMayBeInAnySpool) {
  Write("a", {DecisionRecord("x", At(0)), FeedbackRecord("f1", "y", At(2), 5),
              DecisionRecord("end", At(50))});
  Write("b", {DecisionRecord("y", At(1)), FeedbackRecord("f2", "x", At(3), 7),
              FeedbackRecord("f3", "x", At(4), 1)});
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/x=8", "a/end=0", "b/y=5"));
  EXPECT_THAT(ReadLate(options_.tuples()), IsEmpty());
}

TEST_F(SeveralSpoolsTest, ARetryAtAnotherServerCountsOnce) {
  Write("a", {DecisionRecord("x", At(1)), FeedbackRecord("f", "x", At(3), 5)});
  Write("b", {DecisionRecord("x", At(0)), FeedbackRecord("f", "x", At(4), 5)});
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("b/x=5"));
}

TEST_F(SeveralSpoolsTest, AnotherAnswerElsewhereMakesADecisionAmbiguous) {
  Write("a", {DecisionRecord("x", At(1), 7), DecisionRecord("z", At(2))});
  Write("b", {DecisionRecord("x", At(0), 8)});
  RunAndDie(At(100));
  EXPECT_THAT(Tuples(), ElementsAre("a/z=0"));
}

TEST_F(SeveralSpoolsTest, OutputsOfOneSpoolAndOfSeveralContinueEachOther) {
  Write("a", {DecisionRecord("a1", At(0))});
  Write("b", {DecisionRecord("b1", At(0))});
  Use({"a"});
  RunAndDie(At(20));
  EXPECT_THAT(Tuples(), ElementsAre("a/a1=0"));
  Use({"a", "b"});
  RunAndDie(At(40));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/a1=0", "b/b1=0"));
  Write("a", {DecisionRecord("a2", At(41))});
  Write("b", {DecisionRecord("b2", At(41))});
  RunAndDie(At(80));
  Use({"b"});
  RunAndDie(At(100));
  Use({"a"});
  RunAndDie(At(120));
  EXPECT_THAT(Tuples(),
              UnorderedElementsAre("a/a1=0", "b/b1=0", "a/a2=0", "b/b2=0"));
}

TEST_F(SeveralSpoolsTest, ASpoolThatAppearsIsRead) {
  options_.clear_spool();
  options_.add_spool(dir_ / "spools/*");
  Write("a", {DecisionRecord("x", At(0))});
  const auto pipeline = Open();
  RunUntil(pipeline.get(), At(5));
  // No spool: nothing in it is a log.
  std::filesystem::create_directories(SpoolOf("other"));
  Write("c", {FeedbackRecord("f", "x", At(6), 3)});
  RunUntil(pipeline.get(), At(40));
  EXPECT_THAT(Tuples(), UnorderedElementsAre("a/x=3"));
  EXPECT_EQ(pipeline->counts().spools, 2u);
}

TEST_F(SeveralSpoolsTest, SpoolsMustBeThereAndDiffer) {
  Use({"a", "b"});
  std::filesystem::remove_all(SpoolOf("b"));
  EXPECT_THAT(OpenError().message(),
              HasSubstr("spools/b\": there is no such directory"));
  std::filesystem::create_directories(SpoolOf("b"));
  Write("a", {DecisionRecord("x", At(0))});
  for (const std::string& name : Names(SpoolOf("a"))) {
    std::filesystem::copy(SpoolOf("a") + "/" + name, SpoolOf("b"));
  }
  EXPECT_THAT(OpenError().message(), HasSubstr("are both of writer 'a'"));
}

TEST_F(SeveralSpoolsTest, ASpoolOfTwoWritersIsRefused) {
  Write("a", {DecisionRecord("x", At(0))});
  const auto segment = NewSegment(SpoolOf("a"), 2000, 0, "other");
  ASSERT_OK(segment->Close());
  EXPECT_THAT(OpenError().message(), HasSubstr("writer 'a' and of 'other'"));
}

TEST_F(SeveralSpoolsTest, TroubleInOneSpoolCensorsTheDecisionsOfAll) {
  log::v1::LogRecord gap;
  gap.mutable_gap()->set_lost_records(1);
  gap.mutable_gap()->set_first_time_us(At(11));
  gap.mutable_gap()->set_last_time_us(At(12));
  gap.mutable_gap()->set_kind(log::v1::REFUSED);
  Write("a", {DecisionRecord("before", At(-1)), DecisionRecord("x", At(5)),
              DecisionRecord("after", At(14))});
  Write("b", {DecisionRecord("y", At(5)), gap});
  RunAndDie(At(100));
  std::map<std::string, bool> censored;
  for (const auto& tuple : ReadTuples(options_.tuples())) {
    censored[tuple.decision().decision_id()] = tuple.censored_size() > 0;
  }
  EXPECT_THAT(
      censored,
      ElementsAre(testing::Pair("after", false), testing::Pair("before", false),
                  testing::Pair("x", true), testing::Pair("y", true)));
}

// Front ends send to b for reroute_seconds after its last sign of life.
TEST_F(SeveralSpoolsTest, AServerThatIsGoneCensorsForAsLongAsItIsUsed) {
  options_.mutable_join()->set_reroute_seconds(20);
  Write("b", {DecisionRecord("y", At(-30))});
  SayAlive("b", At(0));
  Write("a", {DecisionRecord("x", At(19)), DecisionRecord("z", At(22))});
  RunAndDie(At(200));
  std::map<std::string, bool> censored;
  for (const auto& tuple : ReadTuples(options_.tuples())) {
    censored[tuple.decision().decision_id()] = tuple.censored_size() > 0;
  }
  EXPECT_THAT(censored,
              ElementsAre(testing::Pair("x", true), testing::Pair("y", false),
                          testing::Pair("z", false)));
  // Its last segment is not kept for a successor, which finds the name.
  EXPECT_THAT(Names(SpoolOf("b")), IsEmpty());
}

TEST_F(SeveralSpoolsTest, AServerThatIsGoneInTroubleCensorsNoLonger) {
  options_.mutable_join()->set_reroute_seconds(20);
  Write("b", {DecisionRecord("y", At(-30))});
  SayAlive("b", At(0), /*trouble_since_us=*/At(-5));
  Write("a", {DecisionRecord("x", At(19)), DecisionRecord("z", At(22))});
  RunAndDie(At(200));
  std::map<std::string, bool> censored;
  for (const auto& tuple : ReadTuples(options_.tuples())) {
    censored[tuple.decision().decision_id()] = tuple.censored_size() > 0;
  }
  EXPECT_TRUE(censored["x"]);
  EXPECT_FALSE(censored["z"]);
}

// An idle server that lives holds the others up only so far as it may yet
// write.
TEST_F(SeveralSpoolsTest, WindowsCloseWithTheSlowestSpool) {
  Write("a", {DecisionRecord("x", At(0)), DecisionRecord("y", At(30))});
  SayAlive("b", At(11.5));
  clock_.now_us = At(11.5);
  const auto pipeline = Open();
  RunUntil(pipeline.get(), At(12));
  EXPECT_THAT(Tuples(), ElementsAre("a/x=0"));
  EXPECT_EQ(pipeline->counts().join.decisions, 1u);
}

// The pipeline is killed after every possible number of steps, then run to its
// end: the output equals that of an undisturbed run, and what the rules say of
// all records in the order of their times.
TEST_F(SeveralSpoolsTest, OutputDoesNotDependOnWhereItDied) {
  const std::vector<std::string> writers = {"a", "b", "c"};
  Use(writers);
  const auto history = History(24, 5, kStartUs);
  std::mt19937 random(3);
  std::map<std::string, std::vector<log::v1::LogRecord>> next;
  for (const log::v1::LogRecord& record : history) {
    const std::string& writer = writers[random() % writers.size()];
    next[writer].push_back(record);
    if (next[writer].size() < 5) continue;
    Write(writer, next[writer]);
    next[writer].clear();
  }
  for (const auto& [writer, records] : next) Write(writer, records);
  const std::string saved = dir_ / "saved";
  std::filesystem::copy(dir_ / "spools", saved,
                        std::filesystem::copy_options::recursive);

  Expected expected = ExpectedOutput(history);
  std::sort(expected.tuples.begin(), expected.tuples.end());
  bool has_died = true;
  uint64_t steps = 0;
  for (; has_died; ++steps) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    std::filesystem::remove_all(dir_ / "spools");
    std::filesystem::remove_all(options_.tuples());
    std::filesystem::copy(saved, dir_ / "spools",
                          std::filesystem::copy_options::recursive);
    clock_.now_us = kStartUs;
    has_died = RunSteps(steps);
    ASSERT_FALSE(RunSteps(std::numeric_limits<uint64_t>::max()));
    Expected output = Output(options_.tuples());
    std::sort(output.tuples.begin(), output.tuples.end());
    ExpectSame(output, expected);
    if (HasFailure()) return;
  }
  EXPECT_GT(steps, 100u);
}

// Writes the feedback of two servers of which only a is read.
TEST_F(SeveralSpoolsTest, FeedbackForServersThatAreNotReadMarksTheLog) {
  Use({"a"});
  std::vector<log::v1::LogRecord> records;
  for (int i = 0; i < 40; ++i) {
    const std::string writer = i % 2 == 0 ? "a" : "elsewhere";
    const std::string id = MakeTaggedUuid(At(i * 0.1), static_cast<uint64_t>(i),
                                          WriterTag(writer));
    if (i % 2 == 0) records.push_back(DecisionRecord(id, At(i * 0.1)));
    records.push_back(FeedbackRecord(absl::StrCat("f", i), id, At(i * 0.1), 1));
  }
  records.push_back(DecisionRecord("end", At(80)));
  Write("a", records);
  RunAndDie(At(100));
  log::v1::Incomplete mark;
  for (const std::string& name : Names(options_.tuples())) {
    auto reader = *SegmentReader::Open(options_.tuples() + "/" + name);
    absl::string_view payload;
    uint64_t offset = 0;
    while (*reader->Next(&payload, &offset) ==
           SegmentReader::Outcome::kRecord) {
      log::v1::LogRecord record;
      ASSERT_TRUE(record.ParseFromArray(payload.data(),
                                        static_cast<int>(payload.size())));
      if (record.has_incomplete()) mark = record.incomplete();
    }
  }
  EXPECT_EQ(mark.foreign_feedback(), 20u);
  EXPECT_EQ(mark.unknown_feedback(), 0u);
  EXPECT_EQ(mark.feedback(), 40u);
  EXPECT_EQ(mark.first_time_us(), At(0));
  EXPECT_EQ(mark.last_time_us(), At(3.9));
}

}  // namespace
}  // namespace sortition
