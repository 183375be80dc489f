#include "io/text/json_line.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"
#include "rapidjson/error/en.h"

namespace sortition {
namespace {

// More than this is allocated line by line.
constexpr size_t kMemoryBytes = size_t{1} << 17;

absl::Status Wrong(absl::string_view name, const JsonValue& value,
                   absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", Describe(value), ", must be ", permitted));
}

}  // namespace

JsonLine::JsonLine()
    : memory_(kMemoryBytes),
      allocator_(memory_.data(), memory_.size()),
      document_(&allocator_) {}

absl::StatusOr<const JsonValue*> JsonLine::Parse(const InputLine& line) {
  // Without recursion: lines come from outside, and may be deeply nested.
  constexpr unsigned kFlags = rapidjson::kParseInsituFlag |
                              rapidjson::kParseNumbersAsStringsFlag |
                              rapidjson::kParseIterativeFlag;
  if (std::memchr(line.data, 0, line.size) != nullptr) {
    return absl::InvalidArgumentError("the line has a zero byte");
  }
  if (!line.IsUtf8()) {
    return absl::InvalidArgumentError("the line is not UTF-8");
  }
  document_.SetNull();
  allocator_.Clear();
  document_.ParseInsitu<kFlags>(line.data);
  if (document_.HasParseError()) {
    return absl::InvalidArgumentError(
        absl::StrCat("column ", document_.GetErrorOffset() + 1, ": ",
                     rapidjson::GetParseError_En(document_.GetParseError())));
  }
  if (!document_.IsObject()) {
    return absl::InvalidArgumentError("the line is not a JSON object");
  }
  return &document_;
}

bool IsNumber(const JsonValue& value) {
  // The view of a string begins behind its quote.
  return value.IsString() && value.GetString()[-1] != '"';
}

bool IsText(const JsonValue& value) {
  return value.IsString() && value.GetString()[-1] == '"';
}

const JsonValue* FindMember(const JsonValue& object, const char* name) {
  if (!object.IsObject()) return nullptr;
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

std::string Describe(const JsonValue& value) {
  if (IsNumber(value)) return Shown(TextOf(value));
  if (IsText(value)) return absl::StrCat("\"", Shown(TextOf(value)), "\"");
  if (value.IsBool()) return value.GetBool() ? "true" : "false";
  if (value.IsArray()) return absl::StrCat("an array of ", value.Size());
  return value.IsObject() ? "an object" : "null";
}

absl::StatusOr<double> FiniteNumber(const JsonValue& value,
                                    absl::string_view name) {
  double number = 0;
  if (!IsNumber(value) || !ParseNumber(TextOf(value), &number)) {
    return Wrong(name, value, "a finite number");
  }
  return number;
}

absl::StatusOr<absl::string_view> Text(const JsonValue& value,
                                       absl::string_view name) {
  if (!IsText(value)) return Wrong(name, value, "a string");
  return TextOf(value);
}

absl::StatusOr<absl::string_view> IdText(const JsonValue& value,
                                         absl::string_view name) {
  if (IsText(value)) return TextOf(value);
  // Which digits another form, such as 1e6, had elsewhere is not known.
  if (!IsNumber(value) || TextOf(value).find_first_not_of("-0123456789") !=
                              absl::string_view::npos) {
    return Wrong(name, value, "a string or a whole number in digits");
  }
  return TextOf(value);
}

absl::StatusOr<int32_t> Integer(const JsonValue& value,
                                absl::string_view name) {
  int32_t number = 0;
  if (!IsNumber(value) || !ParseNumber(TextOf(value), &number)) {
    return Wrong(name, value, "an integer");
  }
  return number;
}

absl::Status AppendFloats(const JsonValue& array, absl::string_view name,
                          google::protobuf::RepeatedField<float>* values) {
  if (!array.IsArray()) return Wrong(name, array, "an array of numbers");
  values->Reserve(values->size() + static_cast<int>(array.Size()));
  for (const JsonValue& value : array.GetArray()) {
    float number = 0;
    if (!IsNumber(value) || !ParseNumber(TextOf(value), &number)) {
      return Wrong(name, value, "a finite number");
    }
    values->AddAlreadyReserved(number);
  }
  return absl::OkStatus();
}

}  // namespace sortition
