#pragma once
// JSON as a tree, and places in it.
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rapidjson/document.h"

namespace sortition {

using JsonValue = rapidjson::Value;

// Parses one JSON value. InvalidArgument as CheckJson() (process/json_check.h).
absl::Status ParseJsonTree(absl::string_view json, rapidjson::Document* tree);

inline absl::string_view TextOf(const JsonValue& text) {
  return {text.GetString(), text.GetStringLength()};
}

// Returns whether `value` is a number without a fraction that 64 bits hold.
inline bool IsInteger(const JsonValue& value) {
  return value.IsInt64() || value.IsUint64();
}

// Returns the decimal digits of a value that IsInteger().
std::string IntegerText(const JsonValue& value);

// Returns the value as JSON.
std::string JsonText(const JsonValue& value);

// Returns what a value is, to go behind the name of its field: " = 1.5",
// " = \"abc…\"", " is a list".
std::string ShownValue(const JsonValue& value);

// The place of a value in a document, in the words of its author.
class JsonPath {
 public:
  // Goes one level down for as long as the scope lives. A key must outlive it.
  class Scope {
   public:
    Scope(JsonPath* path, absl::string_view key) : path_(path) {
      path_->steps_.emplace_back(key);
    }
    Scope(JsonPath* path, size_t index) : path_(path) {
      path_->steps_.emplace_back(index);
    }
    ~Scope() { path_->steps_.pop_back(); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    JsonPath* const path_;
  };

  // Returns "context.eligible[2]"; "the body" for the root.
  std::string Text() const;
  // Returns the place of the field `key` of the object that this is the place
  // of.
  std::string TextOfField(absl::string_view key) const;

  // Returns InvalidArgument about the value at this place: it is not what it
  // `must_be`, as in "a list of numbers".
  absl::Status Refuse(const JsonValue& value, absl::string_view must_be) const;

 private:
  std::vector<std::variant<absl::string_view, size_t>> steps_;
};

}  // namespace sortition
