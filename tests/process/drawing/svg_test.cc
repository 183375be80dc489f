#include "process/drawing/svg.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/drawing/colours.h"
#include "tests/process/drawing/xml_checker.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

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

TEST(SvgTest, ElementsOfAPageHaveATextAlternative) {
  Svg svg(100, 50, {"a <title>", "what \"it\" shows"});
  svg.Line({0, 0}, {1, 1}, {.stroke = "#000000", .dashes = "4 3"});
  svg.Polygon({{0, 0}, {1, 2}, {3, 4}}, {.fill = "#000000"});
  const std::string text = std::move(svg).FinishElement();
  EXPECT_THAT(XmlChecker::Problem(text), IsEmpty()) << text;
  EXPECT_THAT(text, ::testing::StartsWith("<svg "));
  EXPECT_THAT(text, HasSubstr(" role=\"img\" "
                              "aria-label=\"a &lt;title&gt;\">\n"
                              "<title>a &lt;title&gt;</title>\n"
                              "<desc>what &quot;it&quot; shows</desc>"));
  EXPECT_THAT(text, HasSubstr("stroke-dasharray=\"4 3\""));
  EXPECT_THAT(text, HasSubstr("<polygon points=\"0.00,0.00 1.00,2.00 "));
}

// The checker can fail.
TEST(SvgTest, TheCheckerFindsWhatIsWrong) {
  for (const char* bad :
       {"<a><b></a></b>", "<a>", "<a>&</a>", "<a x=\"1/>", "<a/><a/>", "x<a/>",
        "<a x=\"<\"/>", "<a>\x01</a>", "<a x=1/>", "</a>", ""}) {
    EXPECT_NE(XmlChecker::Problem(bad), "") << bad;
  }
}

}  // namespace
}  // namespace sortition
