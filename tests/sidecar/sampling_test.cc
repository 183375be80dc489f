// A log that keeps a share of the decisions.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;

log::v1::LogRecord UnitRecord(const std::string& unit, const std::string& id,
                              int64_t time_us) {
  log::v1::LogRecord record = DecisionRecord(id, time_us);
  record.mutable_decision()->set_unit_id(unit);
  return record;
}

// Returns the first of "<stem>0", "<stem>1", … that is kept, or is not.
std::string FindWord(const std::string& stem, bool is_unit, bool is_kept,
                     double probability) {
  for (int i = 0;; ++i) {
    const std::string word = absl::StrCat(stem, i);
    const double number = is_unit ? KeepNumber(word, "") : KeepNumber("", word);
    if ((number < probability) == is_kept) return word;
  }
}

using SamplingTest = PipelineTest;

TEST_F(SamplingTest, KeepsDecisionsByUnitOrElseById) {
  options_.mutable_join()->set_keep_probability(0.3);
  const std::string in = FindWord("u", true, true, 0.3);
  const std::string out = FindWord("u", true, false, 0.3);
  const std::string kept = FindWord("d", false, true, 0.3);
  const std::string dropped = FindWord("d", false, false, 0.3);
  WriteSpool(options_.spool(0),
             {UnitRecord(in, dropped + "x", kStartUs),
              UnitRecord(in, kept + "x", kStartUs + 1),
              UnitRecord(out, kept + "y", kStartUs + 2),
              DecisionRecord(kept, kStartUs + 3),
              DecisionRecord(dropped, kStartUs + 4),
              FeedbackRecord("f", kept, kStartUs + 5, 2)},
             10);
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples,
              ElementsAre(dropped + "x 0 ", kept + "x 0 ", kept + " 2 f"));
  EXPECT_EQ(pipeline->counts().sampled_out, 2u);
  for (const auto& tuple : ReadTuples(options_.tuples())) {
    EXPECT_EQ(tuple.keep_probability(), 0.3);
  }
}

TEST_F(SamplingTest, ALogOfAllDecisionsSaysNothingOfIt) {
  WriteSpool(options_.spool(0), {UnitRecord("u", "a", kStartUs)}, 10);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].keep_probability(), 0);
  EXPECT_EQ(tuples[0].decision().unit_id(), "u");
}

// What is left out is known all the same: its repetition makes no tuple, and
// its late feedback is late.
TEST_F(SamplingTest, DecisionsLeftOutAreKnown) {
  options_.mutable_join()->set_keep_probability(0.3);
  const std::string id = FindWord("d", false, false, 0.3);
  WriteSpool(options_.spool(0),
             {DecisionRecord(id, kStartUs), DecisionRecord(id, kStartUs + 1),
              FeedbackRecord("f1", id, kStartUs + 2, 1),
              FeedbackRecord("f2", id, kStartUs + 15 * kSecond, 1)},
             10);
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_THAT(Output(options_.tuples()).tuples, ElementsAre());
  EXPECT_THAT(Output(options_.tuples()).late, ElementsAre("f2 AFTER_WINDOW"));
  EXPECT_EQ(pipeline->counts().join.duplicate_decisions, 1u);
  EXPECT_EQ(pipeline->counts().sampled_out, 1u);
}

// The output is that of a log of all decisions without those left out, wherever
// the sidecar dies.
TEST_F(SamplingTest, IsTheSameSampleWhereverItDied) {
  const std::string saved = dir_ / "saved";
  const auto history = History(48, 5, kStartUs);
  WriteSpool(saved, history, 9);
  Expected expected = ExpectedOutput(history);
  options_.mutable_join()->set_keep_probability(0.4);
  const size_t num_dropped =
      std::erase_if(expected.tuples, [](const std::string& line) {
        return KeepNumber("", line.substr(0, line.find(' '))) >= 0.4;
      });
  ASSERT_GT(num_dropped, 10u);
  ASSERT_GT(expected.tuples.size(), 8u);
  bool has_died = true;
  for (uint64_t steps = 0; has_died; steps += 3) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    StartAgain(saved);
    has_died = DieAfter(steps);
    Finish();
    ExpectSame(Output(options_.tuples()), expected);
  }
}

}  // namespace
}  // namespace sortition
