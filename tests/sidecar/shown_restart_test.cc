// Pages and reports of viewports give the same tuples wherever a pipeline dies,
// also where it has removed segments of reports that do not count.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;

int64_t At(double seconds) {
  return kStartUs + static_cast<int64_t>(seconds * kSecond);
}

log::v1::LogRecord PageRecord(const std::string& id, double seconds,
                              uint32_t first_rank,
                              const std::vector<uint32_t>& documents,
                              uint32_t seen_ranks = 0) {
  log::v1::LogRecord record = ShownRecord(id, At(seconds));
  log::v1::Shown& shown = *record.mutable_shown();
  shown.set_first_rank(first_rank);
  shown.mutable_shown()->Assign(documents.begin(), documents.end());
  if (seen_ranks > 0) shown.set_seen_ranks(seen_ranks);
  return record;
}

log::v1::LogRecord ViewportRecord(const std::string& id, double seconds,
                                  uint32_t seen_ranks) {
  return PageRecord(id, seconds, 0, {}, seen_ranks);
}

// "late" is decided 8 s after the first report on it. Of the reports that come
// before it some are replaced by others, so that their segments may go while it
// is open.
std::vector<log::v1::LogRecord> Reports() {
  return {DecisionRecord("a", At(0)),
          ViewportRecord("late", 0.5, 1),
          PageRecord("a", 1, 2, {0}),
          ViewportRecord("a", 1.5, 2),
          ViewportRecord("late", 2, 2),
          PageRecord("a", 2.5, 0, {1, 2}, 1),
          PageRecord("late", 3, 1, {2}),
          PageRecord("a", 3.5, 0, {2, 1}, 3),
          FeedbackRecord("f", "a", At(4), 1),
          PageRecord("late", 5, 0, {1}),
          ViewportRecord("a", 5.5, 2),
          PageRecord("late", 6, 0, {0}),
          DecisionRecord("late", At(8.5)),
          ViewportRecord("late", 9, 3),
          ShownRecord("not", At(10), /*not_shown=*/true),
          DecisionRecord("not", At(11)),
          ViewportRecord("not", 12, 1),
          DecisionRecord("b", At(15)),
          PageRecord("b", 16, 5, {0}),
          ViewportRecord("late", 17, 2),
          DecisionRecord("c", At(40))};
}

class ShownRestartTest : public PipelineTest,
                         public testing::WithParamInterface<bool> {};

TEST_P(ShownRestartTest, TuplesDoNotDependOnWhereItDied) {
  options_.mutable_join()->set_only_if_shown(GetParam());
  const std::string saved = dir_ / "saved";
  WriteSpool(saved, Reports(), 2);
  StartAgain(saved);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  std::vector<std::string> ids;
  for (const auto& tuple : tuples)
    ids.push_back(tuple.decision().decision_id());
  if (GetParam()) {
    ASSERT_THAT(ids, ElementsAre("a", "late", "b"));
  } else {
    ASSERT_THAT(ids, ElementsAre("a", "late", "not", "b", "c"));
  }

  const log::v1::Shown& a = tuples[0].shown();
  EXPECT_THAT(a.shown(), ElementsAre(1, 2, 0));
  EXPECT_EQ(a.first_rank(), 0u);
  EXPECT_EQ(a.seen_ranks(), 3u);  // Of the page that does not count.
  EXPECT_EQ(a.time_us(), At(1));
  const log::v1::Shown& late = tuples[1].shown();
  EXPECT_THAT(late.shown(), ElementsAre(1, 2));
  EXPECT_EQ(late.seen_ranks(), 3u);
  EXPECT_EQ(late.time_us(), At(3));
  if (!GetParam()) {
    EXPECT_TRUE(tuples[2].shown().not_shown());
    EXPECT_FALSE(tuples[2].shown().has_seen_ranks());
    EXPECT_FALSE(tuples[4].has_shown());
  }
  EXPECT_EQ(tuples[GetParam() ? 2 : 3].shown().first_rank(), 5u);

  bool has_died = true;
  int deaths = 0;
  for (uint64_t steps = 0; has_died; ++steps, ++deaths) {
    SCOPED_TRACE(absl::StrCat("died after ", steps));
    StartAgain(saved);
    has_died = DieAfter(steps);
    Finish();
    const auto again = ReadTuples(options_.tuples());
    ASSERT_EQ(again.size(), tuples.size());
    for (size_t i = 0; i < tuples.size(); ++i) {
      ASSERT_EQ(again[i].SerializeAsString(), tuples[i].SerializeAsString());
    }
  }
  EXPECT_GT(deaths, 20);
}

INSTANTIATE_TEST_SUITE_P(OnlyIfShown, ShownRestartTest, testing::Bool());

// The first report on "a" is in a segment that nothing else needs once the
// window of "z" is over: it goes while that of "a" is open, because a later
// report counts.
TEST_F(PipelineTest, ASegmentOfReportsThatDoNotCountIsRemoved) {
  WriteSpool(options_.spool(0),
             {ViewportRecord("a", 0, 1), DecisionRecord("z", At(0)),
              DecisionRecord("a", At(9)), ViewportRecord("a", 9.5, 2),
              DecisionRecord("b", At(15)), DecisionRecord("c", At(15))},
             2);
  ASSERT_EQ(Spool().size(), 3u);
  clock_.now_us = At(15);
  const auto pipeline = Open();
  // In all far less than the 5 s after which "a" closes.
  for (int i = 0; i < 30; ++i) ASSERT_OK(pipeline->Poll(1));
  EXPECT_EQ(pipeline->counts().pending, 3u);
  EXPECT_EQ(Spool().size(), 2u);
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 4u);
  EXPECT_EQ(tuples[1].shown().seen_ranks(), 2u);
  EXPECT_EQ(tuples[1].shown().time_us(), At(9.5));
}

}  // namespace
}  // namespace sortition
