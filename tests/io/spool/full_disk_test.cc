// A spool on a disk of 600 kB. If this process may not mount one, the limit of
// the spool stands in for it.
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>

#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_recovery.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

class FullDiskTest : public testing::Test {
 protected:
  FullDiskTest() {
    std::filesystem::create_directory(disk_);
    // Mounts in a namespace of its own vanish with the process.
    is_mounted_ =
        unshare(CLONE_NEWNS) == 0 &&
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
        mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=600k") == 0;
    RecordProperty("mounted", is_mounted_);
    options_.set_dir(disk_ + "/spool");
    options_.set_segment_bytes(65536);
    if (!is_mounted_) options_.set_max_bytes(600000);
  }
  ~FullDiskTest() override {
    if (is_mounted_) umount2(disk_.c_str(), MNT_DETACH);
  }

  absl::Status Append(SpoolWriter* writer) {
    log::v1::Decision decision;
    decision.set_decision_id(absl::StrCat(next_++));
    return writer->AppendDecision(decision, std::vector<float>(1000, 0.5f));
  }

  std::vector<std::string> Segments() { return *ListSegments(options_.dir()); }

  // Moves the records of closed segments to `read_`, as the sidecar does.
  void DrainClosedSegments() {
    for (const std::string& name : Segments()) {
      const std::string path = options_.dir() + "/" + name;
      // Segments are read in order: a later one may be closed while this one is
      // still being closed.
      if (*SegmentHasLiveWriter(path)) break;
      Take(path);
      std::filesystem::remove(path);
    }
  }

  void Take(const std::string& path) {
    const Contents contents = ReadAll(path);
    EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
    EXPECT_EQ(contents.corrupt_bytes, 0u);
    for (const std::string& id : contents.Ids()) read_.push_back(id);
    for (const log::v1::LogRecord& record : contents.records) {
      gap_records_ += record.gap().lost_records();
    }
  }

  void CloseAndReadTheRest(SpoolWriter* writer) {
    ASSERT_OK(writer->Close());
    for (const std::string& name : Segments()) {
      Take(options_.dir() + "/" + name);
    }
  }

  const TempDir dir_;
  const std::string disk_ = dir_ / "disk";
  bool is_mounted_ = false;
  config::v1::SpoolOptions options_;
  int next_ = 0;
  std::vector<std::string> read_;
  uint64_t gap_records_ = 0;
};

TEST_F(FullDiskTest, RefusesAndGoesOnWhenThereIsRoom) {
  ASSERT_OK_AND_ASSIGN(const auto writer, SpoolWriter::Open(options_, ""));
  std::vector<std::string> written;
  int refused = 0;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // 1000 records of 4 kB: several times the disk.
  while (written.size() < 1000) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    const absl::Status status = Append(writer.get());
    if (status.ok()) {
      written.push_back(absl::StrCat(next_ - 1));
      continue;
    }
    ASSERT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
    ++refused;
    DrainClosedSegments();
    poll(nullptr, 0, 1);
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(writer->stats().refused, static_cast<uint64_t>(refused));
  CloseAndReadTheRest(writer.get());
  EXPECT_EQ(read_, written);
}

TEST_F(FullDiskTest, CountsWhatItLoses) {
  options_.set_when_full(config::v1::SpoolOptions::COUNT);
  ASSERT_OK_AND_ASSIGN(const auto writer, SpoolWriter::Open(options_, ""));
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(60);
  uint64_t lost = 0;
  while (writer->stats().records < 1000) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    ASSERT_OK(Append(writer.get()));
    if (writer->stats().lost == lost) continue;
    lost = writer->stats().lost;
    DrainClosedSegments();
    poll(nullptr, 0, 1);
  }
  EXPECT_GT(lost, 0u);
  CloseAndReadTheRest(writer.get());
  EXPECT_EQ(read_.size(), 1000u);
  EXPECT_EQ(gap_records_, lost);
  EXPECT_EQ(read_.size() + lost, static_cast<size_t>(next_));
}

}  // namespace
}  // namespace sortition
