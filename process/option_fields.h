#pragma once
// The options of a message as a flat table, for parsing and for help.
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

// What the declaration of `field` says of it.
const config::v1::OptionInfo& InfoOf(
    const google::protobuf::FieldDescriptor& field);

// In order of declaration, those of the message itself before those of its
// sub-messages. Repeated sub-messages have no flags.
std::vector<OptionField> OptionFields(
    const google::protobuf::Descriptor& descriptor);

// The option called `name`: a dotted path, or the end of one where no other
// option ends in it. '-' counts as '_'. InvalidArgument names the nearest known
// option, or all that `name` could mean.
absl::StatusOr<const OptionField*> FindOption(
    const std::vector<OptionField>& fields, absl::string_view name);

// "[1, 256]", "(0, 1000]", "at least 1"; empty where there is no range.
std::string RangeText(const config::v1::OptionInfo& info);

// Shortest text of a number in help and messages: 10737418240, 0.05, 1e-06.
std::string NumberText(double value);

// Names of the values of an enum, joined by `separator`.
std::string EnumNames(const google::protobuf::EnumDescriptor& type,
                      absl::string_view separator);

}  // namespace sortition::internal
