#include "process/json_writer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "google/protobuf/util/json_util.h"

namespace sortition {

JsonWriter& JsonWriter::Append(absl::string_view value) {
  absl::StrAppend(&text_, need_comma_ ? "," : "", value);
  need_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginObject() {
  Append("{");
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  need_comma_ = false;
  return Append("}");
}

JsonWriter& JsonWriter::BeginArray() {
  Append("[");
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  need_comma_ = false;
  return Append("]");
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  String(key);
  text_ += ':';
  need_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  quoted += '"';
  return Append(quoted);
}

JsonWriter& JsonWriter::Number(double value) {
  if (!std::isfinite(value)) return Append("null");
  // The shortest of the two that reads back as the same double.
  std::string text = absl::StrFormat("%.15g", value);
  if (std::stod(text) != value) text = absl::StrFormat("%.17g", value);
  return Append(text);
}

JsonWriter& JsonWriter::Count(uint64_t value) {
  return Append(absl::StrCat(value));
}

JsonWriter& JsonWriter::Signed(int64_t value) {
  return Append(absl::StrCat(value));
}

JsonWriter& JsonWriter::Bool(bool value) {
  return Append(value ? "true" : "false");
}

JsonWriter& JsonWriter::Raw(absl::string_view json) { return Append(json); }

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  CHECK(google::protobuf::util::MessageToJsonString(message, &text, options)
            .ok());
  return text;
}

}  // namespace sortition
