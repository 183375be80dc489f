#include "server/http/json/json_tree.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "process/json_check.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace sortition {

absl::Status ParseJsonTree(absl::string_view json, rapidjson::Document* tree) {
  RETURN_IF_ERROR(CheckJson(json));
  rapidjson::MemoryStream stream(json.data(), json.size());
  constexpr unsigned kFlags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag;
  tree->ParseStream<kFlags>(stream);
  if (!tree->HasParseError()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "not JSON: ", rapidjson::GetParseError_En(tree->GetParseError())));
}

std::string IntegerText(const JsonValue& value) {
  return value.IsInt64() ? absl::StrCat(value.GetInt64())
                         : absl::StrCat(value.GetUint64());
}

std::string JsonText(const JsonValue& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer(text);
  value.Accept(writer);
  return {text.GetString(), text.GetSize()};
}

std::string ShownValue(const JsonValue& value) {
  constexpr size_t kMaxShownBytes = 32;
  switch (value.GetType()) {
    case rapidjson::kNullType:
      return " = null";
    case rapidjson::kFalseType:
      return " = false";
    case rapidjson::kTrueType:
      return " = true";
    case rapidjson::kObjectType:
      return " is an object";
    case rapidjson::kArrayType:
      return " is a list";
    case rapidjson::kNumberType:
      return absl::StrCat(" = ", IsInteger(value)
                                     ? IntegerText(value)
                                     : absl::StrCat(value.GetDouble()));
    case rapidjson::kStringType:
      break;
  }
  absl::string_view text = TextOf(value);
  const bool is_cut = text.size() > kMaxShownBytes;
  text = text.substr(0, kMaxShownBytes);
  // A sequence of UTF-8 stays whole.
  while (is_cut && !text.empty() && (text.back() & 0x80) != 0) {
    text.remove_suffix(1);
  }
  return absl::StrCat(" = \"", absl::Utf8SafeCEscape(text),
                      is_cut ? "…\"" : "\"");
}

std::string JsonPath::Text() const {
  if (steps_.empty()) return "the body";
  std::string text;
  for (const auto& step : steps_) {
    if (const auto* const index = std::get_if<size_t>(&step)) {
      absl::StrAppend(&text, "[", *index, "]");
    } else {
      absl::StrAppend(&text, text.empty() ? "" : ".",
                      std::get<absl::string_view>(step));
    }
  }
  return text;
}

std::string JsonPath::TextOfField(absl::string_view key) const {
  return steps_.empty() ? std::string(key) : absl::StrCat(Text(), ".", key);
}

absl::Status JsonPath::Refuse(const JsonValue& value,
                              absl::string_view must_be) const {
  return absl::InvalidArgumentError(
      absl::StrCat(Text(), ShownValue(value), ": must be ", must_be));
}

}  // namespace sortition
