#pragma once
// Messages from JSON: from their proto3 JSON form, and from shorter forms that
// can mean only one thing (docs/http.md).
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "server/http/json/json_columns.h"
#include "server/http/json/json_tree.h"

namespace sortition {

// Returns the columns of a model, by its name; empty: of the default model.
// Nullopt: the server has no such model.
using FindColumnTypes =
    std::function<std::optional<ColumnTypes>(absl::string_view model)>;

// How a body names what the messages of gRPC name in another way: each pair is
// the name in the message and the name in the body.
using BodyNames = std::vector<std::pair<std::string, std::string>>;

// Returns an error message of gRPC with the names that the body has.
std::string InWordsOfBody(const BodyNames& names, absl::string_view message);

// A value that may be any JSON (google.protobuf.Value, Struct).
struct UntypedJson {
  const google::protobuf::FieldDescriptor* field = nullptr;
  const JsonValue* value = nullptr;  // The list if the field is repeated.
  std::string key;                   // As the body spells the field.
};

// Parses one body. Errors are InvalidArgument; they name the place in the words
// of the body, the value, what is permitted there, and the nearest valid name.
class JsonMessageParser {
 public:
  // `find_types` must outlive the parser.
  explicit JsonMessageParser(const FindColumnTypes* find_types)
      : find_types_(find_types) {}

  // Parses into an empty message.
  absl::Status Parse(const JsonValue& json, google::protobuf::Message* message);
  // Parses a value that is a part of the body.
  absl::Status ParsePart(const JsonValue& json, absl::string_view key,
                         size_t index, absl::string_view field,
                         google::protobuf::Message* message);

  // Fields that may be any JSON are not parsed; these are the ones that were
  // there. They view the tree.
  const std::vector<UntypedJson>& untyped() const { return untyped_; }

  // Names of the body that errors of the call itself need: InWordsOfBody().
  const BodyNames& names() const { return names_; }

 private:
  using Descriptor = google::protobuf::Descriptor;
  using FieldDescriptor = google::protobuf::FieldDescriptor;
  using Message = google::protobuf::Message;

  absl::Status ParseMessage(const JsonValue& json, Message* message);
  absl::Status ParseFields(const JsonValue& json, Message* message);
  absl::Status ParseField(const JsonValue& json, const FieldDescriptor* field,
                          Message* message);
  absl::Status ParseList(const JsonValue& json, const FieldDescriptor* field,
                         Message* message);
  absl::Status ParseFloats(const JsonValue& json, const FieldDescriptor* field,
                           bool are_finite, Message* message);
  absl::Status ParseMap(const JsonValue& json, const FieldDescriptor* field,
                        Message* message);
  // Parses one value, or one entry of a list.
  absl::Status ParseValue(const JsonValue& json, const FieldDescriptor* field,
                          Message* message);
  absl::Status ParseInteger(const JsonValue& json, const FieldDescriptor* field,
                            Message* message);
  absl::Status ParseEnum(const JsonValue& json, const FieldDescriptor* field,
                         Message* message);

  // Parses a list where a message is expected.
  absl::Status ParseListForm(const JsonValue& json, Message* message);
  // Parses lists in a list as the rows of a matrix or as sets.
  absl::Status ParseRows(const JsonValue& rows, const FieldDescriptor* field,
                         Message* message);
  absl::Status ParseCandidateList(const JsonValue& json, Message* message);
  absl::Status ParseNamedColumns(const JsonValue& json,
                                 const FieldDescriptor* field,
                                 Message* message);
  absl::Status ParseShortFeedback(const JsonValue& json, Message* feedback);
  // Notes that the body has `in_body` where errors of the call name `field`.
  void NoteName(absl::string_view field, absl::string_view in_body);
  // Sets what a short form leaves out, once the fields of `message` are parsed.
  absl::Status Complete(Message* message);

  // Returns the types of the columns of the model that the request names.
  const ColumnTypes& types();
  // Returns the error of a value that is not a message of `type`.
  absl::Status RefuseMessage(const JsonValue& json,
                             const Descriptor& type) const;
  absl::Status UnknownField(const Descriptor& type,
                            absl::string_view key) const;

  const FindColumnTypes* const find_types_;
  const Descriptor* root_ = nullptr;
  JsonPath path_;
  std::string model_;
  std::optional<ColumnTypes> types_;
  std::optional<uint32_t> row_size_;  // Numbers in a row of dense features.
  std::vector<UntypedJson> untyped_;
  BodyNames names_;
};

}  // namespace sortition
