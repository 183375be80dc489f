#include "process/tracing/trace_context.h"

#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::Optional;

// The example of the standard, section 3.2.
constexpr char kExample[] =
    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr TraceContext kParsed = {
    .trace_id = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48,
                 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c},
    .span_id = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31},
    .is_sampled = true};

TEST(TraceContextTest, ReadsTheExampleOfTheStandard) {
  EXPECT_THAT(ParseTraceparent(kExample), Optional(kParsed));
}

TEST(TraceContextTest, OnlyTheLowestBitOfTheFlagsMeansSampled) {
  const std::string head(kExample, sizeof(kExample) - 3);
  for (const char* const flags : {"00", "02", "fe"}) {
    const auto context = ParseTraceparent(head + flags);
    ASSERT_TRUE(context.has_value()) << flags;
    EXPECT_FALSE(context->is_sampled) << flags;
  }
  for (const char* const flags : {"01", "03", "ff"}) {
    EXPECT_THAT(ParseTraceparent(head + flags), Optional(kParsed)) << flags;
  }
}

TEST(TraceContextTest, LaterVersionsMayHaveMoreFields) {
  const std::string later = "cc" + std::string(kExample).substr(2);
  EXPECT_THAT(ParseTraceparent(later), Optional(kParsed));
  EXPECT_THAT(ParseTraceparent(later + "-what-comes"), Optional(kParsed));
  EXPECT_EQ(ParseTraceparent(later + ".what"), std::nullopt);
}

TEST(TraceContextTest, MalformedValuesAreIgnored) {
  const std::string good = kExample;
  std::vector<std::string> bad = {
      "",
      "00",
      good.substr(0, good.size() - 1),
      good + "0",
      good + "-more",         // Not in version 00.
      "ff" + good.substr(2),  // No version.
      "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
      " " + good.substr(0, good.size() - 1),
  };
  // Another character at any place that must be a digit or a dash.
  for (size_t i = 0; i < good.size(); ++i) {
    for (const char c : {'g', ' ', '\0', '\xc3'}) {
      bad.push_back(good);
      bad.back()[i] = c;
    }
    if (good[i] != '-') {
      bad.push_back(good);
      bad.back()[i] = '-';
    }
  }
  for (const std::string& header : bad) {
    EXPECT_EQ(ParseTraceparent(header), std::nullopt) << header;
  }
}

TEST(TraceContextTest, PackedContextsAreReadBack) {
  const std::string bytes = PackTraceContext(kParsed);
  EXPECT_EQ(bytes.size(), 24u);
  EXPECT_EQ(bytes.substr(0, 2), "\x0a\xf7");
  EXPECT_EQ(bytes.substr(16, 2), "\xb7\xad");
  EXPECT_THAT(UnpackTraceContext(bytes), Optional(kParsed));
  EXPECT_EQ(UnpackTraceContext(""), std::nullopt);
  EXPECT_EQ(UnpackTraceContext(bytes + "x"), std::nullopt);
  EXPECT_EQ(UnpackTraceContext(std::string(16, '\0') + bytes.substr(16)),
            std::nullopt);
  EXPECT_EQ(UnpackTraceContext(bytes.substr(0, 16) + std::string(8, '\0')),
            std::nullopt);
}

TEST(TraceContextTest, IdsDiffer) {
  std::set<TraceId> traces;
  std::set<SpanId> spans;
  constexpr size_t kIds = 10000;
  for (size_t i = 0; i < kIds; ++i) {
    traces.insert(NewTraceId());
    spans.insert(NewSpanId());
  }
  // Two of 10,000 random ids of 64 bits are equal with probability 3e-12.
  EXPECT_EQ(traces.size(), kIds);
  EXPECT_EQ(spans.size(), kIds);
}

}  // namespace
}  // namespace sortition
