#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "process/options/option_fields.h"
#include "process/options/options.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

absl::Status CheckNumber(const FieldDescriptor& field, const std::string& path,
                         double value) {
  const config::v1::OptionInfo& info = internal::InfoOf(field);
  const bool below = info.has_min() && (info.above_min() ? value <= info.min()
                                                         : value < info.min());
  const bool above = info.has_max() && value > info.max();
  if (std::isfinite(value) && !below && !above) return absl::OkStatus();
  const std::string range = internal::RangeText(info);
  return absl::InvalidArgumentError(
      absl::StrCat("option ", path, " = ", internal::NumberText(value),
                   ": permitted range is ", range.empty() ? "finite" : range));
}

std::vector<double> Numbers(const Message& message, const FieldDescriptor* f) {
  const Reflection* reflection = message.GetReflection();
  const bool repeated = f->is_repeated();
  const int count = repeated ? reflection->FieldSize(message, f) : 1;
  std::vector<double> numbers;
  for (int i = 0; i < count; ++i) {
    switch (f->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        numbers.push_back(repeated ? reflection->GetRepeatedInt32(message, f, i)
                                   : reflection->GetInt32(message, f));
        break;
      case FieldDescriptor::CPPTYPE_INT64:
        numbers.push_back(static_cast<double>(
            repeated ? reflection->GetRepeatedInt64(message, f, i)
                     : reflection->GetInt64(message, f)));
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        numbers.push_back(repeated
                              ? reflection->GetRepeatedUInt32(message, f, i)
                              : reflection->GetUInt32(message, f));
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        numbers.push_back(static_cast<double>(
            repeated ? reflection->GetRepeatedUInt64(message, f, i)
                     : reflection->GetUInt64(message, f)));
        break;
      case FieldDescriptor::CPPTYPE_FLOAT:
        numbers.push_back(repeated ? reflection->GetRepeatedFloat(message, f, i)
                                   : reflection->GetFloat(message, f));
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        numbers.push_back(repeated
                              ? reflection->GetRepeatedDouble(message, f, i)
                              : reflection->GetDouble(message, f));
        break;
      default:
        return {};
    }
  }
  return numbers;
}

bool IsSet(const Message& message, const FieldDescriptor* field) {
  const Reflection* reflection = message.GetReflection();
  return field->is_repeated() ? reflection->FieldSize(message, field) > 0
                              : reflection->HasField(message, field);
}

// Appends what is wrong if a required option is unset or empty.
void AddIfMissing(const Message& message, const FieldDescriptor* field,
                  const std::string& path, std::vector<std::string>* missing) {
  const config::v1::OptionInfo& info = internal::InfoOf(*field);
  if (!info.required()) return;
  std::string scratch;
  const bool empty = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
                     !field->is_repeated() &&
                     message.GetReflection()
                         ->GetStringReference(message, field, &scratch)
                         .empty();
  if (IsSet(message, field) && !empty) return;
  missing->push_back(absl::StrCat(
      "option ", path, empty && IsSet(message, field) ? " = \"\"" : " is unset",
      ": required, not empty (--", path, ": ", info.help(), ")"));
}

// Names all required options of a group that are missing.
absl::Status CheckRequired(const Message& message, const std::string& prefix) {
  std::vector<std::string> missing;
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) continue;
    AddIfMissing(message, field, absl::StrCat(prefix, field->name()), &missing);
  }
  return missing.empty()
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrJoin(missing, "; "));
}

absl::Status ValidateMessage(const Message& message,
                             const std::string& prefix) {
  RETURN_IF_ERROR(CheckRequired(message, prefix));
  const Reflection* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string path = absl::StrCat(prefix, field->name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!IsSet(message, field)) continue;
      for (const double number : Numbers(message, field)) {
        RETURN_IF_ERROR(CheckNumber(*field, path, number));
      }
    } else if (!field->is_repeated()) {
      RETURN_IF_ERROR(ValidateMessage(reflection->GetMessage(message, field),
                                      absl::StrCat(path, ".")));
    } else {
      for (int k = 0; k < reflection->FieldSize(message, field); ++k) {
        RETURN_IF_ERROR(
            ValidateMessage(reflection->GetRepeatedMessage(message, field, k),
                            absl::StrCat(path, "[", k, "].")));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateOptions(const Message& options) {
  return ValidateMessage(options, "");
}

}  // namespace sortition
