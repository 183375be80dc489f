#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "io/scorers/document_formats.h"
#include "io/text/parse_number.h"
#include "rapidjson/error/en.h"
#include "rapidjson/memorystream.h"
#include "rapidjson/reader.h"

namespace sortition {
namespace {

// Integers are exact; everything else is a float, which may be NaN or infinite.
bool ParseFloatOrInteger(absl::string_view text, double* value) {
  int64_t integer = 0;
  if (ParseNumber(text, &integer)) {
    *value = static_cast<double>(integer);
    return true;
  }
  float number = 0;
  if (!ParseNumber(text, &number)) return false;
  *value = static_cast<double>(number);
  return true;
}

// Passes what RapidJSON reads to a builder.
class JsonHandler
    : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, JsonHandler> {
 public:
  JsonHandler(const rapidjson::MemoryStream* stream, DocumentBuilder* builder)
      : stream_(*stream), builder_(*builder) {}

  bool Null() { return builder_.Null(Before(4)); }
  bool Bool(bool value) { return builder_.Bool(Before(value ? 4 : 5), value); }
  bool RawNumber(const char* text, rapidjson::SizeType size, bool) {
    double value = 0;
    if (!ParseFloatOrInteger({text, size}, &value)) {
      has_bad_number_ = true;
      return false;
    }
    return builder_.Number(Before(size), value);
  }
  bool String(const char* text, rapidjson::SizeType size, bool) {
    // Later where the text has escapes, but within it.
    return builder_.Text(Before(size_t{size} + 2), {text, size});
  }
  bool Key(const char* text, rapidjson::SizeType size, bool) {
    builder_.Key({text, size});
    return true;
  }
  bool StartObject() { return builder_.BeginObject(stream_.Tell()); }
  bool EndObject(rapidjson::SizeType) { return End(); }
  bool StartArray() { return builder_.BeginArray(stream_.Tell()); }
  bool EndArray(rapidjson::SizeType) { return End(); }

  absl::string_view problem() const {
    return has_bad_number_ ? "a number is beyond the range of floats"
                           : builder_.problem();
  }

 private:
  // Begin of a value of `size` bytes that was just read.
  size_t Before(size_t size) const { return stream_.Tell() - size; }

  bool End() {
    builder_.End();
    return true;
  }

  const rapidjson::MemoryStream& stream_;
  DocumentBuilder& builder_;
  bool has_bad_number_ = false;
};

}  // namespace

absl::StatusOr<DocumentValue> ParseJsonDocument(absl::string_view text) {
  // Without recursion: files come from outside, and may be deeply nested.
  constexpr unsigned kFlags =
      rapidjson::kParseNumbersAsStringsFlag | rapidjson::kParseNanAndInfFlag |
      rapidjson::kParseValidateEncodingFlag | rapidjson::kParseIterativeFlag;
  if (const void* zero = std::memchr(text.data(), 0, text.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("byte ", static_cast<const char*>(zero) - text.data(),
                     ": a zero byte, must be JSON"));
  }
  rapidjson::MemoryStream stream(text.data(), text.size());
  DocumentBuilder builder;
  JsonHandler handler(&stream, &builder);
  rapidjson::Reader reader;
  const rapidjson::ParseResult result = reader.Parse<kFlags>(stream, handler);
  if (!result.IsError()) return builder.Take();
  const absl::string_view reason =
      result.Code() == rapidjson::kParseErrorTermination
          ? handler.problem()
          : rapidjson::GetParseError_En(result.Code());
  return absl::InvalidArgumentError(
      absl::StrCat("byte ", result.Offset(), ": ", reason));
}

}  // namespace sortition
