#include "core/base/tagged_uuid.h"

#include <random>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(TaggedUuidTest, SaysWhenAndByWhomItWasMade) {
  const uint32_t tag = WriterTag("server-1");
  for (uint64_t serial : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 38) - 1}) {
    const std::string id = MakeTaggedUuid(1'700'000'000'123'456, serial, tag);
    const auto uuid = ParseUuidV7(id);
    ASSERT_TRUE(uuid.has_value()) << id;
    EXPECT_EQ(uuid->time_us, 1'700'000'000'123'000);
    EXPECT_EQ(uuid->writer_tag, tag);
  }
}

TEST(TaggedUuidTest, WritersDiffer) {
  EXPECT_NE(WriterTag("server-1"), WriterTag("server-2"));
  EXPECT_LT(WriterTag("server-1"), 1u << 24);
  EXPECT_NE(MakeTaggedUuid(0, 5, WriterTag("server-1")),
            MakeTaggedUuid(0, 5, WriterTag("server-2")));
}

// The tag must not show: ids of one writer share no bits beyond the time.
TEST(TaggedUuidTest, IdsOfOneWriterLookRandom) {
  std::set<std::string> tag_digits;
  for (uint64_t serial = 0; serial < 200; ++serial) {
    tag_digits.insert(
        MakeTaggedUuid(1'000'000, serial, WriterTag("a")).substr(20, 3));
  }
  // Of 1,024 values, 200 draws leave out no more than 37 by chance.
  EXPECT_GT(tag_digits.size(), 150u);
}

// One in 4,096 by the 12 check bits: 24 of 100,000, with a standard deviation
// of 5.
TEST(TaggedUuidTest, FewOthersLookTagged) {
  std::mt19937_64 random(3);
  int tagged = 0;
  for (int i = 0; i < 100000; ++i) {
    const std::string id = absl::StrFormat(
        "01234567-89ab-7%03x-%04x-%012x", random() & 0xFFF,
        0x8000 | (random() & 0x3FFF), random() & 0xFFFFFFFFFFFF);
    const auto uuid = ParseUuidV7(id);
    ASSERT_TRUE(uuid.has_value()) << id;
    if (uuid->writer_tag.has_value()) ++tagged;
  }
  EXPECT_GT(tagged, 4);
  EXPECT_LT(tagged, 50);
}

TEST(TaggedUuidTest, OtherTextsAreNoUuids) {
  const std::string id = MakeTaggedUuid(0, 1, 2);
  EXPECT_FALSE(ParseUuidV7("").has_value());
  EXPECT_FALSE(ParseUuidV7("click-7").has_value());
  EXPECT_FALSE(ParseUuidV7(id + "0").has_value());
  std::string other = id;
  other[14] = '4';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
  other = id;
  other[8] = '0';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
  other = id;
  other[0] = 'g';
  EXPECT_FALSE(ParseUuidV7(other).has_value());
}

}  // namespace
}  // namespace sortition
