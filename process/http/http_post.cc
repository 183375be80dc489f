#include "process/http/http_post.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "process/http/http_transport.h"

namespace sortition {
namespace {

absl::StatusOr<int> CodeOf(const absl::StatusOr<std::string>& answer) {
  if (!answer.ok()) return answer.status();
  const absl::StatusOr<HttpParts> parts = SplitHttpAnswer(*answer);
  if (!parts.ok()) return parts.status();
  int code = 0;
  if (absl::SimpleAtoi(parts->status, &code) && code >= 100 && code <= 999) {
    return code;
  }
  return absl::DataLossError("the answer has no status code");
}

}  // namespace

absl::StatusOr<int> HttpPost(const std::string& address, absl::string_view path,
                             absl::string_view headers, absl::string_view body,
                             const HttpGetLimits& limits) {
  const absl::StatusOr<int> code = CodeOf(ExchangeHttp(
      address,
      absl::StrCat("POST ", path, " HTTP/1.1\r\nHost: ", address, "\r\n",
                   headers, "Content-Length: ", body.size(),
                   "\r\nConnection: close\r\n\r\n", body),
      limits));
  if (code.ok()) return code;
  return NameAddress(address, code.status());
}

}  // namespace sortition
