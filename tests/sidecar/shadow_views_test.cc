// What becomes of views of shadows between the spool and the tuples. That
// deaths and restarts change nothing is join_reference_test.cc.
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.
using testing::ElementsAre;
using testing::IsEmpty;

class ShadowViewsTest : public PipelineTest {
 protected:
  static std::vector<uint64_t> Versions(const log::v1::BanditTuple& tuple) {
    std::vector<uint64_t> versions;
    for (const auto& view : tuple.shadow_views()) {
      versions.push_back(view.version());
    }
    return versions;
  }
};

TEST_F(ShadowViewsTest, AreInTheTupleAsTheyWere) {
  log::v1::LogRecord view = ViewRecordOf("a", kStartUs + 2, 9);
  view.mutable_shadow_view()->set_log_propensity(-HUGE_VAL);
  view.mutable_shadow_view()->clear_mode();
  view.mutable_shadow_view()->add_mode(-1);
  WriteSpool(
      options_.spool(0),
      {DecisionRecord("a", kStartUs), view, DecisionRecord("b", kStartUs + 3),
       ViewRecordOf("a", kStartUs + 4, 3),
       FeedbackRecord("f", "a", kStartUs + 5, 2)},
      2);
  Finish();
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 2u);
  EXPECT_THAT(Versions(tuples[0]), ElementsAre(3, 9));
  EXPECT_EQ(tuples[0].shadow_views(1).SerializeAsString(),
            view.shadow_view().SerializeAsString());
  EXPECT_EQ(tuples[0].reward(), 2);
  EXPECT_EQ(tuples[0].decision().decision_id(), "a");
  EXPECT_THAT(Versions(tuples[1]), IsEmpty());
}

// The segment of a view outlives that of its decision, and neither is left.
TEST_F(ShadowViewsTest, TheirSegmentsAreRemovedAfterTheTuple) {
  std::vector<log::v1::LogRecord> records;
  for (int i = 0; i < 40; ++i) {
    const int64_t time_us = kStartUs + i * kSecond;
    records.push_back(DecisionRecord(absl::StrCat("d", i), time_us));
    if (i >= 5) {
      records.push_back(ViewRecordOf(absl::StrCat("d", i - 5), time_us + 1, 9));
    }
  }
  WriteSpool(options_.spool(0), records, 3);
  Finish();
  EXPECT_EQ(Spool().size(), 1u);
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 40u);
  for (size_t i = 0; i < 35; ++i) {
    EXPECT_THAT(Versions(tuples[i]), ElementsAre(9)) << i;
  }
}

// Feedback cannot be missing because a view is malformed.
TEST_F(ShadowViewsTest, AMalformedOneCensorsNothing) {
  log::v1::LogRecord malformed = ViewRecordOf("", kStartUs + 1, 9);
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs), malformed,
              ViewRecordOf("a", kStartUs + 2, 8)},
             10);
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  EXPECT_EQ(pipeline->counts().malformed_records, 1u);
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_THAT(tuples[0].censored(), IsEmpty());
  EXPECT_THAT(Versions(tuples[0]), ElementsAre(8));
}

// It was whole when it was read first.
TEST_F(ShadowViewsTest, ATupleDoesWithoutAViewThatWasDamagedSince) {
  {
    const auto writer = NewSegment(options_.spool(0), 1000, 0);
    ASSERT_OK(writer->Append(DecisionRecord("a", kStartUs)));
    const uint64_t offset = writer->bytes();
    ASSERT_OK(writer->Append(ViewRecordOf("a", kStartUs + 1, 9)));
    ASSERT_OK(writer->Append(ViewRecordOf("a", kStartUs + 2, 8)));
    ASSERT_OK(writer->Close());
    const auto pipeline = Open();
    // All is read, and the window is open.
    while (pipeline->counts().join.views < 2) ASSERT_OK(pipeline->Poll(1));
    std::fstream file(options_.spool(0) + "/" + Spool()[0],
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset) + 20);
    file.put('\xff');
    file.close();
    RunToEnd(pipeline.get(), &clock_);
    EXPECT_EQ(pipeline->counts().unreadable_views, 1u);
    ASSERT_OK(pipeline->Close());
  }
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_THAT(Versions(tuples[0]), ElementsAre(8));
}

TEST_F(ShadowViewsTest, AreCountedAtMetrics) {
  WriteSpool(
      options_.spool(0),
      {DecisionRecord("a", kStartUs), ViewRecordOf("a", kStartUs + 1, 9),
       ViewRecordOf("a", kStartUs + 2, 9), ViewRecordOf("x", kStartUs + 3, 9),
       ViewRecordOf("a", kStartUs + 15 * kSecond, 8)},
      10);
  Finish();
  const auto counted = [&](const std::string& name,
                           const MetricLabels& labels) {
    return metrics_.Counter("sortition_join_" + name, "", labels)->value();
  };
  EXPECT_EQ(counted("shadow_views_total", {}), 1);
  for (const char* reason : {"duplicate", "unknown_decision", "after_window"}) {
    EXPECT_EQ(counted("dropped_shadow_views_total", {{"reason", reason}}), 1)
        << reason;
  }
}

}  // namespace
}  // namespace sortition
