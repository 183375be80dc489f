#include <bit>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "io/scorers/document_formats.h"
#include "io/scorers/tree_models.h"
#include "tests/io/scorers/tree_model_texts.h"
#include "tests/io/scorers/ubjson_writer.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;

// A text that is equal for equal documents.
std::string TextOf(const DocumentValue& value) {
  if (const auto* numbers = std::get_if<DocumentNumbers>(&value.content)) {
    std::string text = "[";
    for (const double number : *numbers) absl::StrAppend(&text, number, " ");
    return text + "]";
  }
  if (const auto* items = std::get_if<DocumentArray>(&value.content)) {
    std::string text = "[";
    for (const DocumentValue& item : *items)
      absl::StrAppend(&text, TextOf(item), " ");
    return text + "]";
  }
  if (const auto* members = std::get_if<DocumentObject>(&value.content)) {
    std::string text = "{";
    for (const auto& [name, member] : *members) {
      absl::StrAppend(&text, name, ":", TextOf(member), " ");
    }
    return text + "}";
  }
  return Describe(value);
}

TEST(JsonDocumentTest, RoundsNumbersOnce) {
  ASSERT_OK_AND_ASSIGN(const DocumentValue document,
                       ParseJsonDocument("[16777217, 0.1, -2.5e0, true, 1]"));
  const auto& numbers = std::get<DocumentNumbers>(document.content);
  EXPECT_EQ(numbers[0], 16777217);  // No float, but an integer.
  EXPECT_EQ(numbers[1], static_cast<double>(0.1f));
  EXPECT_EQ(numbers[2], -2.5);
  EXPECT_EQ(numbers[3], 1);
}

TEST(JsonDocumentTest, NamesTheByteOfAnError) {
  EXPECT_THAT(ParseJsonDocument(R"({"a": })"),
              IsInvalidArgument("byte 6: Invalid value"));
  EXPECT_THAT(ParseJsonDocument(std::string("{}\0", 3)),
              IsInvalidArgument("byte 2: a zero byte"));
  EXPECT_THAT(ParseJsonDocument(std::string(100, '[')),
              IsInvalidArgument("nested deeper than 64 levels"));
  EXPECT_THAT(ParseJsonDocument("[1, {}]"),
              IsInvalidArgument("an array has numbers and other"));
  EXPECT_THAT(ParseJsonDocument("[{}, 1]"),
              IsInvalidArgument("an array has numbers and other"));
  std::string many = "[";
  for (int i = 0; i < 2'000'000; ++i) many += "{},";
  EXPECT_THAT(ParseJsonDocument(many + "{}]"),
              IsInvalidArgument("more than 2000000 values"));
}

TEST(UbjsonDocumentTest, HoldsWhatJsonHolds) {
  for (const std::string& json :
       {XgboostJson(), XgboostCategoriesJson(), XgboostDartJson()}) {
    ASSERT_OK_AND_ASSIGN(const DocumentValue document, ParseJsonDocument(json));
    for (const bool typed : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const DocumentValue same,
                           ParseUbjsonDocument(UbjsonOf(document, typed)));
      EXPECT_EQ(TextOf(same), TextOf(document));
      EXPECT_OK(ParseTreeModel(UbjsonOf(document, typed)));
    }
  }
}

TEST(UbjsonDocumentTest, ReadsEveryKindOfNumber) {
  const std::string bytes(
      "[i\xff"                 // -1
      "U\xff"                  // 255
      "I\xff\xfe"              // -2
      "l\x80\0\0\0"            // -2^31
      "L\0\0\0\1\0\0\0\0"      // 2^32
      "d\x3f\xc0\0\0"          // 1.5
      "D\xbf\xe0\0\0\0\0\0\0"  // -0.5
      "TF]",
      1 + 2 + 2 + 3 + 5 + 9 + 5 + 9 + 3);
  ASSERT_OK_AND_ASSIGN(const DocumentValue document,
                       ParseUbjsonDocument(bytes));
  EXPECT_EQ(std::get<DocumentNumbers>(document.content),
            (DocumentNumbers{-1, 255, -2, -2147483648.0, 4294967296.0, 1.5,
                             -0.5, 1, 0}));
}

TEST(UbjsonDocumentTest, NamesTheByteOfAnError) {
  const auto refuses = [](absl::string_view bytes, const char* message) {
    EXPECT_THAT(ParseUbjsonDocument(bytes), IsInvalidArgument(message));
  };
  refuses("", "byte 0: the file ends, must have a value");
  refuses("{i\1aH", "byte 4: 'H', must be a value");
  refuses("{i\5ab", "byte 1: a length of 5, must be in [0, 2]");
  refuses("{i\xff", "byte 1: a length of -1, must be in");
  refuses("{S", "byte 1: 'S', must be a length");
  refuses("[$S#i\1", "byte 2: 'S', must be a kind of number");
  refuses("[$di\1", "byte 3: 'i', must be '#'");
  // Two floats are announced, and one is there.
  refuses("[$d#i\2abcd", "byte 4: a length of 2, must be in [0, 1]");
  refuses("[#i\1", "byte 2: a length of 1, must be in [0, 0]");
  refuses("[#i\1[", "byte 5: the file ends, must have a value");
  refuses("ZZ", "byte 1: 'Z', must be the end of the file");
  refuses(std::string(100, '['), "nested deeper than 64 levels");
  refuses("d\1\1", "must be a number");
}

TEST(UbjsonDocumentTest, NeverTakesPartOfAFile) {
  ASSERT_OK_AND_ASSIGN(const DocumentValue document,
                       ParseJsonDocument(XgboostJson()));
  const std::string whole = UbjsonOf(document, true);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(ParseTreeModel(whole.substr(0, size)),
                StatusIs(kInvalidArgument))
        << size;
  }
}

}  // namespace
}  // namespace sortition
