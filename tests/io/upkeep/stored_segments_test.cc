#include "io/upkeep/stored_segments.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool Never() { return false; }

class StoredSegmentsTest : public testing::Test {
 protected:
  // Writes a segment that begins at `time_us`, with one feedback.
  std::string Write(int64_t time_us, const std::string& writer = "w",
                    bool is_closed = true) {
    SegmentWriter::Options options;
    options.dir = dir_.path();
    options.name = SegmentName(time_us, writer, 0);
    options.header.set_format_version(1);
    auto segment = SegmentWriter::Create(options);
    EXPECT_OK(segment);
    log::v1::LogRecord record;
    record.mutable_feedback()->set_feedback_id(std::string(5000, 'x'));
    EXPECT_OK((*segment)->Append(record));
    if (is_closed) {
      EXPECT_OK((*segment)->Close());
    } else {
      open_.push_back(*std::move(segment));
    }
    return dir_ / options.name;
  }

  std::vector<StoredSegment> List() {
    auto segments = ListStored(dir_.path());
    EXPECT_OK(segments);
    return *std::move(segments);
  }

  // The paths that must go.
  std::vector<std::string> Chosen(const StorageLimits& limits) {
    std::vector<std::string> paths;
    for (const StoredSegment& segment : ChooseForRemoval(List(), limits)) {
      paths.push_back(segment.path);
    }
    return paths;
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
      names.push_back(file.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const TempDir dir_;
  std::vector<std::unique_ptr<SegmentWriter>> open_;
};

TEST_F(StoredSegmentsTest, TheNewestOfEachWriterStays) {
  const std::string a1 = Write(100, "a");
  const std::string b1 = Write(200, "b-c");
  const std::string a2 = Write(300, "a");
  const std::string b2 = Write(400, "b-c");
  const std::string a3 = Write(500, "a");
  std::ofstream(dir_ / "odd.seg") << "no segment by its name";
  std::ofstream(dir_ / "sidecar.lock");
  EXPECT_THAT(Chosen({.followed_from_us = 1000, .bytes = 1}),
              ElementsAre(a1, b1, a2));
  // Of what was followed before a time, and of no more.
  EXPECT_THAT(Chosen({.followed_from_us = 400}), ElementsAre(a1));
  EXPECT_THAT(Chosen({.followed_from_us = 401}), ElementsAre(a1, b1));
  EXPECT_THAT(Chosen({}), IsEmpty());
}

TEST_F(StoredSegmentsTest, TheOldestGoUntilTheRestFits) {
  std::vector<std::string> paths;
  for (int64_t i = 1; i <= 5; ++i) paths.push_back(Write(i));
  const uint64_t bytes = std::filesystem::file_size(paths[0]);
  EXPECT_THAT(Chosen({.bytes = 5 * bytes}), IsEmpty());
  EXPECT_THAT(Chosen({.bytes = 5 * bytes - 1}), ElementsAre(paths[0]));
  EXPECT_THAT(Chosen({.bytes = 3 * bytes}), ElementsAre(paths[0], paths[1]));
}

TEST_F(StoredSegmentsTest, CompressionLeavesOneFileOfAClosedSegment) {
  const std::string first = Write(1);
  const std::string second = Write(2);
  CompressionCounts counts;
  ASSERT_OK(CompressStored(List(), Never, &counts));
  EXPECT_EQ(counts.segments, 1u);
  EXPECT_LT(counts.bytes_after, counts.bytes_before / 10);
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_EQ(List()[0].bytes, counts.bytes_after);
  ASSERT_OK(CompressStored(List(), Never, &counts));
  EXPECT_EQ(counts.segments, 1u);
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_TRUE(std::filesystem::exists(first + ".zst"));
  EXPECT_TRUE(std::filesystem::exists(second));
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(dir_.path()));
  EXPECT_EQ(names.size(), 2u);
}

TEST_F(StoredSegmentsTest, WhatIsOpenIsNotCompressed) {
  Write(1, "w", false);
  Write(2);
  CompressionCounts counts;
  ASSERT_OK(CompressStored(List(), Never, &counts));
  EXPECT_EQ(counts.segments, 0u);
}

TEST_F(StoredSegmentsTest, BothFilesAreRemoved) {
  Write(1);
  const std::string last = Write(2);
  CompressionCounts counts;
  ASSERT_OK(CompressStored(List(), Never, &counts));
  ASSERT_OK(RemoveStored(List()[0]));
  EXPECT_EQ(dir_ / Files().front(), last);
  EXPECT_EQ(Files().size(), 1u);
  StoredSegment gone;
  gone.path = dir_ / "gone.seg";
  EXPECT_OK(RemoveStored(gone));
}

}  // namespace
}  // namespace sortition
