#include "io/segments/segment_batch.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class SegmentBatchTest : public testing::Test {
 protected:
  SegmentBatch::Options Options() const {
    return {.dir = directory_ / "parent/out",
            .writer_id = "w",
            .kind = log::v1::SegmentHeader::TUPLES,
            .segment_bytes = 1000,
            .options_text = "o"};
  }

  // Writes `n` tuples whose rewards count up from `first`, in one batch.
  static absl::Status Write(const SegmentBatch::Options& options, int n,
                            int first = 0) {
    auto batch = SegmentBatch::Create(options);
    if (!batch.ok()) return batch.status();
    for (int i = 0; i < n; ++i) {
      log::v1::LogRecord record;
      record.mutable_tuple()->set_reward(first + i);
      record.mutable_tuple()->mutable_decision()->set_decision_id(
          std::string(80, 'd'));
      EXPECT_OK((*batch)->Append(record));
    }
    return (*batch)->Publish();
  }

  // Rewards in the order of reading; checks headers and footers.
  std::vector<double> Read(const std::string& dir) const {
    std::vector<double> rewards;
    const auto names = ListSegments(dir);
    EXPECT_OK(names);
    if (!names.ok()) return rewards;
    for (const std::string& name : *names) {
      const auto reader = SegmentReader::Open(dir + "/" + name).value();
      absl::string_view payload;
      uint64_t offset = 0;
      bool closed = false;
      while (reader->Next(&payload, &offset).value() ==
             SegmentReader::Outcome::kRecord) {
        log::v1::LogRecord record;
        EXPECT_TRUE(record.ParseFromArray(payload.data(),
                                          static_cast<int>(payload.size())));
        if (record.has_header()) {
          EXPECT_EQ(record.header().kind(), log::v1::SegmentHeader::TUPLES);
          EXPECT_EQ(record.header().first_sequence(), rewards.size());
          EXPECT_EQ(record.header().options(), "o");
        } else if (record.has_footer()) {
          closed = true;
          EXPECT_FALSE(record.footer().recovered());
        } else {
          rewards.push_back(record.tuple().reward());
        }
      }
      EXPECT_TRUE(closed);
      EXPECT_LE(std::filesystem::file_size(dir + "/" + name), 1300u);
    }
    return rewards;
  }

  // Lists everything beside the output, including hidden files.
  std::vector<std::string> Siblings() const {
    std::vector<std::string> names;
    for (const auto& entry :
         std::filesystem::directory_iterator(directory_ / "parent")) {
      if (entry.path().filename() != "out") names.push_back(entry.path());
    }
    return names;
  }

  TempDir directory_;
};

TEST_F(SegmentBatchTest, RotatesBySizeAndKeepsTheOrder) {
  ASSERT_OK(Write(Options(), 50));
  const std::vector<double> rewards = Read(directory_ / "parent/out");
  ASSERT_EQ(rewards.size(), 50u);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(rewards[i], static_cast<double>(i));
  // About 110 bytes a record.
  EXPECT_GE(ListSegments(directory_ / "parent/out")->size(), 5u);
  EXPECT_THAT(Siblings(), IsEmpty());
}

TEST_F(SegmentBatchTest, NothingIsThereBeforeItIsPublished) {
  {
    ASSERT_OK_AND_ASSIGN(const auto batch, SegmentBatch::Create(Options()));
    log::v1::LogRecord record;
    record.mutable_tuple();
    ASSERT_OK(batch->Append(record));
    EXPECT_FALSE(std::filesystem::exists(directory_ / "parent/out"));
  }
  EXPECT_FALSE(std::filesystem::exists(directory_ / "parent/out"));
  EXPECT_THAT(Siblings(), IsEmpty());
}

TEST_F(SegmentBatchTest, TakesAnEmptyDirectoryAlsoByALinkOrWithASlash) {
  std::filesystem::create_directories(directory_ / "parent/out");
  std::filesystem::create_symlink("parent/out", directory_ / "link");
  SegmentBatch::Options options = Options();
  options.dir = directory_ / "link";
  ASSERT_OK(Write(options, 3));
  EXPECT_EQ(Read(directory_ / "parent/out").size(), 3u);
  EXPECT_TRUE(std::filesystem::is_symlink(directory_ / "link"));
  options.dir = directory_ / "parent/out/";
  options.replace = true;
  ASSERT_OK(Write(options, 4));
  EXPECT_EQ(Read(directory_ / "parent/out").size(), 4u);
}

TEST_F(SegmentBatchTest, ReplacesItsOwnSegmentsWhereItMay) {
  ASSERT_OK(Write(Options(), 50));
  EXPECT_THAT(Write(Options(), 2),
              IsFailedPrecondition("must be absent or empty"));
  EXPECT_EQ(Read(directory_ / "parent/out").size(), 50u);
  SegmentBatch::Options options = Options();
  options.replace = true;
  ASSERT_OK(Write(options, 2, 100));
  EXPECT_THAT(Read(directory_ / "parent/out"), testing::ElementsAre(100, 101));
  EXPECT_THAT(Siblings(), IsEmpty());
}

// Logs of users are never replaced.
TEST_F(SegmentBatchTest, LeavesWhatIsNotItsOwn) {
  SegmentBatch::Options other = Options();
  other.writer_id = "sidecar";
  ASSERT_OK(Write(other, 5));
  SegmentBatch::Options options = Options();
  options.replace = true;
  EXPECT_THAT(Write(options, 2),
              IsFailedPrecondition("is not a segment of writer 'w'"));
  EXPECT_EQ(Read(directory_ / "parent/out").size(), 5u);

  std::filesystem::remove_all(directory_ / "parent/out");
  ASSERT_OK(Write(options, 5));
  std::ofstream(directory_ / "parent/out/notes.txt") << "mine";
  EXPECT_THAT(Write(options, 2),
              IsFailedPrecondition("notes.txt is not a segment"));
  EXPECT_TRUE(std::filesystem::exists(directory_ / "parent/out/notes.txt"));
}

TEST_F(SegmentBatchTest, WhatCameMeanwhileIsInTheWay) {
  ASSERT_OK_AND_ASSIGN(const auto batch, SegmentBatch::Create(Options()));
  log::v1::LogRecord record;
  record.mutable_tuple();
  ASSERT_OK(batch->Append(record));
  ASSERT_OK(Write(Options(), 5));
  EXPECT_THAT(batch->Publish(),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_EQ(Read(directory_ / "parent/out").size(), 5u);
}

TEST_F(SegmentBatchTest, AFileInThePlaceIsAnError) {
  std::filesystem::create_directories(directory_ / "parent");
  std::ofstream(directory_ / "parent/out") << "a file";
  EXPECT_THAT(SegmentBatch::Create(Options()).status().message(),
              HasSubstr("parent/out"));
}

}  // namespace
}  // namespace sortition
