#include "client/export/text_values.h"

#include <map>

#include "absl/strings/str_format.h"
#include "absl/time/time.h"

namespace sortition {

void AppendFloats(std::span<const float> values, std::string* out) {
  if (values.empty()) return;
  const size_t size = out->size();
  out->resize(size + values.size() * (kFloatRoom + 1));
  char* end = out->data() + size;
  for (const float value : values) {
    end = WriteShortest(value, end);
    *end++ = ',';
  }
  out->resize(static_cast<size_t>(end - 1 - out->data()));
}

void AppendJsonString(absl::string_view text, std::string* out) {
  out->push_back('"');
  size_t begin = 0;  // Of what needs no escape.
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_control = static_cast<unsigned char>(c) < 0x20;
    if (!is_control && c != '"' && c != '\\') continue;
    out->append(text.data() + begin, i - begin);
    begin = i + 1;
    if (is_control) {
      absl::StrAppendFormat(out, "\\u%04x", c);
    } else {
      out->push_back('\\');
      out->push_back(c);
    }
  }
  out->append(text.data() + begin, text.size() - begin);
  out->push_back('"');
}

void AppendAttributes(const log::v1::Decision& decision, std::string* out) {
  const std::map<absl::string_view, absl::string_view> sorted(
      decision.attributes().begin(), decision.attributes().end());
  out->push_back('{');
  for (const auto& [name, value] : sorted) {
    if (out->back() != '{') out->push_back(',');
    AppendJsonString(name, out);
    out->push_back(':');
    AppendJsonString(value, out);
  }
  out->push_back('}');
}

void AppendCsvField(absl::string_view text, std::string* out) {
  if (text.find_first_of(",\"\r\n") == absl::string_view::npos) {
    out->append(text.data(), text.size());
    return;
  }
  out->push_back('"');
  for (const char c : text) {
    if (c == '"') out->push_back('"');
    out->push_back(c);
  }
  out->push_back('"');
}

void AppendTimestamp(int64_t time_us, std::string* out) {
  out->append(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ",
                               absl::FromUnixMicros(time_us),
                               absl::UTCTimeZone()));
}

}  // namespace sortition
