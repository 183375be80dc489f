// The pipeline writes exactly one tuple per decision, wherever it is killed.
#include <fstream>
#include <random>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

class CrashTest : public PipelineTest,
                  public testing::WithParamInterface<bool> {};

// The pipeline is killed after every possible number of steps, then run to its
// end: the output equals that of an undisturbed run. A step reads one record or
// writes one tuple or late record; sync and removal follow each step.
TEST_P(CrashTest, OutputDoesNotDependOnWhereItDied) {
  options_.mutable_join()->set_only_if_shown(GetParam());
  const std::string saved = dir_ / "saved";
  const auto history = History(48, 5, kStartUs);
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

// The first report on "a" says that it was not shown, and lies in a segment
// that is removed before that of the decision, which "b" keeps.
TEST_F(PipelineTest, ADecisionLeftOutStaysLeftOut) {
  options_.mutable_join()->set_only_if_shown(true);
  const std::string saved = dir_ / "saved";
  const auto at = [](double seconds) {
    return kStartUs + static_cast<int64_t>(seconds * kSecond);
  };
  WriteSpool(saved,
             {DecisionRecord("z", at(0)), ShownRecord("a", at(0.5), true),
              ShownRecord("z", at(0.6)), DecisionRecord("a", at(1)),
              ShownRecord("a", at(1.5)), DecisionRecord("b", at(9)),
              DecisionRecord("c", at(12.5)), DecisionRecord("d", at(12.6)),
              ShownRecord("d", at(12.7))},
             3);
  bool has_died = true;
  for (uint64_t steps = 0; has_died; ++steps) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    StartAgain(saved);
    has_died = DieAfter(steps);
    Finish();
    std::vector<std::string> ids;
    for (const auto& tuple : ReadTuples(options_.tuples())) {
      ids.push_back(tuple.decision().decision_id());
    }
    ASSERT_EQ(ids, (std::vector<std::string>{"z", "d"}));
  }
}

TEST_F(PipelineTest, OutputDoesNotDependOnManyDeaths) {
  const std::string saved = dir_ / "saved";
  const auto history = History(60, 11, kStartUs);
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

// After a power cut pages in the middle may be missing or old: what is behind
// them is cut off and written again.
TEST_F(PipelineTest, TuplesBehindADamagedPageAreWrittenAgain) {
  options_.set_sync_interval_seconds(3600);
  const std::string saved = dir_ / "saved";
  const auto history = History(60, 3, kStartUs);
  WriteSpool(saved, history, 13);
  const Expected expected = ExpectedOutput(history);
  int damaged = 0;
  for (uint64_t steps = 100; steps < 260; steps += 10) {
    SCOPED_TRACE(steps);
    const bool is_missing = steps % 20 == 0;
    StartAgain(saved);
    DieAfter(steps);
    const auto names = Names(options_.tuples());
    if (names.empty()) continue;
    const std::string path = options_.tuples() + "/" + names.back();
    const auto tuples = ReadTuples(options_.tuples());
    if (tuples.size() < 5) continue;
    ++damaged;
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto reader = *SegmentReader::Open(path);
    absl::string_view payload;
    uint64_t offset = 0;
    for (int i = 0; i < 4; ++i) ASSERT_OK(reader->Next(&payload, &offset));
    // A missing page is zero; in an old one the frame's head may be intact.
    file.seekp(static_cast<std::streamoff>(offset + (is_missing ? 0 : 20)));
    file << std::string(is_missing ? payload.size() + 16 : 4, '\0');
    file.close();
    Finish();
    ExpectSame(Output(options_.tuples()), expected);
  }
  EXPECT_GT(damaged, 6);
}

// A kill within pwritev(2) leaves a part of a record.
TEST_F(PipelineTest, TornTuplesAreWrittenAgain) {
  options_.set_sync_interval_seconds(3600);
  const std::string saved = dir_ / "saved";
  const auto history = History(60, 3, kStartUs);
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

}  // namespace
}  // namespace sortition
