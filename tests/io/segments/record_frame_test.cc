#include "io/segments/record_frame.h"

#include <string>

#include "gtest/gtest.h"

namespace sortition {
namespace {

// RFC 3720, B.4.
TEST(Crc32cTest, GivesTheVectorsOfTheRfc) {
  std::string ascending;
  std::string descending;
  for (int i = 0; i < 32; ++i) {
    ascending.push_back(static_cast<char>(i));
    descending.push_back(static_cast<char>(31 - i));
  }
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(Crc32c(""), 0u);
  // The check value of CRC catalogues.
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
}

TEST(Crc32cTest, PiecesGiveTheSameAsTheWhole) {
  std::string bytes(5000, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(i * i >> 3);
  }
  const absl::string_view whole(bytes);
  for (size_t cut = 0; cut <= bytes.size(); cut += 7) {
    EXPECT_EQ(ExtendCrc32c(Crc32c(whole.substr(0, cut)), whole.substr(cut)),
              Crc32c(whole));
  }
}

// Computed from the definitions by a separate program, bit by bit: length,
// masked CRC of the length, payload, masked CRC of the payload.
TEST(RecordFrameTest, HasTheBytesOfTfrecord) {
  std::string frame;
  AppendFrame("foo", &frame);
  EXPECT_EQ(frame, std::string("\x03\x00\x00\x00\x00\x00\x00\x00"
                               "\xb0\x99\x49\x0e"
                               "foo"
                               "\x61\x8a\xbe\xfe",
                               19));
  frame.clear();
  AppendFrame("", &frame);
  EXPECT_EQ(frame, std::string("\x00\x00\x00\x00\x00\x00\x00\x00"
                               "\x29\x03\x98\x07"
                               "\xd8\xea\x82\xa2",
                               16));
}

TEST(RecordFrameTest, ZerosAreNoFrame) {
  // Otherwise preallocated space would read as empty records.
  uint64_t size = 0;
  EXPECT_FALSE(ParseFrameHead(std::string(12, '\0'), &size));
  EXPECT_FALSE(ParseFrameHead(std::string(11, '\0'), &size));
}

TEST(RecordFrameTest, TailOfPiecesIsTheTailOfTheWhole) {
  const absl::string_view pieces[] = {"fo", "", "o"};
  const absl::string_view whole("foo");
  EXPECT_EQ(MakeFrameTail(pieces), MakeFrameTail({&whole, 1}));
}

}  // namespace
}  // namespace sortition
