// What a pipeline tells the status page.
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "sidecar/status/sidecar_status.h"
#include "tests/sidecar/pipeline_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of the folder above.
using testing::SizeIs;

using PipelineStatusTest = PipelineTest;

// Without a segment it waits, and the status says for what.
TEST_F(PipelineStatusTest, SaysThatThereIsNoSpoolYet) {
  const auto source = SidecarStatusSource::Create(kStartUs);
  ASSERT_OK_AND_ASSIGN(
      const auto pipeline,
      Pipeline::Open(options_, &metrics_, clock_.Get(), nullptr, source.get()));
  ASSERT_OK(pipeline->Poll(10).status());
  EXPECT_THAT(source->Json(),
              testing::AllOf(testing::HasSubstr("no spool yet"),
                             testing::HasSubstr(options_.spool(0))));
}

TEST_F(PipelineStatusTest, TellsWorthsAndCounts) {
  WriteSpool(
      options_.spool(0),
      {DecisionRecord("a", kStartUs, 7), DecisionRecord("b", kStartUs, 8),
       FeedbackRecord("f", "a", kStartUs + 2 * kSecond, 0.5),
       FeedbackRecord("g", "nobody", kStartUs + 2 * kSecond, 1),
       // Long after, so that nobody is waited for any more.
       DecisionRecord("end", kStartUs + 60 * kSecond, 8)},
      10);
  const auto source = SidecarStatusSource::Create(kStartUs);
  ASSERT_OK_AND_ASSIGN(
      const auto pipeline,
      Pipeline::Open(options_, &metrics_, clock_.Get(), nullptr, source.get()));
  RunToEnd(pipeline.get(), &clock_);
  ASSERT_OK(pipeline->Close());
  status::v1::Status status;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(source->Json(), &status)
          .ok());
  const status::v1::Sidecar& sidecar = status.sidecar();
  EXPECT_EQ(sidecar.tuples(), 3u);
  EXPECT_EQ(sidecar.unmatched(), 1u);
  EXPECT_EQ(sidecar.feedback(), 1u);
  EXPECT_EQ(sidecar.censored(), 0u);
  EXPECT_EQ(sidecar.pending(), 0u);
  EXPECT_EQ(sidecar.spools(), 1u);
  EXPECT_EQ(sidecar.tuple_dir(), options_.tuples());
  EXPECT_GT(sidecar.disk_free_bytes(), 0u);
  EXPECT_GT(sidecar.watermark_us(), kStartUs);
  EXPECT_DOUBLE_EQ(sidecar.mean_reward_wait_seconds(), 2);
  ASSERT_THAT(sidecar.worths(), SizeIs(2));
  EXPECT_EQ(sidecar.worths(0).version(), "8");
  EXPECT_EQ(sidecar.worths(0).tuples(), 2u);
  EXPECT_EQ(sidecar.worths(0).with_feedback(), 0u);
  EXPECT_EQ(sidecar.worths(1).version(), "7");
  EXPECT_EQ(sidecar.worths(1).with_feedback(), 1u);
  EXPECT_DOUBLE_EQ(sidecar.worths(1).reward().value(), 0.5);
}

}  // namespace
}  // namespace sortition
