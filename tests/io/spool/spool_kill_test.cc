// kill -9 of a writer while it appends.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/segments/segment_recovery.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// The child process: appends for ever and reports each acknowledged number.
[[noreturn]] void AppendAndReport(const std::string& dir, int pipe) {
  config::v1::SpoolOptions options;
  options.set_dir(dir);
  options.set_segment_bytes(65536);
  options.set_segment_seconds(0.05);
  options.set_sync_interval_seconds(0.01);
  auto writer = SpoolWriter::Open(options, "");
  if (!writer.ok()) _exit(1);
  const std::vector<float> values(1500, 0.5f);
  for (uint64_t i = 0;; ++i) {
    log::v1::Decision decision;
    decision.set_decision_id(absl::StrCat(i));
    if (!(*writer)->AppendDecision(decision, values).ok()) _exit(2);
    if (write(pipe, &i, sizeof i) != sizeof i) _exit(3);
  }
}

// Reads `count` numbers, kills the child, reads the rest. Returns the number of
// all.
uint64_t KillAfter(uint64_t count, pid_t child, int pipe) {
  uint64_t acknowledged = 0;
  uint64_t number = 0;
  bool is_killed = false;
  while (read(pipe, &number, sizeof number) == sizeof number) {
    EXPECT_EQ(number, acknowledged);
    ++acknowledged;
    if (acknowledged >= count && !is_killed) {
      EXPECT_EQ(kill(child, SIGKILL), 0);
      is_killed = true;
    }
  }
  EXPECT_TRUE(is_killed) << "the child ended by itself";
  return acknowledged;
}

TEST(SpoolKillTest, WhatWasAcknowledgedIsReadableAndTheTailIsCut) {
  for (uint64_t round = 0; round < 8; ++round) {
    const TempDir dir;
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      close(ends[0]);
      AppendAndReport(dir.path(), ends[1]);
    }
    close(ends[1]);
    // From within the first segment to several rotations later.
    const uint64_t acknowledged = KillAfter(1 + 37 * round, child, ends[0]);
    close(ends[0]);
    int state = 0;
    ASSERT_EQ(waitpid(child, &state, 0), child);
    ASSERT_TRUE(WIFSIGNALED(state));

    std::vector<std::string> ids;
    ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir.path()));
    for (const std::string& name : names) {
      const std::string path = dir / name;
      EXPECT_EQ(*SegmentHasLiveWriter(path), false);
      ASSERT_OK_AND_ASSIGN(const auto footer, RecoverSegment(path));
      const Contents contents = ReadAll(path);
      EXPECT_EQ(contents.corrupt_bytes, 0u);
      EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
      EXPECT_TRUE(contents.records.back().has_footer());
      const std::vector<std::string> some = contents.Ids();
      EXPECT_EQ(footer.num_records(), some.size());
      ids.insert(ids.end(), some.begin(), some.end());
    }
    // One more may have been written before it could be acknowledged.
    ASSERT_GE(ids.size(), acknowledged);
    ASSERT_LE(ids.size(), acknowledged + 1);
    for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i], absl::StrCat(i));

    // The next process continues in the same directory.
    config::v1::SpoolOptions options;
    options.set_dir(dir.path());
    ASSERT_OK_AND_ASSIGN(const auto writer, SpoolWriter::Open(options, ""));
    ASSERT_OK(writer->Close());
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      EXPECT_NE(entry.path().extension(), ".tmp");
    }
  }
}

}  // namespace
}  // namespace sortition
