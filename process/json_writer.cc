#include "process/json_writer.h"

#include <cmath>

#include "core/base/check.h"
#include "google/protobuf/util/json_util.h"

namespace sortition {
namespace {

// RapidJSON refuses null pointers, which empty views may hold.
const char* Data(absl::string_view text) {
  return text.empty() ? "" : text.data();
}

rapidjson::SizeType Size(absl::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

}  // namespace

JsonWriter& JsonWriter::BeginObject() {
  writer_.StartObject();
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  writer_.EndObject();
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  writer_.StartArray();
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  writer_.EndArray();
  return *this;
}

JsonWriter& JsonWriter::Key(absl::string_view key) {
  writer_.Key(Data(key), Size(key));
  return *this;
}

JsonWriter& JsonWriter::String(absl::string_view value) {
  writer_.String(Data(value), Size(value));
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  std::isfinite(value) ? writer_.Double(value) : writer_.Null();
  return *this;
}

JsonWriter& JsonWriter::Count(uint64_t value) {
  writer_.Uint64(value);
  return *this;
}

JsonWriter& JsonWriter::Signed(int64_t value) {
  writer_.Int64(value);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  writer_.Bool(value);
  return *this;
}

JsonWriter& JsonWriter::Raw(absl::string_view json) {
  // The type matters for keys only.
  writer_.RawValue(Data(json), json.size(), rapidjson::kObjectType);
  return *this;
}

std::string MessageJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string text;
  CHECK(google::protobuf::util::MessageToJsonString(message, &text, options)
            .ok());
  return text;
}

}  // namespace sortition
