#include "process/http/http_get.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "process/http/http_transport.h"

namespace sortition {
namespace {

absl::StatusOr<std::string> BodyOf(const absl::StatusOr<std::string>& answer) {
  RETURN_IF_ERROR(answer.status());
  ASSIGN_OR_RETURN(const HttpParts parts, SplitHttpAnswer(*answer));
  if (parts.status != "200") {
    return absl::FailedPreconditionError(absl::StrCat(
        "the answer has status ",
        parts.status.empty() ? "none"
                             : absl::CHexEscape(parts.status.substr(0, 20)),
        ", must be 200"));
  }
  if (parts.is_whole) return std::string(parts.body);
  return absl::DataLossError("the answer is not as long as it says");
}

}  // namespace

absl::StatusOr<std::string> HttpGet(const std::string& address,
                                    absl::string_view path,
                                    const HttpGetLimits& limits) {
  absl::StatusOr<std::string> body = BodyOf(
      ExchangeHttp(address,
                   absl::StrCat("GET ", path, " HTTP/1.0\r\nHost: ", address,
                                "\r\nConnection: close\r\n\r\n"),
                   limits));
  if (body.ok()) return body;
  return NameAddress(address, body.status());
}

}  // namespace sortition
