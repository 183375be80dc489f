#pragma once
// One line of JSON, parsed in place: numbers stay text until they are read, so
// that each is rounded once.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/repeated_field.h"
#include "io/text/input_lines.h"
#include "rapidjson/document.h"

namespace sortition {

using JsonValue = rapidjson::Value;

// Reuses its memory. Not thread-safe.
class JsonLine {
 public:
  JsonLine();

  // Overwrites the line and returns its object, which is valid until the next
  // call. InvalidArgument naming the column where it is no JSON object.
  absl::StatusOr<const JsonValue*> Parse(const InputLine& line);

 private:
  using Document = rapidjson::GenericDocument<rapidjson::UTF8<>,
                                              rapidjson::MemoryPoolAllocator<>>;
  std::vector<char> memory_;
  rapidjson::MemoryPoolAllocator<> allocator_;
  Document document_;
};

// Numbers and strings are both views of the line.
bool IsNumber(const JsonValue& value);
bool IsText(const JsonValue& value);
inline absl::string_view TextOf(const JsonValue& value) {
  return {value.GetString(), value.GetStringLength()};
}

// Returns the member, or null where there is none.
const JsonValue* FindMember(const JsonValue& object, const char* name);

// What a value is, for messages: its text, or its type.
std::string Describe(const JsonValue& value);

// These say `name` in their errors.
absl::StatusOr<double> FiniteNumber(const JsonValue& value,
                                    absl::string_view name);
absl::StatusOr<absl::string_view> Text(const JsonValue& value,
                                       absl::string_view name);
// The text of an id: that of a string, or the digits of a whole number as they
// stand there, so that 12345678901234567890 stays what it is.
absl::StatusOr<absl::string_view> IdText(const JsonValue& value,
                                         absl::string_view name);
absl::StatusOr<int32_t> Integer(const JsonValue& value, absl::string_view name);
// Appends the numbers of an array, which must be finite.
absl::Status AppendFloats(const JsonValue& array, absl::string_view name,
                          google::protobuf::RepeatedField<float>* values);

}  // namespace sortition
