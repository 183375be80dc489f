// The sidecar follows a spool while it is being written.
#include <atomic>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

int64_t NowMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Tails a spool that another thread writes. All log times are far ahead of the
// sidecar's clock, so that only the log closes windows, however slow the test.
class LiveTest : public PipelineTest, public testing::WithParamInterface<bool> {
 protected:
  // Runs until all is written and read.
  void Follow(const std::atomic<bool>& is_written) {
    const auto pipeline =
        *Pipeline::Open(options_, &metrics_, [] { return kStartUs; });
    while (true) {
      const bool was_written = is_written;
      const auto is_busy = pipeline->Poll(16);
      ASSERT_OK(is_busy);
      if (*is_busy) continue;
      if (was_written) break;
      pipeline->Wait(0.01);
    }
    ASSERT_OK(pipeline->Close());
  }
};

TEST_P(LiveTest, FollowsAWriter) {
  options_.set_inotify(GetParam());
  const auto history = History(500, 8, kStartUs);
  Expected expected = ExpectedOutput(history);
  std::atomic<bool> is_written{false};
  std::thread writer([&] {
    std::unique_ptr<SegmentWriter> current =
        NewSegment(options_.spool(0), 1, 0);
    for (size_t i = 0; i < history.size(); ++i) {
      if (i % 100 == 99) {
        // The next segment is in use before the old one has its footer.
        auto next =
            NewSegment(options_.spool(0), static_cast<int64_t>(i) + 2, i);
        EXPECT_OK(next->Append(history[i]));
        EXPECT_OK(current->Close());
        current = std::move(next);
        continue;
      }
      EXPECT_OK(current->Append(history[i]));
    }
    is_written = true;
  });
  Follow(is_written);
  writer.join();
  ExpectSame(Output(options_.tuples()), expected);
}

// The server's own writer with large decisions and segments that rotate by
// size.
TEST_P(LiveTest, FollowsTheServersSpoolWriter) {
  options_.set_inotify(GetParam());
  config::v1::SpoolOptions spool;
  spool.set_dir(options_.spool(0));
  spool.set_segment_bytes(65536);
  ASSERT_OK_AND_ASSIGN(const auto spool_writer, SpoolWriter::Open(spool, ""));
  const auto history = History(200, 13, NowMicros() + 3600 * kSecond);
  const std::vector<float> values(4600, 0.5f);
  std::atomic<bool> is_written{false};
  std::thread writer([&] {
    for (const log::v1::LogRecord& record : history) {
      if (record.has_decision()) {
        log::v1::Decision decision = record.decision();
        decision.clear_dense_values();
        EXPECT_OK(spool_writer->AppendDecision(decision, values));
      } else {
        EXPECT_OK(spool_writer->Append({&record, 1}));
      }
    }
    // Old segments get their footers in the background; until then the reader
    // does not go on to the next one.
    EXPECT_OK(spool_writer->Close());
    is_written = true;
  });
  Follow(is_written);
  writer.join();
  ExpectSame(Output(options_.tuples()), ExpectedOutput(history));
  for (const log::v1::BanditTuple& tuple : ReadTuples(options_.tuples())) {
    ASSERT_EQ(tuple.decision().dense_values_size(), 4600);
    ASSERT_EQ(tuple.decision().dense_values(4599), 0.5f);
  }
}

INSTANTIATE_TEST_SUITE_P(Inotify, LiveTest, testing::Bool());

}  // namespace
}  // namespace sortition
