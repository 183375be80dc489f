#include "process/json_check.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Returns the field that a key names, in either spelling; null: none.
const FieldDescriptor* FindField(const Descriptor* type,
                                 absl::string_view key) {
  if (type == nullptr) return nullptr;
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* const field = type->field(i);
    if (key == absl::string_view(field->name()) ||
        key == absl::string_view(field->json_name())) {
      return field;
    }
  }
  return nullptr;
}

// Returns the type of the messages that a field holds, or its map: null where
// it holds none, or any JSON may stand there (google.protobuf.Struct).
const Descriptor* MessageOf(const FieldDescriptor* field) {
  if (field->is_map()) field = field->message_type()->map_value();
  const Descriptor* const type = field->message_type();
  return type == nullptr || type->file()->package() == "google.protobuf"
             ? nullptr
             : type;
}

bool IsNumber(const FieldDescriptor* field) {
  if (field->is_map()) field = field->message_type()->map_value();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return true;
    default:
      return false;
  }
}

// Takes the digits that `text` begins with away; false: there are none.
bool TakeDigits(absl::string_view* text) {
  const size_t before = text->size();
  while (!text->empty() && absl::ascii_isdigit(text->front())) {
    text->remove_prefix(1);
  }
  return text->size() < before;
}

// Whether `text` could stand in JSON as a number, or is one of the three that
// could not. Protobuf takes hexadecimal digits, signs and blanks as well.
bool IsNumberText(absl::string_view text) {
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") return true;
  absl::ConsumePrefix(&text, "-");
  if (!TakeDigits(&text)) return false;
  if (absl::ConsumePrefix(&text, ".") && !TakeDigits(&text)) return false;
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    if (!TakeDigits(&text)) return false;
  }
  return text.empty();
}

// Sees the parts of a document. Returning false ends the parse.
class Checker
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, Checker> {
 public:
  explicit Checker(const Descriptor* type) : type_(type) {}

  bool Null() {
    if (levels_.empty() || levels_.back().field == nullptr ||
        levels_.back().kind == Kind::kMessage) {
      return true;
    }
    return Refuse("must have no entry null");
  }
  bool Bool(bool) { return TakeScalar(); }
  bool RawNumber(const char*, rapidjson::SizeType, bool) {
    return TakeScalar();
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    if (!TakeScalar()) return false;
    if (levels_.empty() || levels_.back().field == nullptr ||
        !IsNumber(levels_.back().field) || IsNumberText({text, size})) {
      return true;
    }
    return Refuse(absl::StrCat("is \"", absl::string_view(text, size),
                               "\": must be a decimal number, NaN, Infinity "
                               "or -Infinity"));
  }
  bool StartObject() {
    if (levels_.empty()) return Enter({.kind = Kind::kMessage, .type = type_});
    const FieldDescriptor* const field = levels_.back().field;
    if (field == nullptr) return Enter({.kind = Kind::kMessage});
    if (levels_.back().kind == Kind::kMessage) {
      if (field->is_map()) return Enter({.kind = Kind::kMap, .field = field});
      if (field->is_repeated()) return Refuse("must be a list");
    }
    return Enter({.kind = Kind::kMessage, .type = MessageOf(field)});
  }
  bool EndObject(rapidjson::SizeType) { return Leave(); }
  bool StartArray() {
    const FieldDescriptor* const field =
        levels_.empty() ? nullptr : levels_.back().field;
    if (field != nullptr) {
      if (levels_.back().kind != Kind::kMessage) {
        return Refuse("must have no list as an entry");
      }
      if (field->is_map()) return Refuse("must be an object");
      if (!field->is_repeated()) return Refuse("must be no list");
    }
    return Enter({.kind = Kind::kList, .field = field});
  }
  bool EndArray(rapidjson::SizeType) { return Leave(); }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    Level& level = levels_.back();
    std::string name(text, size);
    if (level.kind == Kind::kMessage) {
      level.field = FindField(level.type, name);
      // Two spellings are one key.
      if (level.field != nullptr) name = level.field->name();
      if (level.field != nullptr && level.field->message_type() != nullptr &&
          !level.field->is_map() && MessageOf(level.field) == nullptr) {
        level.field = nullptr;
      }
    }
    if (level.keys.size() == kMaxJsonKeys) {
      problem_ = absl::StrCat("more than ", kMaxJsonKeys, " keys in an object");
      return false;
    }
    if (level.keys.insert(name).second) return true;
    problem_ =
        absl::StrCat("key \"", name, "\" stands there twice in one object");
    return false;
  }

  const std::string& problem() const { return problem_; }

 private:
  enum class Kind { kMessage, kMap, kList };
  // An object or array that is open.
  struct Level {
    Kind kind;
    // Of the message; null: any key and any value may stand there.
    const Descriptor* type = nullptr;
    // Whose value or entry comes next; null: one of which nothing is known.
    const FieldDescriptor* field = nullptr;
    absl::flat_hash_set<std::string> keys = {};  // Of an object.
  };

  // Takes a value that is neither null, list nor object.
  bool TakeScalar() {
    if (levels_.empty() || levels_.back().field == nullptr ||
        levels_.back().kind != Kind::kMessage) {
      return true;
    }
    const FieldDescriptor* const field = levels_.back().field;
    if (field->is_map()) return Refuse("must be an object");
    if (field->is_repeated()) return Refuse("must be a list");
    return true;
  }
  // Says what is wrong with the value or entry that comes next.
  bool Refuse(absl::string_view what) {
    problem_ =
        absl::StrCat("field \"", levels_.back().field->name(), "\" ", what);
    return false;
  }
  bool Enter(Level level) {
    levels_.push_back(std::move(level));
    if (levels_.size() <= kMaxJsonDepth) return true;
    problem_ =
        absl::StrCat("nested more than ", kMaxJsonDepth, " objects deep");
    return false;
  }
  bool Leave() {
    levels_.pop_back();
    return true;
  }

  const Descriptor* const type_;
  std::vector<Level> levels_;
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

absl::Status CheckJson(absl::string_view json,
                       const google::protobuf::Descriptor* type) {
  // The parser would take it for the end.
  const size_t zero = json.find('\0');
  if (zero != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("not JSON: at ", PlaceOf(json, zero), ": a byte 0"));
  }
  rapidjson::MemoryStream stream(json.data(), json.size());
  rapidjson::Reader reader;
  Checker checker(type);
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
