#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <chrono>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_recovery.h"
#include "io/spool/spool_writer.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// A spool at its limit, or on a full disk, refuses or counts records, and loses
// none silently.

class SpoolFullTest : public SpoolWriterTest {
 protected:
  // Removes the closed segments, as the sidecar does once it has read them.
  // Segments in use stay.
  void RemoveClosedSegments() {
    for (const std::string& name : Segments()) {
      const std::string path = options_.dir() + "/" + name;
      if (!*SegmentHasLiveWriter(path)) std::filesystem::remove(path);
    }
  }

  // Appends until one append is not written. Returns the number of written
  // ones.
  int Fill(SpoolWriter* writer) {
    const std::vector<float> values = Values(2000);
    for (int i = 0;; ++i) {
      const absl::Status status =
          writer->AppendDecision(SmallDecision(absl::StrCat(i)), values);
      const SpoolStats stats = writer->stats();
      EXPECT_EQ(status.ok(), stats.refused == 0);
      if (stats.refused + stats.lost > 0) return i;
    }
  }
};

TEST_F(SpoolFullTest, RefusesAtTheLimitUntilThereIsRoom) {
  options_.set_max_bytes(200000);
  const auto writer = Open();
  EXPECT_GT(Fill(writer.get()), 10);
  EXPECT_LE(writer->stats().spool_bytes, 200000u);
  EXPECT_THAT(writer->AppendDecision(SmallDecision("x"), Values(2000)),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       HasSubstr("at most 200000")));
  EXPECT_EQ(writer->stats().refused, 2u);
  EXPECT_EQ(writer->stats().lost, 0u);
  EXPECT_TRUE(PollUntil([&] {
    RemoveClosedSegments();
    return writer->AppendDecision(SmallDecision("again"), Values(2000)).ok();
  }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(Ids().back(), "again");
}

TEST_F(SpoolFullTest, CountsAtTheLimitAndLogsTheGap) {
  options_.set_max_bytes(200000);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  const int written = Fill(writer.get());
  const auto records = static_cast<uint64_t>(written);
  EXPECT_EQ(writer->stats().records, records);
  const log::v1::LogRecord batch[] = {FeedbackRecord(std::string(9000, 'f')),
                                      FeedbackRecord("g")};
  ASSERT_OK(writer->Append(batch));
  EXPECT_EQ(writer->stats().lost, 3u);
  EXPECT_EQ(writer->stats().refused, 0u);
  uint64_t lost = 3;
  EXPECT_TRUE(PollUntil([&] {
    RemoveClosedSegments();
    EXPECT_OK(writer->AppendDecision(SmallDecision("again"), Values(2000)));
    if (writer->stats().records > records) return true;
    ++lost;
    return false;
  }));
  ASSERT_OK(writer->Close());
  EXPECT_EQ(writer->stats().lost, lost);
  std::vector<log::v1::LogRecord> gaps;
  for (const log::v1::LogRecord& record : Records()) {
    if (record.has_gap()) gaps.push_back(record);
  }
  ASSERT_THAT(gaps, SizeIs(1));
  EXPECT_EQ(gaps[0].gap().lost_records(), lost);
  EXPECT_GT(gaps[0].gap().first_time_us(), 0);
  EXPECT_LE(gaps[0].gap().first_time_us(), gaps[0].gap().last_time_us());
  EXPECT_THAT(gaps[0].gap().reason(), HasSubstr("at most 200000"));
  EXPECT_EQ(Ids().back(), "again");
}

TEST_F(SpoolFullTest, CloseLogsTheGap) {
  options_.set_max_bytes(131072);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  Fill(writer.get());
  ASSERT_OK(writer->Close());
  const std::vector<log::v1::LogRecord> records = Records();
  ASSERT_GT(records.size(), 2u);
  EXPECT_EQ(records[records.size() - 2].gap().lost_records(), 1u);
  EXPECT_TRUE(records.back().has_footer());
}

// Imitates a full disk as in SegmentWriterTest.
TEST_F(SpoolFullTest, AFullDiskRefusesWhatDoesNotFit) {
  signal(SIGXFSZ, SIG_IGN);
  const auto writer = Open();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status refused =
      writer->AppendDecision(SmallDecision("large"), Values(50000));
  const absl::Status taken = writer->AppendDecision(SmallDecision("a"), {});
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(taken);
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a"));
}

TEST_F(SpoolFullTest, ABatchCutByAFullDiskIsCountedRecordByRecord) {
  signal(SIGXFSZ, SIG_IGN);
  options_.set_when_full(SpoolOptions::COUNT);
  const auto writer = Open();
  const log::v1::LogRecord batch[] = {FeedbackRecord("a"), FeedbackRecord("b"),
                                      FeedbackRecord(std::string(100000, 'x')),
                                      FeedbackRecord("c")};
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit small = limit;
  small.rlim_cur = 80000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status counted = writer->Append(batch);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_OK(counted);
  EXPECT_EQ(writer->stats().records, 2u);
  EXPECT_EQ(writer->stats().lost, 2u);
  // A record larger than the rest of the segment goes into the next one.
  ASSERT_OK(writer->AppendDecision(SmallDecision("d"), Values(20000)));
  ASSERT_OK(writer->Close());
  EXPECT_THAT(Ids(), ElementsAre("a", "b", "d"));
  const std::vector<std::string> names = Segments();
  ASSERT_GE(names.size(), 2u);  // A third one if the disk was tried again.
  const Contents first = ReadAll(options_.dir() + "/" + names[0]);
  EXPECT_EQ(first.records.back().footer().num_records(), 2u);
  const Contents second = ReadAll(options_.dir() + "/" + names[1]);
  EXPECT_EQ(second.records[0].header().first_sequence(), 2u);
  EXPECT_EQ(second.records[1].gap().lost_records(), 2u);
}

// A spool on a disk of 600 kB. If this process may not mount one, the limit of
// the spool stands in for it.

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
