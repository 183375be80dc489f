#include "io/segments/compressed_file.h"

#include <zstd.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment.h"
#include "io/segments/segment_recovery.h"
#include "tests/io/segments/segment_testing.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr uint64_t kBlockBytes = 1 << 20;
constexpr char kBitFlip = 0x10;

bool NeverStop() { return false; }

// Bytes of which a half is random.
std::string SomeBytes(size_t size) {
  std::mt19937 random(3);
  std::string bytes(size, 'x');
  for (size_t i = 0; i < size; i += 2) {
    bytes[i] = static_cast<char>(random());
  }
  return bytes;
}

std::string ReadFrom(CompressedFile* file, uint64_t offset, uint64_t size) {
  std::string bytes(size, '?');
  bytes.resize(file->Read(offset, bytes.data(), size));
  return bytes;
}

class CompressedFileTest : public testing::Test {
 protected:
  std::unique_ptr<CompressedFile> Compress(const std::string& bytes) {
    WriteBytes(dir_ / "plain", bytes);
    EXPECT_OK(CompressFile(dir_ / "plain", path_, NeverStop));
    auto file = CompressedFile::Open(path_);
    EXPECT_OK(file);
    return *std::move(file);
  }

  void Flip(uint64_t place) {
    std::string bytes = ReadBytes(path_);
    bytes[place] = static_cast<char>(bytes[place] ^ kBitFlip);
    WriteBytes(path_, bytes);
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "compressed";
};

TEST_F(CompressedFileTest, ReadsAnyPlace) {
  const std::string bytes = SomeBytes(3 * kBlockBytes + 12345);
  const auto file = Compress(bytes);
  EXPECT_EQ(file->size(), bytes.size());
  EXPECT_LT(std::filesystem::file_size(path_), bytes.size());
  EXPECT_TRUE(ReadFrom(file.get(), 0, bytes.size() + 7) == bytes);
  for (const uint64_t offset :
       {uint64_t{2500000}, kBlockBytes - 1, uint64_t{0}, kBlockBytes,
        uint64_t{bytes.size() - 1}, uint64_t{bytes.size()}}) {
    for (const uint64_t size : {uint64_t{1}, uint64_t{3}, 2 * kBlockBytes}) {
      EXPECT_TRUE(ReadFrom(file.get(), offset, size) ==
                  bytes.substr(offset, size))
          << offset << " " << size;
    }
  }
}

TEST_F(CompressedFileTest, MayBeEmpty) {
  const auto file = Compress("");
  EXPECT_EQ(file->size(), 0u);
  EXPECT_EQ(ReadFrom(file.get(), 0, 10), "");
}

// Any program that reads zstd reads it.
TEST_F(CompressedFileTest, IsAFileOfZstd) {
  const std::string bytes = SomeBytes(2 * kBlockBytes + 9);
  Compress(bytes);
  const std::string compressed = ReadBytes(path_);
  std::string read(bytes.size() + 1, '?');
  const size_t size = ZSTD_decompress(read.data(), read.size(),
                                      compressed.data(), compressed.size());
  ASSERT_EQ(ZSTD_isError(size), 0u) << ZSTD_getErrorName(size);
  read.resize(size);
  EXPECT_TRUE(read == bytes);
}

TEST_F(CompressedFileTest, ADamagedBlockIsMarkedAndTheOthersAreRead) {
  const std::string bytes = SomeBytes(3 * kBlockBytes);
  Compress(bytes);
  // All blocks are equally large, but for a few bytes.
  Flip(std::filesystem::file_size(path_) / 2);
  ASSERT_OK_AND_ASSIGN(const auto file, CompressedFile::Open(path_));
  EXPECT_TRUE(ReadFrom(file.get(), 0, bytes.size()) ==
              bytes.substr(0, kBlockBytes) + std::string(kBlockBytes, '\xFF') +
                  bytes.substr(2 * kBlockBytes));
}

// Whatever is flipped in the table, the blocks are found without it, or marked:
// no byte is ever wrong without being marked.
TEST_F(CompressedFileTest, ADamagedTableIsMadeAnew) {
  const std::string bytes = SomeBytes(2 * kBlockBytes + 5000);
  Compress(bytes);
  const std::string whole = ReadBytes(path_);
  const size_t table_bytes = 8 + 3 * 8 + 9;
  int whole_files = 0;
  for (size_t i = whole.size() - table_bytes; i < whole.size(); ++i) {
    WriteBytes(path_, whole);
    Flip(i);
    ASSERT_OK_AND_ASSIGN(const auto file, CompressedFile::Open(path_));
    const std::string read = ReadFrom(file.get(), 0, 10 * kBlockBytes);
    if (read == bytes) {
      ++whole_files;
    } else {
      EXPECT_TRUE(absl::StrContains(read, std::string(900, '\xFF'))) << i;
    }
  }
  EXPECT_GE(whole_files, 20);
  // Cut within the table, and within the last block.
  WriteBytes(path_, whole.substr(0, whole.size() - 1));
  ASSERT_OK_AND_ASSIGN(auto file, CompressedFile::Open(path_));
  EXPECT_TRUE(ReadFrom(file.get(), 0, 10 * kBlockBytes) == bytes);
  WriteBytes(path_, whole.substr(0, whole.size() - table_bytes - 10));
  ASSERT_OK_AND_ASSIGN(file, CompressedFile::Open(path_));
  EXPECT_TRUE(ReadFrom(file.get(), 0, 10 * kBlockBytes) ==
              bytes.substr(0, 2 * kBlockBytes));
  for (const size_t size : {size_t{0}, size_t{5}}) {
    WriteBytes(path_, whole.substr(0, size));
    EXPECT_THAT(CompressedFile::Open(path_), StatusIs(StatusCode::kDataLoss));
  }
}

TEST_F(CompressedFileTest, WhatWasStoppedLeavesNothing) {
  WriteBytes(dir_ / "plain", SomeBytes(3 * kBlockBytes));
  int calls = 0;
  EXPECT_THAT(
      CompressFile(dir_ / "plain", path_, [&calls] { return ++calls > 2; }),
      StatusIs(StatusCode::kCancelled));
  EXPECT_THAT(CompressFile(dir_ / "none", path_, NeverStop),
              IsNotFound("none"));
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    names.push_back(file.path().filename());
  }
  EXPECT_THAT(names, ElementsAre("plain"));
}

class CompressedSegmentTest : public testing::Test {
 protected:
  // Writes a segment of some three blocks: ids "0", "1", … of 1,000 bytes.
  CompressedSegmentTest() {
    std::mt19937 random(5);
    const auto writer = NewSegment(dir_.path(), 4096);
    for (int i = 0; i < 3000; ++i) {
      log::v1::LogRecord record = FeedbackRecord(absl::StrCat(i));
      std::string* id = record.mutable_feedback()->mutable_decision_id();
      for (int j = 0; j < 1000; ++j) {
        id->push_back(static_cast<char>('a' + random() % 26));
      }
      EXPECT_OK(writer->Append(record));
    }
    EXPECT_OK(writer->Close());
    plain_ = ReadAll(path_);
    EXPECT_OK(CompressFile(path_, compressed_path_, NeverStop));
  }

  void Flip(uint64_t place) {
    std::string bytes = ReadBytes(compressed_path_);
    bytes[place] = static_cast<char>(bytes[place] ^ kBitFlip);
    WriteBytes(compressed_path_, bytes);
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "1.seg";
  const std::string compressed_path_ = dir_ / "1.seg.zst";
  Contents plain_;
};

TEST_F(CompressedSegmentTest, IsReadAsTheSegment) {
  std::filesystem::remove(path_);
  for (const std::string& path : {path_, compressed_path_}) {
    const Contents contents = ReadAll(path);
    EXPECT_EQ(contents.Ids(), plain_.Ids());
    EXPECT_EQ(contents.offsets, plain_.offsets);
    EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
    EXPECT_THAT(contents.corrupt_offsets, SizeIs(0));
  }
}

TEST_F(CompressedSegmentTest, SeeksToOffsetsOfTheSegment) {
  std::filesystem::remove(path_);
  ASSERT_OK_AND_ASSIGN(const auto reader, SegmentReader::Open(path_));
  for (const size_t i : {size_t{2500}, size_t{17}, size_t{1500}}) {
    reader->Seek(plain_.offsets[i]);
    absl::string_view payload;
    uint64_t offset = 0;
    ASSERT_OK_AND_ASSIGN(const auto outcome, reader->Next(&payload, &offset));
    ASSERT_EQ(outcome, SegmentReader::Outcome::kRecord);
    EXPECT_EQ(payload, plain_.records[i].SerializeAsString());
  }
}

TEST_F(CompressedSegmentTest, OneOfTwoFilesIsListed) {
  ASSERT_OK_AND_ASSIGN(auto names, ListSegments(dir_.path()));
  EXPECT_THAT(names, ElementsAre("1.seg"));
  std::filesystem::remove(path_);
  ASSERT_OK_AND_ASSIGN(names, ListSegments(dir_.path()));
  EXPECT_THAT(names, ElementsAre("1.seg.zst"));
}

// Whatever is damaged, what is read is what was written there, or nothing.
TEST_F(CompressedSegmentTest, DamageMakesNoRecords) {
  std::filesystem::remove(path_);
  const std::string whole = ReadBytes(compressed_path_);
  std::mt19937 random(7);
  for (int round = 0; round < 60; ++round) {
    std::string bytes = whole.substr(
        0, random() % 4 == 0 ? random() % whole.size() : whole.size());
    for (int flips = 0; flips < round % 5; ++flips) {
      // Half of them in the last bytes, where the table is.
      const size_t range = random() % 2 == 0 ? bytes.size() : 50;
      const size_t place = bytes.size() - 1 - random() % range;
      if (place < bytes.size()) bytes[place] ^= static_cast<char>(random());
    }
    WriteBytes(compressed_path_, bytes);
    const auto reader = SegmentReader::Open(path_);
    if (!reader.ok()) {
      EXPECT_THAT(reader.status(), StatusIs(StatusCode::kDataLoss));
      continue;
    }
    const Contents contents = ReadAll(reader->get());
    for (size_t i = 0; i < contents.records.size(); ++i) {
      const auto place = std::lower_bound(
          plain_.offsets.begin(), plain_.offsets.end(), contents.offsets[i]);
      ASSERT_TRUE(place != plain_.offsets.end() &&
                  *place == contents.offsets[i]);
      const auto number = static_cast<size_t>(place - plain_.offsets.begin());
      ASSERT_EQ(contents.records[i].SerializeAsString(),
                plain_.records[number].SerializeAsString());
    }
  }
}

// Offsets in a compressed file are not those of the segment: nobody may cut it
// there.
TEST_F(CompressedSegmentTest, ADamagedOneIsNotChangedInPlace) {
  std::filesystem::remove(path_);
  const std::string whole = ReadBytes(compressed_path_);
  Flip(whole.size() - 100);  // In the last block, which has the footer.
  const std::string damaged = ReadBytes(compressed_path_);
  const Contents contents = ReadAll(path_);
  ASSERT_LT(contents.records.size(), plain_.records.size());
  for (const std::string& path : {path_, compressed_path_}) {
    EXPECT_TRUE(IsClosedSegment(path));
    ASSERT_OK_AND_ASSIGN(const bool is_live, SegmentHasLiveWriter(path));
    EXPECT_FALSE(is_live);
    ASSERT_OK_AND_ASSIGN(const log::v1::SegmentFooter footer,
                         RecoverSegment(path));
    // All but the header.
    EXPECT_EQ(footer.num_records(), contents.records.size() - 1);
    EXPECT_TRUE(ReadBytes(compressed_path_) == damaged);
  }
}

// What is rewritten is a plain segment with all records before the damage.
TEST_F(CompressedSegmentTest, ADamagedOneIsRewrittenAsAPlainOne) {
  std::filesystem::remove(path_);
  const std::string whole = ReadBytes(compressed_path_);
  const auto always = [](absl::string_view) { return true; };
  for (const std::string& path : {path_, compressed_path_}) {
    WriteBytes(compressed_path_, whole);
    Flip(whole.size() / 2);  // In the second of three blocks.
    ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path, always));
    EXPECT_GT(cut, kBlockBytes);
    EXPECT_FALSE(std::filesystem::exists(compressed_path_));
    EXPECT_TRUE(IsClosedSegment(path_));
    const Contents contents = ReadAll(path_);
    EXPECT_THAT(contents.corrupt_offsets, SizeIs(0));
    const size_t kept = contents.Ids().size();
    EXPECT_GT(kept, 500u);
    EXPECT_LT(kept, 2000u);
    const std::vector<std::string> all = plain_.Ids();
    EXPECT_EQ(contents.Ids(),
              std::vector<std::string>(
                  all.begin(), all.begin() + static_cast<ptrdiff_t>(kept)));
    std::filesystem::remove(path_);
  }
}

TEST_F(CompressedSegmentTest, AnIntactOneIsNotRewritten) {
  std::filesystem::remove(path_);
  const std::string whole = ReadBytes(compressed_path_);
  const auto always = [](absl::string_view) { return true; };
  ASSERT_OK_AND_ASSIGN(const uint64_t cut, RewriteSegment(path_, always));
  EXPECT_EQ(cut, 0u);
  EXPECT_TRUE(ReadBytes(compressed_path_) == whole);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// The records of a damaged block are reported and passed over, also where it is
// the last one: nobody writes there any more.
TEST_F(CompressedSegmentTest, ADamagedBlockIsReportedAndPassedOver) {
  std::filesystem::remove(path_);
  const std::string whole = ReadBytes(compressed_path_);
  for (const uint64_t block : {uint64_t{1}, uint64_t{2}}) {
    // The three blocks are compressed to about the same size, less a little.
    Flip(block == 1 ? whole.size() / 2 : whole.size() - 100);
    // All but the records that lie in the block, if only in part.
    std::vector<uint64_t> expected;
    for (size_t i = 0; i < plain_.offsets.size(); ++i) {
      const bool is_before = i + 1 < plain_.offsets.size() &&
                             plain_.offsets[i + 1] <= block * kBlockBytes;
      if (is_before || plain_.offsets[i] >= (block + 1) * kBlockBytes) {
        expected.push_back(plain_.offsets[i]);
      }
    }
    const Contents contents = ReadAll(path_);
    EXPECT_EQ(contents.offsets, expected);
    EXPECT_EQ(contents.end, SegmentReader::Outcome::kEnd);
    EXPECT_GE(contents.corrupt_bytes, kBlockBytes * 8 / 10);
    WriteBytes(compressed_path_, whole);
  }
}

}  // namespace
}  // namespace sortition
