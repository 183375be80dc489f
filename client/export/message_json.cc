#include "client/export/message_json.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/export/text_values.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/reflection.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {
namespace {

// Returns true for the 0 that ListFields() leaves out, which -0.0 is not.
bool IsPlainZero(double value) { return value == 0 && !std::signbit(value); }

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// 64-bit integers are strings in protobuf's JSON.
template <typename Integer>
void AppendQuoted(Integer value, std::string* out) {
  out->push_back('"');
  AppendNumber(value, out);
  out->push_back('"');
}

void AppendBool(bool value, std::string* out) {
  out->append(value ? "true" : "false");
}

void AppendEnum(const google::protobuf::EnumDescriptor& type, int number,
                std::string* out) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return AppendNumber(number, out);
  AppendJsonString(value->name(), out);
}

void AppendSingle(const Message& message, const Reflection& reflection,
                  const FieldDescriptor& field, std::string* out) {
  std::string scratch;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return AppendNumber(reflection.GetInt32(message, &field), out);
    case FieldDescriptor::CPPTYPE_UINT32:
      return AppendNumber(reflection.GetUInt32(message, &field), out);
    case FieldDescriptor::CPPTYPE_INT64:
      return AppendQuoted(reflection.GetInt64(message, &field), out);
    case FieldDescriptor::CPPTYPE_UINT64:
      return AppendQuoted(reflection.GetUInt64(message, &field), out);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return AppendJsonNumber(reflection.GetDouble(message, &field), out);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return AppendJsonNumber(reflection.GetFloat(message, &field), out);
    case FieldDescriptor::CPPTYPE_BOOL:
      return AppendBool(reflection.GetBool(message, &field), out);
    case FieldDescriptor::CPPTYPE_ENUM:
      return AppendEnum(*field.enum_type(),
                        reflection.GetEnumValue(message, &field), out);
    case FieldDescriptor::CPPTYPE_STRING:
      return AppendJsonString(
          reflection.GetStringReference(message, &field, &scratch), out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return AppendMessageJson(reflection.GetMessage(message, &field), out);
  }
}

void AppendFloatArray(const Message& message, const Reflection& reflection,
                      const FieldDescriptor& field, std::string* out) {
  const auto values = reflection.GetRepeatedFieldRef<float>(message, &field);
  std::vector<float> row(static_cast<size_t>(values.size()));
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = values.Get(static_cast<int>(i));
  }
  out->push_back('[');
  if (std::all_of(row.begin(), row.end(),
                  [](float value) { return std::isfinite(value); })) {
    AppendFloats(row, out);
  } else {
    for (const float value : row) {
      if (out->back() != '[') out->push_back(',');
      AppendJsonNumber(value, out);
    }
  }
  out->push_back(']');
}

template <typename T, typename Append>
void AppendArray(const Message& message, const Reflection& reflection,
                 const FieldDescriptor& field, const Append& append,
                 std::string* out) {
  const auto values = reflection.GetRepeatedFieldRef<T>(message, &field);
  for (int i = 0; i < values.size(); ++i) {
    out->push_back(i == 0 ? '[' : ',');
    append(values.Get(i));
  }
  out->push_back(']');
}

// As an object, by ascending keys. Maps of the log have strings as keys.
void AppendMap(const Message& message, const Reflection& reflection,
               const FieldDescriptor& field, std::string* out) {
  const auto& entry = *field.message_type();
  std::map<std::string, std::string> members;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    const Message& pair = reflection.GetRepeatedMessage(message, &field, i);
    const Reflection& of_pair = *pair.GetReflection();
    AppendSingle(pair, of_pair, *entry.map_value(),
                 &members[of_pair.GetString(pair, entry.map_key())]);
  }
  out->push_back('{');
  for (const auto& [key, value] : members) {
    if (out->back() != '{') out->push_back(',');
    AppendJsonString(key, out);
    absl::StrAppend(out, ":", value);
  }
  out->push_back('}');
}

void AppendRepeated(const Message& message, const Reflection& reflection,
                    const FieldDescriptor& field, std::string* out) {
  const auto number = [out](auto value) { AppendJsonNumber(value, out); };
  const auto quoted = [out](auto value) { AppendQuoted(value, out); };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return AppendArray<int32_t>(message, reflection, field, number, out);
    case FieldDescriptor::CPPTYPE_UINT32:
      return AppendArray<uint32_t>(message, reflection, field, number, out);
    case FieldDescriptor::CPPTYPE_INT64:
      return AppendArray<int64_t>(message, reflection, field, quoted, out);
    case FieldDescriptor::CPPTYPE_UINT64:
      return AppendArray<uint64_t>(message, reflection, field, quoted, out);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return AppendArray<double>(message, reflection, field, number, out);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return AppendFloatArray(message, reflection, field, out);
    case FieldDescriptor::CPPTYPE_BOOL:
      return AppendArray<bool>(
          message, reflection, field,
          [out](bool value) { AppendBool(value, out); }, out);
    case FieldDescriptor::CPPTYPE_ENUM:
      return AppendArray<int32_t>(
          message, reflection, field,
          [&](int value) { AppendEnum(*field.enum_type(), value, out); }, out);
    case FieldDescriptor::CPPTYPE_STRING:
      return AppendArray<std::string>(
          message, reflection, field,
          [out](const std::string& value) { AppendJsonString(value, out); },
          out);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  const int size = reflection.FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    out->push_back(i == 0 ? '[' : ',');
    AppendMessageJson(reflection.GetRepeatedMessage(message, &field, i), out);
  }
  out->push_back(']');
}

}  // namespace

void AppendMessageJson(const Message& message, std::string* out) {
  std::vector<const FieldDescriptor*> fields;
  // Asked once: it is looked up.
  const Reflection& reflection = *message.GetReflection();
  reflection.ListFields(message, &fields);
  out->push_back('{');
  for (const FieldDescriptor* field : fields) {
    if (field != fields.front()) out->push_back(',');
    out->push_back('"');
    out->append(field->name());
    out->append("\":");
    if (field->is_map()) {
      AppendMap(message, reflection, *field, out);
    } else if (field->is_repeated()) {
      AppendRepeated(message, reflection, *field, out);
    } else {
      AppendSingle(message, reflection, *field, out);
    }
  }
  // A propensity of 1 must not look like a missing one.
  if (message.GetDescriptor() == log::v1::Decision::descriptor() &&
      IsPlainZero(
          static_cast<const log::v1::Decision&>(message).log_propensity())) {
    out->append(fields.empty() ? "\"log_propensity\":0"
                               : ",\"log_propensity\":0");
  }
  out->push_back('}');
}

}  // namespace sortition
