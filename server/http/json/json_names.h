#pragma once
// Fields by the names that JSON gives them, and what their values must be.
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "google/protobuf/descriptor.h"
#include "server/http/json/json_tree.h"

namespace sortition {

// Returns the field that a key names, in either spelling or by its short name
// ("id" for the decision_id of a report); null: there is none.
const google::protobuf::FieldDescriptor* FindJsonField(
    const google::protobuf::Descriptor& type, absl::string_view key);

// Returns what the value of a field must be, as in "a list of numbers".
std::string Expected(const google::protobuf::FieldDescriptor* field);

// Returns the text for one entry of a field that is a list.
std::string ExpectedEntry(const google::protobuf::FieldDescriptor* field);

// Returns whether the field may be a list of lists: rows of features or
// vectors, or sets.
bool TakesRows(const google::protobuf::FieldDescriptor* field);

// Returns the names of the fields of which at most one may be there.
std::string FieldNames(const google::protobuf::OneofDescriptor& choice);

// Returns the key of the field of `choice` among fields with their keys.
absl::string_view ChosenKey(
    absl::Span<const std::pair<const google::protobuf::FieldDescriptor*,
                               absl::string_view>>
        seen,
    const google::protobuf::OneofDescriptor* choice);

// Returns what the unknown field `key` of a message of `type` at `path` may
// have been meant to be: a similar name of that message, or a field of this
// name in another part of a body of type `root`; otherwise the names that there
// are.
std::string NameHint(const google::protobuf::Descriptor& root,
                     const google::protobuf::Descriptor& type,
                     const JsonPath& path, absl::string_view key);

// Returns ", such as {…}" with a short body that is valid where a message of
// `type` is expected; empty: there is no example of the type.
std::string SuchAs(const google::protobuf::Descriptor& type);

}  // namespace sortition
