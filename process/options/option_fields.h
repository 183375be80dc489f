#pragma once
// Lists the options of a message as a flat table, for parsing and for help.
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "sortition/config/v1/option.pb.h"

namespace sortition::internal {

// A scalar field of an options message or of one of its sub-messages.
struct OptionField {
  std::vector<const google::protobuf::FieldDescriptor*> path;
  std::string name;  // Dotted path, as in "spool.max_bytes".

  const google::protobuf::FieldDescriptor& field() const {
    return *path.back();
  }
};

// Returns what the declaration of `field` says about it.
const config::v1::OptionInfo& InfoOf(
    const google::protobuf::FieldDescriptor& field);

// Returns the options in order of declaration, those of the message itself
// before those of its sub-messages. Repeated sub-messages have no flags.
std::vector<OptionField> OptionFields(
    const google::protobuf::Descriptor& descriptor);

// Returns the option called `name`: a dotted path, or the end of one where no
// other option ends in it. '-' counts as '_'. InvalidArgument names the nearest
// known option, or all that `name` could mean.
absl::StatusOr<const OptionField*> FindOption(
    const std::vector<OptionField>& fields, absl::string_view name);

// What a number is, which the end of the option's name says: bytes where a
// whole number ends in "_bytes", seconds where a fraction ends in "_seconds".
enum class OptionUnit { kNone, kBytes, kSeconds };
OptionUnit UnitOf(const google::protobuf::FieldDescriptor& field);

// Whether an option is a list in one text, which its help then says:
// "separated by commas". Its flag may be given several times, once for each
// entry.
bool IsCommaList(const google::protobuf::FieldDescriptor& field);

// Returns a value of the option as help writes it: 10GiB, 1.5s, 0.05.
std::string ValueText(const google::protobuf::FieldDescriptor& field,
                      double value);

// Returns the range with the option's unit: "[64KiB, 4GiB]"; empty where there
// is none.
std::string RangeWithUnits(const google::protobuf::FieldDescriptor& field);

// Returns "[1, 256]", "(0, 1000]" or "at least 1"; empty where there is no
// range.
std::string RangeText(const config::v1::OptionInfo& info);

// Returns a number as help and messages write it: 10737418240, 0.05, 1e-06.
std::string NumberText(double value);

// Returns the names of an enum's values, joined by `separator`.
std::string EnumNames(const google::protobuf::EnumDescriptor& type,
                      absl::string_view separator);

}  // namespace sortition::internal
