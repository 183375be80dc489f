#include "process/options/options_help.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "process/options/options.h"
#include "process/options/units.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kHelpWidth = 80;
constexpr size_t kHelpIndent = 32;

std::string TypeText(const FieldDescriptor& field) {
  switch (internal::UnitOf(field)) {
    case internal::OptionUnit::kBytes:
      return "SIZE";
    case internal::OptionUnit::kSeconds:
      return "TIME";
    case internal::OptionUnit::kNone:
      break;
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return "TEXT";
    case FieldDescriptor::CPPTYPE_ENUM:
      return internal::EnumNames(*field.enum_type(), "|");
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.is_repeated() ? "X,…" : "X";
    default:
      return field.is_repeated() ? "N,…" : "N";
  }
}

std::string FlagText(const internal::OptionField& option) {
  if (option.field().cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    return absl::StrCat("--[no-]", option.name);
  }
  return absl::StrCat("--", option.name, "=", TypeText(option.field()));
}

std::string DefaultText(const FieldDescriptor& field) {
  if (field.is_repeated() || !field.has_default_value()) return "";
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      return field.default_value_string();
    case FieldDescriptor::CPPTYPE_ENUM:
      return field.default_value_enum()->name();
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "yes" : "no";
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return internal::ValueText(field, field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return internal::UnitOf(field) == internal::OptionUnit::kBytes
                 ? BytesText(field.default_value_uint64())
                 : absl::StrCat(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_FLOAT:
      return internal::NumberText(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return internal::ValueText(field, field.default_value_double());
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return "";
}

std::string Description(const FieldDescriptor& field) {
  const config::v1::OptionInfo& info = internal::InfoOf(field);
  std::vector<std::string> notes;
  if (info.required()) notes.push_back("required");
  if (const std::string text = DefaultText(field); !text.empty()) {
    notes.push_back(absl::StrCat("default ", text));
  }
  if (const std::string text = internal::RangeWithUnits(field); !text.empty()) {
    notes.push_back(absl::StrCat("range ", text));
  }
  if (field.is_repeated()) notes.push_back("repeated");
  if (notes.empty()) return info.help();
  return absl::StrCat(info.help(), " (", absl::StrJoin(notes, "; "), ")");
}

// Counts characters on the screen, not bytes: help texts hold Greek letters.
size_t DisplayWidth(absl::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char byte) {
        return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
      }));
}

// Breaks `text` between words and indents every line but the first.
std::string Wrap(absl::string_view text, size_t indent) {
  std::string out;
  size_t column = indent;
  for (absl::string_view word : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const size_t width = DisplayWidth(word);
    if (column > indent && column + 1 + width > kHelpWidth) {
      absl::StrAppend(&out, "\n", std::string(indent, ' '));
      column = indent;
    } else if (column > indent) {
      absl::StrAppend(&out, " ");
      ++column;
    }
    absl::StrAppend(&out, word);
    column += width;
  }
  return out;
}

void AppendEntry(const std::string& flag, const std::string& description,
                 std::string* out) {
  absl::StrAppend(out, "  ", flag);
  const size_t column = 2 + DisplayWidth(flag);
  if (column + 1 < kHelpIndent) {
    absl::StrAppend(out, std::string(kHelpIndent - column, ' '));
  } else {
    absl::StrAppend(out, "\n", std::string(kHelpIndent, ' '));
  }
  absl::StrAppend(out, Wrap(description, kHelpIndent), "\n");
}

}  // namespace

std::string OptionEntries(
    const google::protobuf::Descriptor* descriptor,
    absl::FunctionRef<bool(const internal::OptionField&)> is_shown) {
  std::string out;
  std::string group;
  for (const internal::OptionField& option :
       internal::OptionFields(*descriptor)) {
    if (!is_shown(option)) continue;
    const size_t dot = option.name.rfind('.');
    const std::string its_group =
        dot == std::string::npos ? "" : option.name.substr(0, dot);
    if (its_group != group) {
      group = its_group;
      absl::StrAppend(&out, "\nOptions of ", group, ":\n");
    }
    AppendEntry(FlagText(option), Description(option.field()), &out);
  }
  return out;
}

std::string OptionsHelpEnd(const google::protobuf::Descriptor* descriptor) {
  std::string out = "\n";
  AppendEntry("--config=FILE", "Text file with any of these options", &out);
  AppendEntry("--help", "This text", &out);
  absl::StrAppend(
      &out, "\n", Wrap(absl::StrCat("SIZE: ", kSizeForms, "."), 0), "\n",
      Wrap(absl::StrCat("TIME: ", kDurationForms, "."), 0), "\n\n",
      Wrap(
          absl::StrCat("Config file: a text proto of ", descriptor->full_name(),
                       ", for example \"name: value\" per line and \"group { "
                       "name: value }\" for a group; sizes there are "
                       "numbers of bytes, and times numbers of seconds, "
                       "without units. Flags override it. For a number in "
                       "[0, 1] a flag may have a percentage: 20% is 0.2. A "
                       "group may be left out of a flag where the name is "
                       "unique; --name value works like --name=value."),
          0),
      "\n");
  return out;
}

std::string OptionsHelp(const google::protobuf::Descriptor* descriptor) {
  return absl::StrCat(
      "Options:\n",
      OptionEntries(descriptor,
                    [](const internal::OptionField&) { return true; }),
      OptionsHelpEnd(descriptor));
}

}  // namespace sortition
