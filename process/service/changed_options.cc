#include "process/service/changed_options.h"

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "google/protobuf/util/message_differencer.h"
#include "process/log.h"
#include "process/options/options.h"

namespace sortition {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Collect(const Message& before, const Message& now,
             const std::string& prefix, std::vector<std::string>* names) {
  const google::protobuf::Descriptor& type = *before.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = absl::StrCat(prefix, field.name());
    if (!field.is_repeated() &&
        field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      Collect(before.GetReflection()->GetMessage(before, &field),
              now.GetReflection()->GetMessage(now, &field), name + ".", names);
      continue;
    }
    google::protobuf::util::MessageDifferencer differencer;
    // An option that is set to its default is not changed.
    differencer.set_message_field_comparison(
        google::protobuf::util::MessageDifferencer::EQUIVALENT);
    if (!differencer.CompareWithFields(before, now, {&field}, {&field})) {
      names->push_back(name);
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ChangedOptions(
    const std::vector<std::string>& arguments, const Message& in_force) {
  const std::unique_ptr<Message> now(in_force.New());
  CommandLine command_line;
  RETURN_IF_ERROR(ParseOptions(arguments, now.get(), &command_line));
  std::vector<std::string> names;
  Collect(in_force, *now, "", &names);
  return names;
}

void LogChangedOptions(const std::vector<std::string>& arguments,
                       const Message& in_force) {
  const auto changed = ChangedOptions(arguments, in_force);
  if (!changed.ok()) {
    LogWarning("options cannot be read again; those in force stay",
               {{"error", changed.status().message()}});
  } else if (!changed->empty()) {
    LogWarning("options have changed; a restart takes them up",
               {{"options", absl::StrJoin(*changed, ", ")}});
  }
}

}  // namespace sortition
