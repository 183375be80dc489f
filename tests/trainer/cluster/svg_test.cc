#include "trainer/cluster/svg.h"

#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/cluster/xml_checker.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SvgTest, EscapesWhatXmlDoesNotAllow) {
  EXPECT_EQ(EscapeXml("a<b&\"c'>"), "a&lt;b&amp;&quot;c&#39;&gt;");
  EXPECT_EQ(EscapeXml("Zoë 中 \U0001F600"), "Zoë 中 \U0001F600");
  EXPECT_EQ(EscapeXml(absl::string_view("\0\x01\t\x1b\x7f", 5)),
            "\uFFFD\uFFFD\t\uFFFD\x7f");
  // A byte alone, a cut character, an overlong one, a surrogate, U+FFFF.
  EXPECT_EQ(EscapeXml("\xff|\xc3|\xe2\x82"), "\uFFFD|\uFFFD|\uFFFD\uFFFD");
  EXPECT_EQ(EscapeXml("\xc0\x80|\xef\xbf\xbf|\xed\xa0\x80"),
            "\uFFFD\uFFFD|\uFFFD|\uFFFD");
}

TEST(SvgTest, ShortensByCharactersNotBytes) {
  EXPECT_EQ(Shorten("äöüß", 4), "äöüß");
  EXPECT_EQ(Shorten("äöüßx", 4), "äöü…");
  EXPECT_EQ(Shorten("", 4), "");
}

TEST(SvgTest, DocumentsAreWellFormed) {
  Svg svg(100, 50);
  svg.Line({0, 0}, {1, 1}, {.stroke = "#000000"});
  svg.Polyline({{0, 0}, {1, 2}, {3, 4}}, {.stroke = "#000000"});
  svg.Circle({1, 1}, 2, {.fill = Colour(3), .opacity = 0.5});
  svg.Diamond({1, 1}, 2, {.fill = Shade(0.5)});
  svg.Text({5, 5}, "a<b&\"c", {.bold = true, .upwards = true});
  const std::string text = std::move(svg).Finish();
  EXPECT_THAT(XmlChecker::Problem(text), IsEmpty()) << text;
  EXPECT_THAT(text, HasSubstr(">a&lt;b&amp;&quot;c</text>"));
  EXPECT_THAT(text, HasSubstr("points=\"0.00,0.00 1.00,2.00 3.00,4.00\""));
}

// The checker can fail.
TEST(SvgTest, TheCheckerFindsWhatIsWrong) {
  for (const char* bad :
       {"<a><b></a></b>", "<a>", "<a>&</a>", "<a x=\"1/>", "<a/><a/>", "x<a/>",
        "<a x=\"<\"/>", "<a>\x01</a>", "<a x=1/>", "</a>", ""}) {
    EXPECT_NE(XmlChecker::Problem(bad), "") << bad;
  }
}

TEST(SvgTest, TicksAreRoundAndFew) {
  EXPECT_THAT(Ticks(0, 1),
              ElementsAre(0, 0.2, 0.4, 0.6000000000000001, 0.8, 1));
  EXPECT_THAT(Ticks(3, 3), ElementsAre(3));
  for (double low = -7.3; low < 8; low += 1.7) {
    for (double width = 1e-6; width < 1e7; width *= 1.9) {
      const std::vector<double> ticks = Ticks(low, low + width);
      ASSERT_GE(ticks.size(), 3u) << low << " " << width;
      ASSERT_LE(ticks.size(), 9u);
      ASSERT_GE(ticks.front(), low - 1e-9 * width);
      ASSERT_LE(ticks.back(), low + width * (1 + 1e-9));
    }
  }
}

TEST(SvgTest, ShadesDarken) {
  EXPECT_EQ(Shade(-1), Shade(0));
  EXPECT_EQ(Shade(2), Shade(1));
  EXPECT_EQ(Shade(0), "#fffaf0");
  EXPECT_EQ(Shade(1), "#7f0014");
}

}  // namespace
}  // namespace sortition
