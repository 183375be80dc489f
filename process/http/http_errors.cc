#include "process/http/http_errors.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/shorten_text.h"

namespace sortition {
namespace {

// Whether `text` is UTF-8 (RFC 3629, section 4): no surrogates, and nothing in
// more bytes than it needs.
bool IsUtf8(absl::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    if (first < 0xC2 || first > 0xF4) return false;
    const int rest = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    // What the second byte may be.
    unsigned char least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    unsigned char most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    for (int j = 0; j < rest; ++j, ++i) {
      if (i == text.size()) return false;
      const auto next = static_cast<unsigned char>(text[i]);
      if (next < least || next > most) return false;
      least = 0x80;
      most = 0xBF;
    }
  }
  return true;
}

}  // namespace

int HttpCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return 200;
    case absl::StatusCode::kCancelled:
      return 499;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kOutOfRange:
      return 400;
    case absl::StatusCode::kUnauthenticated:
      return 401;
    case absl::StatusCode::kPermissionDenied:
      return 403;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kAborted:
      return 409;
    case absl::StatusCode::kResourceExhausted:
      return 429;
    case absl::StatusCode::kUnimplemented:
      return 501;
    case absl::StatusCode::kUnavailable:
      return 503;
    case absl::StatusCode::kDeadlineExceeded:
      return 504;
    default:
      return 500;
  }
}

HttpAnswer ErrorAnswer(const absl::Status& status) {
  return ErrorAnswer(HttpCode(status.code()), status);
}

HttpAnswer ErrorAnswer(int http_code, const absl::Status& status) {
  return {
      .code = http_code,
      .content_type = "application/json",
      .body = absl::StrCat(
          "{\"code\":", JsonString(absl::StatusCodeToString(status.code())),
          ",\"message\":",
          JsonString(ShortenText(status.message(), kMaxErrorBytes)), "}\n")};
}

std::string JsonString(absl::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  const bool is_utf8 = IsUtf8(text);
  std::string json = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (byte < 0x20) {
      absl::StrAppend(&json, "\\u00", std::string(1, kHex[byte >> 4]),
                      std::string(1, kHex[byte & 15]));
    } else {
      json += byte < 0x80 || is_utf8 ? c : '?';
    }
  }
  return json + '"';
}

}  // namespace sortition
