#include "core/features/schema/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr size_t kNone = absl::string_view::npos;

// The definition, by code points: decodes, and asks for the shortest form.
bool DecodesTo(const std::string& bytes) {
  size_t i = 0;
  while (i < bytes.size()) {
    const auto byte = [&](size_t k) -> uint32_t {
      return i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0;
    };
    size_t size = 0;
    uint32_t code = 0;
    if (byte(0) < 0x80) {
      size = 1, code = byte(0);
    } else if ((byte(0) & 0xe0) == 0xc0) {
      size = 2, code = byte(0) & 0x1f;
    } else if ((byte(0) & 0xf0) == 0xe0) {
      size = 3, code = byte(0) & 0x0f;
    } else if ((byte(0) & 0xf8) == 0xf0) {
      size = 4, code = byte(0) & 0x07;
    } else {
      return false;
    }
    for (size_t k = 1; k < size; ++k) {
      if ((byte(k) & 0xc0) != 0x80) return false;
      code = code << 6 | (byte(k) & 0x3f);
    }
    const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[size] || code > 0x10ffff) return false;
    if (code >= 0xd800 && code < 0xe000) return false;
    i += size;
  }
  return true;
}

TEST(Utf8Test, AgreesWithTheDefinitionOnAllPairsOfBytesInContexts) {
  for (const std::string& before : {std::string(), std::string("seven b"),
                                    std::string("\xe2"), std::string("\xf0")}) {
    for (const std::string& after :
         {std::string(), std::string("\x80"), std::string("\x80\x80"),
          std::string("12345678")}) {
      for (int a = 0; a < 256; ++a) {
        for (int b = 0; b < 256; ++b) {
          const std::string bytes =
              before + static_cast<char>(a) + static_cast<char>(b) + after;
          EXPECT_EQ(FindNotUtf8(bytes) == kNone, DecodesTo(bytes))
              << a << " " << b << " " << before.size() << " " << after.size();
        }
      }
    }
  }
}

TEST(Utf8Test, FindsThePlaceOfTheFirstBadByte) {
  EXPECT_EQ(FindNotUtf8(""), kNone);
  EXPECT_EQ(FindNotUtf8("0123456789ab\xff"), 12u);
  EXPECT_EQ(FindNotUtf8("\xc3\xa9t\xc3"), 3u);
  EXPECT_EQ(FindNotUtf8("\xed\xa0\x80"), 0u);  // A surrogate.
}

}  // namespace
}  // namespace sortition
