// A disk whose fdatasync does not return for a while.
#include <poll.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

bool PollUntil(const std::function<bool()>& condition) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    poll(nullptr, 0, 1);
  }
  return true;
}

bool HasPreparedFile(const std::string& dir) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    // The file is created under this name, then preallocated.
    if (entry.path().extension() == ".tmp" &&
        std::filesystem::file_size(entry.path()) > 0) {
      return true;
    }
  }
  return false;
}

TEST(SpoolStallTest, NoRequestWaitsForASyncThatStalls) {
  const TempDir dir;
  config::v1::SpoolOptions options;
  options.set_dir(dir / "spool");
  options.set_segment_bytes(65536);
  options.set_segment_seconds(86400);
  options.set_sync_interval_seconds(0.01);
  ASSERT_OK_AND_ASSIGN(const auto writer, SpoolWriter::Open(options, ""));
  auto stall = std::make_unique<SyncStall>();
  ASSERT_TRUE(PollUntil([&] { return stall->num_waiting() == 1; }));

  // Each record fills a segment, so each append but the first rotates.
  const std::vector<float> values(20000, 0.5f);
  std::vector<std::string> expected;
  bool is_prepared = true;
  for (int i = 0; i < 10 && is_prepared; ++i) {
    is_prepared = PollUntil([&] { return HasPreparedFile(options.dir()); });
    log::v1::Decision decision;
    decision.set_decision_id(absl::StrCat(i));
    expected.push_back(decision.decision_id());
    EXPECT_OK(writer->AppendDecision(decision, values));
  }
  EXPECT_TRUE(is_prepared);
  EXPECT_EQ(stall->num_waiting(), 1);
  stall.reset();
  ASSERT_OK(writer->Close());

  EXPECT_EQ(writer->stats().segments, expected.size());
  Contents all;
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(options.dir()));
  for (const std::string& name : names) {
    const Contents contents = ReadAll(options.dir() + "/" + name);
    EXPECT_TRUE(contents.records.back().has_footer());
    all.records.insert(all.records.end(), contents.records.begin(),
                       contents.records.end());
  }
  EXPECT_EQ(all.Ids(), expected);
}

}  // namespace
}  // namespace sortition
