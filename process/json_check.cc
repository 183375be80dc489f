#include "process/json_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
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
    if (keys_.back().emplace(text, size).second) return true;
    problem_ = absl::StrCat("key \"", absl::string_view(text, size),
                            "\" stands there twice in one object");
    return false;
  }

  const std::string& problem() const { return problem_; }

 private:
  bool Enter() {
    keys_.emplace_back();
    if (keys_.size() <= kMaxJsonDepth) return true;
    problem_ =
        absl::StrCat("nested more than ", kMaxJsonDepth, " objects deep");
    return false;
  }
  bool Leave() {
    keys_.pop_back();
    return true;
  }

  // Of the objects that are open; those of arrays stay empty.
  std::vector<absl::flat_hash_set<std::string>> keys_;
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
  const std::string place = PlaceOf(json, result.Offset());
  if (!checker.problem().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("JSON: ", checker.problem(), ", at ", place));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("not JSON: at ", place, ": ",
                   rapidjson::GetParseError_En(result.Code())));
}

}  // namespace sortition
