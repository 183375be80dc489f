#include "process/options/option_fields.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "core/base/nearest_name.h"
#include "process/options/units.h"

namespace sortition::internal {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

void CollectFields(const Descriptor& descriptor,
                   std::vector<const FieldDescriptor*>* path,
                   std::vector<OptionField>* fields) {
  for (int i = 0; i < descriptor.field_count(); ++i) {
    if (descriptor.field(i)->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      continue;
    }
    path->push_back(descriptor.field(i));
    const std::string name = absl::StrJoin(
        *path, ".", [](std::string* out, const FieldDescriptor* field) {
          absl::StrAppend(out, field->name());
        });
    fields->push_back({*path, name});
    path->pop_back();
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor* field = descriptor.field(i);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE ||
        field->is_repeated()) {
      continue;
    }
    path->push_back(field);
    CollectFields(*field->message_type(), path, fields);
    path->pop_back();
  }
}

bool GivesWay(const OptionField* option) {
  return std::any_of(
      option->path.begin(), option->path.end(),
      [](const FieldDescriptor* field) { return InfoOf(*field).gives_way(); });
}

std::string NearestOption(const std::vector<OptionField>& fields,
                          absl::string_view name) {
  std::string nearest;
  size_t best = MaxMisspelling(name) + 1;
  const auto consider = [&](absl::string_view known, const std::string& full) {
    const size_t distance = EditDistance(name, known);
    if (distance < best) {
      best = distance;
      nearest = full;
    }
  };
  consider("config", "config");
  consider("help", "help");
  for (const OptionField& field : fields) {
    consider(field.name, field.name);
    consider(field.field().name(), field.name);
  }
  return nearest;
}

// Returns the range with its ends as `text` writes them.
template <typename Text>
std::string RangeAs(const config::v1::OptionInfo& info, const Text& text) {
  if (info.has_min() && info.has_max()) {
    return absl::StrCat(info.above_min() ? "(" : "[", text(info.min()), ", ",
                        text(info.max()), "]");
  }
  if (info.has_min()) {
    return absl::StrCat(info.above_min() ? "above " : "at least ",
                        text(info.min()));
  }
  if (info.has_max()) return absl::StrCat("at most ", text(info.max()));
  return "";
}

}  // namespace

const config::v1::OptionInfo& InfoOf(const FieldDescriptor& field) {
  return field.options().GetExtension(config::v1::info);
}

std::vector<OptionField> OptionFields(const Descriptor& descriptor) {
  std::vector<OptionField> fields;
  std::vector<const FieldDescriptor*> path;
  CollectFields(descriptor, &path, &fields);
  return fields;
}

absl::StatusOr<const OptionField*> FindOption(
    const std::vector<OptionField>& fields, absl::string_view name) {
  const std::string wanted = absl::StrReplaceAll(name, {{"-", "_"}});
  std::vector<const OptionField*> matches;
  for (const OptionField& field : fields) {
    if (field.name == wanted) return &field;
    if (absl::EndsWith(field.name, absl::StrCat(".", wanted))) {
      matches.push_back(&field);
    }
  }
  if (matches.size() > 1 &&
      !std::all_of(matches.begin(), matches.end(), GivesWay)) {
    std::erase_if(matches, GivesWay);
  }
  if (matches.size() == 1) return matches[0];
  if (matches.empty()) {
    const std::string nearest = NearestOption(fields, wanted);
    return absl::InvalidArgumentError(absl::StrCat(
        "unknown flag --", name,
        nearest.empty() ? "" : absl::StrCat("; did you mean --", nearest, "?"),
        " (--help lists all)"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "flag --", name, " is ambiguous: it could be --",
      absl::StrJoin(matches, " or --",
                    [](std::string* out, const OptionField* field) {
                      absl::StrAppend(out, field->name);
                    })));
}

OptionUnit UnitOf(const FieldDescriptor& field) {
  if (field.is_repeated()) return OptionUnit::kNone;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::EndsWith(field.name(), "_bytes") ? OptionUnit::kBytes
                                                    : OptionUnit::kNone;
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::EndsWith(field.name(), "_seconds") ? OptionUnit::kSeconds
                                                      : OptionUnit::kNone;
    default:
      return OptionUnit::kNone;
  }
}

bool IsCommaList(const FieldDescriptor& field) {
  if (field.is_repeated() ||
      field.cpp_type() != FieldDescriptor::CPPTYPE_STRING) {
    return false;
  }
  const std::string& help = InfoOf(field).help();
  return absl::StrContains(help, "separated by commas") ||
         absl::StrContains(help, "comma-separated");
}

std::string ValueText(const FieldDescriptor& field, double value) {
  switch (UnitOf(field)) {
    case OptionUnit::kBytes:
      return BytesText(static_cast<uint64_t>(value));
    case OptionUnit::kSeconds:
      return SecondsText(value);
    case OptionUnit::kNone:
      break;
  }
  return NumberText(value);
}

std::string RangeWithUnits(const FieldDescriptor& field) {
  return RangeAs(InfoOf(field),
                 [&](double value) { return ValueText(field, value); });
}

std::string RangeText(const config::v1::OptionInfo& info) {
  return RangeAs(info, NumberText);
}

std::string NumberText(double value) {
  // Up to here every whole number is a double.
  constexpr double kExactIntegers = 9007199254740992.0;
  if (std::abs(value) < kExactIntegers && value == std::floor(value)) {
    return absl::StrFormat("%.0f", value);
  }
  return absl::StrFormat("%.15g", value);
}

std::string EnumNames(const EnumDescriptor& type, absl::string_view separator) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    names.push_back(type.value(i)->name());
  }
  return absl::StrJoin(names, separator);
}

}  // namespace sortition::internal
