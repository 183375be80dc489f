#include "core/base/field_range.h"

#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace sortition {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// "DCG (1), LINEAR (2) or CUSTOM (3)": all values but 0.
std::string SpecifiedValues(const EnumDescriptor& type) {
  std::vector<std::string> values;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() == 0) continue;
    values.push_back(absl::StrCat(type.value(i)->name(), " (",
                                  type.value(i)->number(), ")"));
  }
  if (values.size() < 2) return absl::StrJoin(values, "");
  const std::string last = std::move(values.back());
  values.pop_back();
  return absl::StrCat(absl::StrJoin(values, ", "), " or ", last);
}

std::string IntervalText(const FieldRange& range) {
  if (range.min.has_value() && range.max.has_value()) {
    return absl::StrCat(range.above_min ? "(" : "[", NumberText(*range.min),
                        ", ", NumberText(*range.max), "]");
  }
  if (range.min.has_value()) {
    return absl::StrCat(range.above_min ? "above " : "at least ",
                        NumberText(*range.min));
  }
  if (range.max.has_value()) {
    return absl::StrCat("at most ", NumberText(*range.max));
  }
  return "finite";
}

// Returns the number in a singular field, or number `index` of a repeated one.
// Requires a number or an enum.
double NumberAt(const Message& message, const FieldDescriptor* field,
                int index) {
  const auto number = [&](auto get, auto get_repeated) {
    const Reflection& read = *message.GetReflection();
    return static_cast<double>(field->is_repeated()
                                   ? (read.*get_repeated)(message, field, index)
                                   : (read.*get)(message, field));
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return number(&Reflection::GetInt32, &Reflection::GetRepeatedInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return number(&Reflection::GetInt64, &Reflection::GetRepeatedInt64);
    case FieldDescriptor::CPPTYPE_UINT32:
      return number(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32);
    case FieldDescriptor::CPPTYPE_UINT64:
      return number(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return number(&Reflection::GetFloat, &Reflection::GetRepeatedFloat);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return number(&Reflection::GetDouble, &Reflection::GetRepeatedDouble);
    default:
      return number(&Reflection::GetEnumValue,
                    &Reflection::GetRepeatedEnumValue);
  }
}

bool IsNumberOrEnum(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
    case FieldDescriptor::CPPTYPE_STRING:
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return false;
    default:
      return true;
  }
}

bool IsAbsent(const Message& message, const FieldDescriptor& field) {
  return field.has_presence() &&
         !message.GetReflection()->HasField(message, &field);
}

int NumValues(const Message& message, const FieldDescriptor& field) {
  return field.is_repeated()
             ? message.GetReflection()->FieldSize(message, &field)
             : 1;
}

// Returns the place of value `index`: "[3]" in a repeated field, else "".
std::string IndexText(const FieldDescriptor& field, int index) {
  return field.is_repeated() ? absl::StrCat("[", index, "]") : "";
}

std::optional<FieldOutOfRange> FindNumber(const Message& message,
                                          const FieldDescriptor& field,
                                          const FieldRange& range) {
  for (int i = 0; i < NumValues(message, field); ++i) {
    const double value = NumberAt(message, &field, i);
    if (range.Contains(value)) continue;
    return FieldOutOfRange{absl::StrCat(field.name(), IndexText(field, i)),
                           value, range};
  }
  return std::nullopt;
}

std::optional<FieldOutOfRange> FindInSubMessages(const Message& message,
                                                 const FieldDescriptor& field,
                                                 RangeOfField range_of) {
  const Reflection& read = *message.GetReflection();
  for (int i = 0; i < NumValues(message, field); ++i) {
    std::optional<FieldOutOfRange> found = FindOutOfRange(
        field.is_repeated() ? read.GetRepeatedMessage(message, &field, i)
                            : read.GetMessage(message, &field),
        range_of);
    if (!found.has_value()) continue;
    found->path =
        absl::StrCat(field.name(), IndexText(field, i), ".", found->path);
    return found;
  }
  return std::nullopt;
}

}  // namespace

bool FieldRange::Contains(double value) const {
  if (!std::isfinite(value)) return false;
  if (specified != nullptr) {
    const EnumDescriptor& type = *specified;
    return value != 0 &&
           type.FindValueByNumber(static_cast<int>(value)) != nullptr;
  }
  if (value == 0 && !zero.empty()) return true;
  if (min.has_value() && (above_min ? value <= *min : value < *min)) {
    return false;
  }
  return !max.has_value() || value <= *max;
}

std::string FieldRange::Text() const {
  if (specified != nullptr) return SpecifiedValues(*specified);
  const std::string interval = IntervalText(*this);
  return zero.empty() ? interval : absl::StrCat(interval, ", or 0 for ", zero);
}

std::optional<FieldOutOfRange> FindOutOfRange(const Message& message,
                                              RangeOfField range_of) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (IsAbsent(message, field)) continue;
    std::optional<FieldOutOfRange> found;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      found = FindInSubMessages(message, field, range_of);
    } else if (IsNumberOrEnum(field)) {
      const std::optional<FieldRange> range = range_of(field);
      if (range.has_value()) found = FindNumber(message, field, *range);
    }
    if (found.has_value()) return found;
  }
  return std::nullopt;
}

absl::Status CheckInRange(absl::string_view field, double value,
                          const FieldRange& range) {
  if (range.Contains(value)) return absl::OkStatus();
  const bool interval = range.specified == nullptr && range.min.has_value() &&
                        range.max.has_value();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", NumberText(value), ", must be ",
                   interval ? "in " : "", range.Text()));
}

std::string NumberText(double value) {
  // Up to here every whole number is a double.
  constexpr double kExactIntegers = 9007199254740992.0;
  if (std::abs(value) < kExactIntegers && value == std::floor(value)) {
    return absl::StrFormat("%.0f", value);
  }
  return absl::StrFormat("%.15g", value);
}

}  // namespace sortition
