#pragma once
// JSON text of reports, key by key, in the order of the calls. Counts are
// numbers, not strings as in the JSON form of protos.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace sortition {

// Calls must nest well: Key() before every value of an object.
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(absl::string_view key);

  JsonWriter& String(absl::string_view value);
  JsonWriter& Number(double value);  // null where not finite.
  JsonWriter& Count(uint64_t value);
  JsonWriter& Signed(int64_t value);
  JsonWriter& Bool(bool value);
  // Text that is JSON already.
  JsonWriter& Raw(absl::string_view json);

  const std::string& text() const { return text_; }

 private:
  JsonWriter& Append(absl::string_view value);

  std::string text_;
  bool need_comma_ = false;
};

// One-line JSON form of a message, field names as in the proto.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace sortition
