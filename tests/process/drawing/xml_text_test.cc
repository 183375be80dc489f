#include "process/drawing/xml_text.h"

#include "gtest/gtest.h"

namespace sortition {
namespace {

TEST(XmlTextTest, EscapesWhatXmlDoesNotAllow) {
  EXPECT_EQ(EscapeXml("a<b&\"c'>"), "a&lt;b&amp;&quot;c&#39;&gt;");
  EXPECT_EQ(EscapeXml("Zoë 中 \U0001F600"), "Zoë 中 \U0001F600");
  EXPECT_EQ(EscapeXml(absl::string_view("\0\x01\t\x1b\x7f", 5)),
            "\uFFFD\uFFFD\t\uFFFD\x7f");
  // A byte alone, a cut character, an overlong one, a surrogate, U+FFFF.
  EXPECT_EQ(EscapeXml("\xff|\xc3|\xe2\x82"), "\uFFFD|\uFFFD|\uFFFD\uFFFD");
  EXPECT_EQ(EscapeXml("\xc0\x80|\xef\xbf\xbf|\xed\xa0\x80"),
            "\uFFFD\uFFFD|\uFFFD|\uFFFD");
  // No character begins like this, though its last bits spell U+10000.
  EXPECT_EQ(EscapeXml("\xf8\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(XmlTextTest, ShortensByCharactersNotBytes) {
  EXPECT_EQ(Shorten("äöüß", 4), "äöüß");
  EXPECT_EQ(Shorten("äöüßx", 4), "äöü…");
  EXPECT_EQ(Shorten("", 4), "");
  EXPECT_EQ(CountCharacters("äöüß"), 4u);
  EXPECT_EQ(CountCharacters("\xff\xff"), 2u);
}

}  // namespace
}  // namespace sortition
