#include "process/options/options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "process/options/option_fields.h"
#include "process/options/units.h"

namespace sortition {
namespace {

using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using internal::OptionField;

struct Assignment {
  const OptionField* option;
  std::string value;
};

absl::Status BadValue(const OptionField& option, absl::string_view value,
                      absl::string_view wanted) {
  const std::string range =
      internal::RangeText(internal::InfoOf(option.field()));
  return absl::InvalidArgumentError(
      absl::StrCat("flag --", option.name, " = \"", value, "\": must be ",
                   wanted, range.empty() ? "" : ", range ", range));
}

bool ParseBool(absl::string_view text, bool* value) {
  const std::string lower = absl::AsciiStrToLower(text);
  *value = lower == "true" || lower == "yes" || lower == "1";
  return *value || lower == "false" || lower == "no" || lower == "0";
}

const EnumValueDescriptor* FindEnumValue(const FieldDescriptor& field,
                                         absl::string_view text) {
  return field.enum_type()->FindValueByName(absl::AsciiStrToUpper(text));
}

template <typename T, typename Set>
absl::Status SetInteger(const OptionField& option, absl::string_view text,
                        Set set) {
  T value;
  if (!absl::SimpleAtoi(text, &value)) {
    return BadValue(
        option, text,
        absl::StrCat("a whole number in [", std::numeric_limits<T>::min(), ", ",
                     std::numeric_limits<T>::max(), "]"));
  }
  set(value);
  return absl::OkStatus();
}

// Returns whether the option is a number between 0 and 1, for which a
// percentage may stand.
bool IsShare(const FieldDescriptor& field) {
  const config::v1::OptionInfo& info = internal::InfoOf(field);
  const bool is_fraction = field.cpp_type() == FieldDescriptor::CPPTYPE_FLOAT ||
                           field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
  return is_fraction && info.has_min() && info.min() >= 0 && info.has_max() &&
         info.max() <= 1;
}

// A size, a duration or a share with its unit, as the plain number that
// SetField() reads.
absl::StatusOr<std::string> WithoutUnit(const OptionField& option,
                                        absl::string_view text) {
  switch (internal::UnitOf(option.field())) {
    case internal::OptionUnit::kBytes: {
      const auto bytes = ParseBytes(text);
      if (!bytes.ok()) return BadValue(option, text, kSizeForms);
      if (option.field().cpp_type() == FieldDescriptor::CPPTYPE_UINT32 &&
          *bytes > std::numeric_limits<uint32_t>::max()) {
        return BadValue(option, text, "below 4GiB");
      }
      return absl::StrCat(*bytes);
    }
    case internal::OptionUnit::kSeconds: {
      const auto seconds = ParseSeconds(text);
      if (!seconds.ok()) return BadValue(option, text, kDurationForms);
      return absl::StrFormat("%.17g", *seconds);
    }
    case internal::OptionUnit::kNone:
      break;
  }
  absl::string_view percentage = text;
  if (!IsShare(option.field()) || !absl::ConsumeSuffix(&percentage, "%")) {
    return std::string(text);
  }
  // The decimal point is moved in the text, so that 99.9% is exactly 0.999.
  std::string share = absl::StrCat(percentage, "e-2");
  double value = 0;
  if (absl::SimpleAtod(share, &value)) return share;
  return BadValue(option, text, "a number, or a percentage such as 20%");
}

// Sets a field, or adds to it where it is repeated.
absl::Status SetField(const OptionField& option, absl::string_view text,
                      Message* message) {
  const FieldDescriptor* field = &option.field();
  const Reflection* reflection = message->GetReflection();
  const bool add = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return SetInteger<int32_t>(option, text, [&](int32_t value) {
        add ? reflection->AddInt32(message, field, value)
            : reflection->SetInt32(message, field, value);
      });
    case FieldDescriptor::CPPTYPE_INT64:
      return SetInteger<int64_t>(option, text, [&](int64_t value) {
        add ? reflection->AddInt64(message, field, value)
            : reflection->SetInt64(message, field, value);
      });
    case FieldDescriptor::CPPTYPE_UINT32:
      return SetInteger<uint32_t>(option, text, [&](uint32_t value) {
        add ? reflection->AddUInt32(message, field, value)
            : reflection->SetUInt32(message, field, value);
      });
    case FieldDescriptor::CPPTYPE_UINT64:
      return SetInteger<uint64_t>(option, text, [&](uint64_t value) {
        add ? reflection->AddUInt64(message, field, value)
            : reflection->SetUInt64(message, field, value);
      });
    case FieldDescriptor::CPPTYPE_FLOAT: {
      float value;
      if (!absl::SimpleAtof(text, &value)) {
        return BadValue(option, text, "a number");
      }
      add ? reflection->AddFloat(message, field, value)
          : reflection->SetFloat(message, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      double value;
      if (!absl::SimpleAtod(text, &value)) {
        return BadValue(option, text, "a number");
      }
      add ? reflection->AddDouble(message, field, value)
          : reflection->SetDouble(message, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_BOOL: {
      bool value;
      if (!ParseBool(text, &value)) {
        return BadValue(option, text, "true or false");
      }
      add ? reflection->AddBool(message, field, value)
          : reflection->SetBool(message, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* value = FindEnumValue(*field, text);
      if (value == nullptr) {
        return BadValue(
            option, text,
            absl::StrCat("one of ",
                         internal::EnumNames(*field->enum_type(), ", ")));
      }
      add ? reflection->AddEnum(message, field, value)
          : reflection->SetEnum(message, field, value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING:
      add ? reflection->AddString(message, field, std::string(text))
          : reflection->SetString(message, field, std::string(text));
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return BadValue(option, text, "set in the config file");
}

// InvalidArgument if `group` is a member of a oneof of which `message` has
// another member: setting the flag would silently drop the options of that
// member.
absl::Status CheckOneof(const OptionField& option, const FieldDescriptor* group,
                        const Message& message) {
  const auto* choice = group->real_containing_oneof();
  if (choice == nullptr) return absl::OkStatus();
  const FieldDescriptor* set =
      message.GetReflection()->GetOneofFieldDescriptor(message, choice);
  if (set == nullptr || set == group) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("flag --", option.name, ": options of ", set->name(),
                   " are set, must be unset for an option of ", group->name()));
}

absl::Status Assign(const Assignment& assignment, bool first, Message* root) {
  const OptionField& option = *assignment.option;
  Message* message = root;
  for (size_t i = 0; i + 1 < option.path.size(); ++i) {
    RETURN_IF_ERROR(CheckOneof(option, option.path[i], *message));
    message = message->GetReflection()->MutableMessage(message, option.path[i]);
  }
  const FieldDescriptor& field = option.field();
  if (!first && internal::IsCommaList(field)) {
    const std::string before =
        message->GetReflection()->GetString(*message, &field);
    return SetField(option, absl::StrCat(before, ",", assignment.value),
                    message);
  }
  if (!field.is_repeated()) {
    ASSIGN_OR_RETURN(const std::string value,
                     WithoutUnit(option, assignment.value));
    return SetField(option, value, message);
  }
  if (first) message->GetReflection()->ClearField(message, &field);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return SetField(option, assignment.value, message);
  }
  for (absl::string_view part : absl::StrSplit(assignment.value, ',')) {
    ASSIGN_OR_RETURN(const std::string value,
                     WithoutUnit(option, absl::StripAsciiWhitespace(part)));
    RETURN_IF_ERROR(SetField(option, value, message));
  }
  return absl::OkStatus();
}

// Keeps the first error of a text proto.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = absl::StrCat(line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

absl::Status ReadConfig(const std::string& path, Message* options) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  google::protobuf::TextFormat::Parser parser;
  FirstError error;
  parser.RecordErrorsTo(&error);
  if (!parser.ParseFromString(text, options)) {
    return absl::InvalidArgumentError(
        absl::StrCat("config ", path, ":", error.text(), " (in a ",
                     options->GetDescriptor()->full_name(), ")"));
  }
  return absl::OkStatus();
}

// Splits arguments into flags and positional ones.
class ArgumentReader {
 public:
  ArgumentReader(const std::vector<std::string>& arguments,
                 const std::vector<OptionField>& fields)
      : arguments_(arguments), fields_(fields) {}

  absl::Status Read() {
    // Before anything else: a user who asks for help may have misspelt a flag.
    const auto end = std::find(arguments_.begin(), arguments_.end(), "--");
    help =
        std::any_of(arguments_.begin(), end, [](const std::string& argument) {
          return argument == "--help" || argument == "-h";
        });
    if (help) return absl::OkStatus();
    for (next_ = 0; next_ < arguments_.size();) {
      const std::string& argument = arguments_[next_++];
      if (argument == "--") {
        positional.insert(positional.end(), arguments_.begin() + next_,
                          arguments_.end());
        return absl::OkStatus();
      }
      if (absl::StartsWith(argument, "--")) {
        RETURN_IF_ERROR(ReadFlag(absl::string_view(argument).substr(2)));
      } else if (argument.size() > 1 && argument[0] == '-') {
        return absl::InvalidArgumentError(
            absl::StrCat("unknown flag ", argument,
                         "; flags start with two dashes (--help lists all)"));
      } else {
        positional.push_back(argument);
      }
    }
    return absl::OkStatus();
  }

  bool help = false;
  std::optional<std::string> config;
  std::vector<Assignment> assignments;
  std::vector<std::string> positional;

 private:
  absl::Status ReadFlag(absl::string_view flag) {
    std::optional<std::string> value;
    absl::string_view name = flag;
    if (const size_t equals = flag.find('='); equals != flag.npos) {
      name = flag.substr(0, equals);
      value = std::string(flag.substr(equals + 1));
    }
    if (name == "config") {
      ASSIGN_OR_RETURN(config, ValueOf(name, std::move(value)));
      return absl::OkStatus();
    }
    auto option = internal::FindOption(fields_, name);
    if (!option.ok()) return ReadNegated(name, value, option.status());
    if ((*option)->field().cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
      // Takes no separate value: "--flag FILE" would swallow the file.
      assignments.push_back({*option, value.value_or("true")});
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(std::string text, ValueOf(name, std::move(value)));
    assignments.push_back({*option, std::move(text)});
    return absl::OkStatus();
  }

  // Reads --no-flag; returns `unknown` where it is not of that form.
  absl::Status ReadNegated(absl::string_view name,
                           const std::optional<std::string>& value,
                           const absl::Status& unknown) {
    if (!absl::ConsumePrefix(&name, "no-") &&
        !absl::ConsumePrefix(&name, "no_")) {
      return unknown;
    }
    const auto option = internal::FindOption(fields_, name);
    if (!option.ok() ||
        (*option)->field().cpp_type() != FieldDescriptor::CPPTYPE_BOOL) {
      return unknown;
    }
    if (value.has_value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "flag --no-", name, " = \"", *value, "\": takes no value"));
    }
    assignments.push_back({*option, "false"});
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ValueOf(absl::string_view name,
                                      std::optional<std::string> value) {
    if (value.has_value()) return *std::move(value);
    if (next_ == arguments_.size() ||
        absl::StartsWith(arguments_[next_], "--")) {
      return absl::InvalidArgumentError(
          absl::StrCat("flag --", name, " needs a value: --", name, "=VALUE"));
    }
    return arguments_[next_++];
  }

  const std::vector<std::string>& arguments_;
  const std::vector<OptionField>& fields_;
  size_t next_ = 0;
};

}  // namespace

absl::Status ParseOptions(const std::vector<std::string>& arguments,
                          Message* options, CommandLine* command_line) {
  const std::vector<OptionField> fields =
      internal::OptionFields(*options->GetDescriptor());
  ArgumentReader reader(arguments, fields);
  RETURN_IF_ERROR(reader.Read());
  command_line->help = reader.help;
  command_line->positional = reader.positional;
  if (reader.help) return absl::OkStatus();
  if (reader.config.has_value()) {
    RETURN_IF_ERROR(ReadConfig(*reader.config, options));
  }
  std::set<const OptionField*> seen;
  for (const Assignment& assignment : reader.assignments) {
    const bool first = seen.insert(assignment.option).second;
    RETURN_IF_ERROR(Assign(assignment, first, options));
  }
  return ValidateOptions(*options);
}

}  // namespace sortition
