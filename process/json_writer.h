#pragma once
// Writes the JSON of reports, key by key, in the order of the calls. Unlike the
// JSON form of protos, 64-bit counts are numbers and not strings.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "rapidjson/stringbuffer.h"
#include "rapidjson/writer.h"

namespace sortition {

// One document. Calls must be well nested, and each value of an object needs a
// Key() before it; builds with assertions abort otherwise.
class JsonWriter {
 public:
  JsonWriter& BeginObject();
  JsonWriter& EndObject();
  JsonWriter& BeginArray();
  JsonWriter& EndArray();
  JsonWriter& Key(absl::string_view key);

  JsonWriter& String(absl::string_view value);
  // Writes digits that read back as the same double; null where `value` is not
  // finite.
  JsonWriter& Number(double value);
  JsonWriter& Count(uint64_t value);
  JsonWriter& Signed(int64_t value);
  JsonWriter& Bool(bool value);
  // Writes one value that is JSON text already.
  JsonWriter& Raw(absl::string_view json);

  size_t size() const { return text_.GetSize(); }  // Bytes written so far.
  // Returns what was written so far.
  std::string text() const { return {text_.GetString(), text_.GetSize()}; }

 private:
  rapidjson::StringBuffer text_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{text_};
};

// Returns the message as JSON on one line, with the proto's field names.
std::string MessageJson(const google::protobuf::Message& message);

}  // namespace sortition
