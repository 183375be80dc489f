#include "process/json_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace sortition {
namespace {

// Sees the parts of a document. Returning false ends the parse.
class Checker
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Checker> {
 public:
  bool StartObject() { return Enter(); }
  bool EndObject(rapidjson::SizeType) { return Leave(); }
  bool StartArray() { return Enter(); }
  bool EndArray(rapidjson::SizeType) { return Leave(); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    Keys& keys = levels_.back();
    if (keys.size() == kMaxJsonKeys) {
      problem_ = absl::StrCat("more than ", kMaxJsonKeys, " keys in an object");
      return false;
    }
    if (keys.insert(std::string(text, size)).second) return true;
    problem_ = absl::StrCat("key \"", absl::string_view(text, size),
                            "\" stands there twice in one object");
    return false;
  }

  const std::string& problem() const { return problem_; }

 private:
  using Keys = absl::flat_hash_set<std::string>;

  bool Enter() {
    levels_.emplace_back();
    if (levels_.size() <= kMaxJsonDepth) return true;
    problem_ =
        absl::StrCat("nested more than ", kMaxJsonDepth, " objects deep");
    return false;
  }
  bool Leave() {
    levels_.pop_back();
    return true;
  }

  std::vector<Keys> levels_;  // The objects and arrays that are open.
  std::string problem_;
};

// Returns "line 2, column 7" for the byte at `offset`.
std::string PlaceOf(absl::string_view json, size_t offset) {
  const absl::string_view before = json.substr(0, offset);
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const size_t line_start = before.rfind('\n');
  const size_t column = line_start == absl::string_view::npos
                            ? before.size()
                            : before.size() - line_start - 1;
  return absl::StrCat("line ", lines + 1, ", column ", column + 1);
}

// Returns how JSON writes the byte `c` inside a text, where it must not stand
// as it is.
std::string EscapeHint(char c) {
  switch (c) {
    case '\n':
    case '\r':
      return "; a line break inside a text must be written \\n, or the closing "
             "double quote is missing";
    case '\t':
      return "; a tab inside a text must be written \\t";
    default:
      return absl::StrFormat(
          "; the control character 0x%02x inside a text must be written "
          "\\u%04x",
          static_cast<unsigned char>(c), static_cast<unsigned char>(c));
  }
}

// Returns what is wrong inside a text of which `rest` is the part that was not
// read; empty: the error is another one.
std::string TextHint(rapidjson::ParseErrorCode code, absl::string_view rest) {
  const bool is_escape = code == rapidjson::kParseErrorStringEscapeInvalid;
  const bool is_encoding = code == rapidjson::kParseErrorStringInvalidEncoding;
  if (rest.empty() || !(is_escape || is_encoding)) return "";
  // The parser reports control characters as either of the two.
  if (absl::ascii_iscntrl(static_cast<unsigned char>(rest[0]))) {
    return EscapeHint(rest[0]);
  }
  return is_escape ? "; a backslash inside a text must be written \\\\"
                   : "; the JSON must be in UTF-8";
}

// Returns what JSON has in place of what `rest` begins with, which other
// languages take; empty: it is nothing of that kind. `before` is the text that
// was read.
std::string SyntaxHint(absl::string_view before, absl::string_view rest) {
  before = absl::StripTrailingAsciiWhitespace(before);
  const bool is_name =
      absl::EndsWith(before, "{") || absl::EndsWith(before, ",");
  if (rest.empty()) return "; the JSON ends early";
  if (absl::StartsWith(rest, "\xEF\xBB\xBF")) {
    return "; a byte order mark must not stand before the JSON";
  }
  if (rest[0] == '\'') return "; names and texts need double quotes";
  if (absl::EndsWith(before, ",") && (rest[0] == '}' || rest[0] == ']')) {
    return absl::StrCat("; no comma may stand before ", rest.substr(0, 1));
  }
  if (rest[0] == '/' || rest[0] == '#') return "; JSON has no comments";
  for (const absl::string_view word : {"NaN", "Infinity"}) {
    if (absl::StartsWith(rest, word)) {
      return absl::StrCat("; ", word, " is no number in JSON");
    }
  }
  for (const auto& [word, json] :
       {std::pair("True", "true"), std::pair("False", "false"),
        std::pair("None", "null"), std::pair("undefined", "null"),
        std::pair("nil", "null")}) {
    if (absl::StartsWith(rest, word)) {
      return absl::StrCat("; ", word, " is ", json, " in JSON");
    }
  }
  if (is_name && (absl::ascii_isalpha(rest[0]) || rest[0] == '_')) {
    return "; names and texts need double quotes";
  }
  return "";
}

}  // namespace

absl::Status CheckJson(absl::string_view json) {
  // The parser would take it for the end.
  const size_t zero = json.find('\0');
  if (zero != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON: at ", PlaceOf(json, zero), ": a byte 0"));
  }
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  Checker checker;
  // Numbers stay text: what they may be depends on their fields.
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag |
                              rapidjson::kParseValidateEncodingFlag |
                              rapidjson::kParseNumbersAsStringsFlag;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, checker);
  if (!result.IsError()) return absl::OkStatus();
  const size_t offset = std::min(result.Offset(), json.size());
  const std::string place = PlaceOf(json, offset);
  if (!checker.problem().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON: ", checker.problem(), ", at ", place));
  }
  std::string hint = TextHint(result.Code(), json.substr(offset));
  if (hint.empty()) {
    hint = SyntaxHint(json.substr(0, offset), json.substr(offset));
  }
  absl::string_view what = rapidjson::GetParseError_En(result.Code());
  if (!hint.empty()) absl::ConsumeSuffix(&what, ".");
  return absl::InvalidArgumentError(
      absl::StrCat("not JSON: at ", place, ": ", what, hint));
}

}  // namespace sortition
