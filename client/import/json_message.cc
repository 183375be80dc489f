#include "client/import/json_message.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/reflection.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

absl::Status Malformed(const FieldDescriptor& field, const JsonValue& value) {
  return absl::InvalidArgumentError(
      absl::StrCat(field.name(), " is ", Describe(value), ", must be of type ",
                   field.type_name()));
}

template <typename Number>
bool ReadNumber(const JsonValue& value, Number* number) {
  if (!value.IsString()) return false;
  if (IsNumber(value)) return ParseNumber(TextOf(value), number);
  if constexpr (std::is_floating_point_v<Number>) {
    using Limits = std::numeric_limits<Number>;
    const absl::string_view text = TextOf(value);
    if (text == "NaN") *number = Limits::quiet_NaN();
    if (text == "Infinity") *number = Limits::infinity();
    if (text == "-Infinity") *number = -Limits::infinity();
    if (!std::isfinite(*number)) return true;
  }
  return ParseNumber(TextOf(value), number);
}

bool ReadBool(const JsonValue& value, bool* flag) {
  if (!value.IsBool()) return false;
  *flag = value.GetBool();
  return true;
}

// Whether a whole number stands where an id belongs, whose digits are its text.
bool IsWholeId(const JsonValue& value, const FieldDescriptor& field) {
  return (absl::EndsWith(field.name(), "_id") ||
          absl::EndsWith(field.name(), "_ids")) &&
         IdText(value, field.name()).ok();
}

bool ReadEnum(const FieldDescriptor& field, const JsonValue& value,
              int* number) {
  if (IsNumber(value)) return ParseNumber(TextOf(value), number);
  if (!IsText(value)) return false;
  const auto* found =
      field.enum_type()->FindValueByName(std::string(TextOf(value)));
  if (found == nullptr) return false;
  *number = found->number();
  return true;
}

// Sets or adds a number.
template <typename Number>
bool Put(const JsonValue& value, const FieldDescriptor& field, Message* message,
         void (google::protobuf::Reflection::*set)(Message*,
                                                   const FieldDescriptor*,
                                                   Number) const) {
  Number number = 0;
  if (!ReadNumber(value, &number)) return false;
  (message->GetReflection()->*set)(message, &field, number);
  return true;
}

template <typename Number>
bool AddAll(const JsonValue& array, const FieldDescriptor& field,
            Message* message) {
  const auto values =
      message->GetReflection()->GetMutableRepeatedFieldRef<Number>(message,
                                                                   &field);
  for (const JsonValue& value : array.GetArray()) {
    Number number = 0;
    if (!ReadNumber(value, &number)) return false;
    values.Add(number);
  }
  return true;
}

absl::Status ReadSingle(const JsonValue& value, const FieldDescriptor& field,
                        Message* message) {
  using google::protobuf::Reflection;
  const Reflection& reflection = *message->GetReflection();
  bool good = false;
  bool flag = false;
  int number = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      good = Put<int32_t>(value, field, message, &Reflection::SetInt32);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      good = Put<uint32_t>(value, field, message, &Reflection::SetUInt32);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      good = Put<int64_t>(value, field, message, &Reflection::SetInt64);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      good = Put<uint64_t>(value, field, message, &Reflection::SetUInt64);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      good = Put<double>(value, field, message, &Reflection::SetDouble);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      good = Put<float>(value, field, message, &Reflection::SetFloat);
      break;
    case FieldDescriptor::CPPTYPE_BOOL:
      good = ReadBool(value, &flag);
      if (good) reflection.SetBool(message, &field, flag);
      break;
    case FieldDescriptor::CPPTYPE_ENUM:
      good = ReadEnum(field, value, &number);
      if (good) reflection.SetEnumValue(message, &field, number);
      break;
    case FieldDescriptor::CPPTYPE_STRING:
      good = IsText(value) || IsWholeId(value, field);
      if (good) {
        reflection.SetString(message, &field, std::string(TextOf(value)));
      }
      break;
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!value.IsObject()) break;
      return ReadMessage(value, reflection.MutableMessage(message, &field));
  }
  return good ? absl::OkStatus() : Malformed(field, value);
}

// Elements of types that have no RepeatedField of numbers.
absl::Status AddOne(const JsonValue& value, const FieldDescriptor& field,
                    Message* message) {
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  bool flag = false;
  int number = 0;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!ReadBool(value, &flag)) return Malformed(field, value);
      reflection.AddBool(message, &field, flag);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_ENUM:
      if (!ReadEnum(field, value, &number)) return Malformed(field, value);
      reflection.AddEnumValue(message, &field, number);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_STRING:
      if (!IsText(value) && !IsWholeId(value, field)) {
        return Malformed(field, value);
      }
      reflection.AddString(message, &field, std::string(TextOf(value)));
      return absl::OkStatus();
    default:
      if (!value.IsObject()) return Malformed(field, value);
      return ReadMessage(value, reflection.AddMessage(message, &field));
  }
}

// Reads an object. Maps of the log have strings as keys.
absl::Status ReadMap(const JsonValue& object, const FieldDescriptor& field,
                     Message* message) {
  if (!object.IsObject()) return Malformed(field, object);
  const auto& entry = *field.message_type();
  std::set<std::string> keys;
  for (const auto& member : object.GetObject()) {
    const std::string key(member.name.GetString(),
                          member.name.GetStringLength());
    if (!keys.insert(key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(field.name(), " has '", Shown(key), "' twice"));
    }
    Message* const pair = message->GetReflection()->AddMessage(message, &field);
    pair->GetReflection()->SetString(pair, entry.map_key(), key);
    RETURN_IF_ERROR(ReadSingle(member.value, *entry.map_value(), pair));
  }
  return absl::OkStatus();
}

absl::Status ReadRepeated(const JsonValue& array, const FieldDescriptor& field,
                          Message* message) {
  if (!array.IsArray()) return Malformed(field, array);
  bool good = false;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      good = AddAll<int32_t>(array, field, message);
      break;
    case FieldDescriptor::CPPTYPE_UINT32:
      good = AddAll<uint32_t>(array, field, message);
      break;
    case FieldDescriptor::CPPTYPE_INT64:
      good = AddAll<int64_t>(array, field, message);
      break;
    case FieldDescriptor::CPPTYPE_UINT64:
      good = AddAll<uint64_t>(array, field, message);
      break;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      good = AddAll<double>(array, field, message);
      break;
    case FieldDescriptor::CPPTYPE_FLOAT:
      good = AddAll<float>(array, field, message);
      break;
    default:
      for (const JsonValue& value : array.GetArray()) {
        RETURN_IF_ERROR(AddOne(value, field, message));
      }
      return absl::OkStatus();
  }
  return good ? absl::OkStatus()
              : absl::InvalidArgumentError(absl::StrCat(
                    field.name(), " has an element that is no number of type ",
                    field.type_name()));
}

}  // namespace

absl::Status ReadMessage(const JsonValue& object, Message* message) {
  const google::protobuf::Descriptor& type = *message->GetDescriptor();
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  std::string name;
  for (const auto& member : object.GetObject()) {
    name.assign(member.name.GetString(), member.name.GetStringLength());
    const FieldDescriptor* field = type.FindFieldByName(name);
    // Most protobuf libraries write decisionId for decision_id by default.
    if (field == nullptr) field = type.FindFieldByCamelcaseName(name);
    if (field == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(type.name(), " has no field '", Shown(name), "'"));
    }
    const bool is_repeated = field->is_repeated();
    if (is_repeated ? reflection.FieldSize(*message, field) > 0
                    : reflection.HasField(*message, field)) {
      return absl::InvalidArgumentError(
          absl::StrCat("field '", name, "' is given twice"));
    }
    RETURN_IF_ERROR(field->is_map() ? ReadMap(member.value, *field, message)
                    : is_repeated ? ReadRepeated(member.value, *field, message)
                                  : ReadSingle(member.value, *field, message));
  }
  return absl::OkStatus();
}

}  // namespace sortition
