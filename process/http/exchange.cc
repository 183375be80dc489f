#include "process/http/exchange.h"

#include <civetweb.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "process/http/http_errors.h"
#include "process/http/interrupt_timer.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPieceBytes = 1 << 16;
// Most bytes to read of the rest of a request that was refused. Clients such
// as fetch, curl and Python's requests send all of a body before they look for
// an answer, and lose it if the connection breaks before.
constexpr uint64_t kMaxRestBytes = 64 << 20;
// How long the rest is waited for after the answer, and a client may be silent
// before the answer; it may go on sending for limits_.request_seconds.
constexpr double kMaxRestSeconds = 0.5;
constexpr char kIdentity[] = "identity";  // The content coding of no coding.

// What every answer has, unless its handler knows better. Nothing of it may be
// taken for something else, framed, or kept by a cache.
constexpr std::pair<const char*, const char*> kCommonHeaders[] = {
    {"Cache-Control", "no-store"},
    {"Content-Security-Policy",
     "default-src 'self'; base-uri 'none'; form-action 'none'; "
     "frame-ancestors 'none'"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Content-Type-Options", "nosniff"},
};

Clock::time_point After(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

std::string AnswerText(const mg_connection* connection,
                       const HttpAnswer& answer, bool is_head, bool is_kept) {
  std::string text = absl::StrCat(
      "HTTP/1.1 ", answer.code, " ",
      mg_get_response_code_text(connection, answer.code),
      "\r\nContent-Length: ", answer.body.size(),
      "\r\nConnection: ", is_kept ? "keep-alive" : "close", "\r\n");
  if (!answer.content_type.empty()) {
    absl::StrAppend(&text, "Content-Type: ", answer.content_type, "\r\n");
  }
  for (const auto& [name, value] : answer.headers) {
    absl::StrAppend(&text, name, ": ", value, "\r\n");
  }
  for (const auto& common : kCommonHeaders) {
    const bool is_given = std::any_of(
        answer.headers.begin(), answer.headers.end(), [&](const auto& header) {
          return absl::EqualsIgnoreCase(header.first, common.first);
        });
    if (is_given) continue;
    absl::StrAppend(&text, common.first, ": ", common.second, "\r\n");
  }
  absl::StrAppend(&text, "\r\n", is_head ? "" : answer.body);
  return text;
}

// Returns whether all of it was sent in time. In pieces, because civetweb's
// time-out is that of a piece.
bool Send(mg_connection* connection, absl::string_view text, double seconds) {
  const Clock::time_point end = After(seconds);
  while (!text.empty()) {
    const size_t piece = std::min(text.size(), kPieceBytes);
    if (mg_write(connection, text.data(), piece) != static_cast<int>(piece) ||
        Clock::now() > end) {
      return false;
    }
    text.remove_prefix(piece);
  }
  return true;
}

HttpAnswer Refusal(int http_code, absl::StatusCode code,
                   absl::string_view message) {
  return ErrorAnswer(http_code, absl::Status(code, message));
}

// Returns what is wrong with the lines of the headers; empty: nothing. Civetweb
// passes over what it does not take for a header: what comes after the 64th,
// lines that begin with a blank or a colon, and all lines behind these. A proxy
// in front may read a length there, and then takes for a body what would be the
// next request here. Civetweb has put zeros in the place of the ends of names
// and lines.
std::string LineProblem(const mg_request_info& info) {
  if (info.num_headers >= MG_MAX_HEADERS) {
    return absl::StrCat("there are ", MG_MAX_HEADERS,
                        " headers or more: must be fewer");
  }
  const char* last = info.http_version;
  for (int i = 0; i < info.num_headers; ++i) {
    const auto& [name, value] = info.http_headers[i];
    if (name != last + std::strlen(last) + 2) {
      return "a line of the headers does not end with CR LF, or begins with a "
             "blank";
    }
    const char* const after = name + std::strlen(name) + 1;
    if (*after == '\0' && value != after) {
      return absl::StrCat("header \"", name,
                          "\": there must be no blank before the colon");
    }
    last = value;
  }
  // The end of the last line, and the empty line.
  const char* const end = last + std::strlen(last);
  const bool is_end = info.num_headers == 0
                          ? end[1] == '\0' && end[2] == '\0' && end[3] == '\0'
                          : end[1] == '\0' && end[2] == '\r' && end[3] == '\0';
  return is_end ? ""
                : "a line of the headers is no header, or does not end with "
                  "CR LF";
}

}  // namespace

Exchange::Exchange(mg_connection* connection, const HttpLimits& limits)
    : connection_(connection), limits_(limits) {
  const mg_request_info& info = *mg_get_request_info(connection);
  is_head_ = std::strcmp(info.request_method, "HEAD") == 0;
  request_.method = is_head_ ? "GET" : info.request_method;
  // Absent where the target is "*".
  if (info.local_uri_raw != nullptr) request_.path = info.local_uri_raw;
  if (info.query_string != nullptr) request_.query = info.query_string;
  request_.peer = absl::StrCat(info.remote_addr, ":", info.remote_port);
  request_.header = [this](absl::string_view name) { return Header(name); };
  is_read_ = !is_chunked() && info.content_length <= 0;
}

std::string Exchange::Header(absl::string_view name) const {
  const char* const value =
      mg_get_header(connection_, std::string(name).c_str());
  return value == nullptr ? "" : std::string(absl::StripAsciiWhitespace(value));
}

bool Exchange::is_http_1_0() const {
  const char* const version = mg_get_request_info(connection_)->http_version;
  return std::strcmp(version, "1.0") == 0;
}

bool Exchange::is_chunked() const {
  return !Header("Transfer-Encoding").empty();
}

bool Exchange::wants_more() const {
  const std::string wish = absl::AsciiStrToLower(Header("Connection"));
  if (absl::StrContains(wish, "close")) return false;
  return !is_http_1_0() || absl::StrContains(wish, "keep-alive");
}

std::string Exchange::HeaderProblem() const {
  const mg_request_info& info = *mg_get_request_info(connection_);
  if (request_.path.empty() || request_.path[0] != '/' ||
      !absl::StartsWith(info.request_uri, "/")) {
    return "the target of the request must be a path, as in /v1/rank";
  }
  if (std::string problem = LineProblem(info); !problem.empty()) return problem;
  for (const absl::string_view name :
       {"Host", "Origin", "Content-Length", "Content-Type", "Content-Encoding",
        "Transfer-Encoding", "Authorization", "Connection", "Expect",
        "X-Timeout-Ms"}) {
    const auto count =
        std::count_if(info.http_headers, info.http_headers + info.num_headers,
                      [&](const mg_header& h) {
                        return absl::EqualsIgnoreCase(h.name, name);
                      });
    if (count > 1) {
      return absl::StrCat("header \"", name, "\": stands there ", count,
                          " times, must be once");
    }
  }
  const std::string length = Header("Content-Length");
  if (!length.empty() && is_chunked()) {
    return "headers \"Content-Length\" and \"Transfer-Encoding\": there may be "
           "only one of them";
  }
  const std::string encoding = Header("Transfer-Encoding");
  if (!encoding.empty() &&
      (is_http_1_0() || !absl::EqualsIgnoreCase(encoding, "chunked"))) {
    return absl::StrCat("header \"Transfer-Encoding\" is \"", encoding,
                        "\": must be chunked, in HTTP/1.1");
  }
  uint64_t bytes = 0;
  if (!length.empty() &&
      (!std::all_of(length.begin(), length.end(), absl::ascii_isdigit) ||
       !absl::SimpleAtoi(length, &bytes))) {
    return absl::StrCat("header \"Content-Length\" is \"", length,
                        "\": must be a number of bytes");
  }
  return "";
}

std::optional<HttpAnswer> Exchange::CheckHeaders() {
  const std::string problem = HeaderProblem();
  if (problem.empty()) return CheckSupported();
  is_read_ = false;
  return Refusal(400, absl::StatusCode::kInvalidArgument, problem);
}

std::optional<HttpAnswer> Exchange::CheckSupported() const {
  const std::string expect = Header("Expect");
  if (!expect.empty() && !is_http_1_0() &&
      !absl::EqualsIgnoreCase(expect, "100-continue")) {
    return Refusal(417, absl::StatusCode::kInvalidArgument,
                   absl::StrCat("header \"Expect\" is \"", expect,
                                "\": must be 100-continue"));
  }
  const std::string range = Header("Content-Range");
  if (!range.empty()) {
    return Refusal(400, absl::StatusCode::kInvalidArgument,
                   absl::StrCat("header \"Content-Range\" is \"", range,
                                "\": must be absent, because a part of a body "
                                "is not a request; send the whole body"));
  }
  const std::string coding = Header("Content-Encoding");
  if (is_read_ || coding.empty() || absl::EqualsIgnoreCase(coding, kIdentity)) {
    return std::nullopt;
  }
  HttpAnswer answer =
      Refusal(415, absl::StatusCode::kInvalidArgument,
              absl::StrCat("header \"Content-Encoding\" is \"", coding,
                           "\": must be identity or absent; send the body "
                           "without compression"));
  answer.headers.emplace_back("Accept-Encoding", kIdentity);
  return answer;
}

std::optional<HttpAnswer> Exchange::CheckSize(uint64_t bytes) const {
  if (bytes <= limits_.max_body_bytes) return std::nullopt;
  return Refusal(413, absl::StatusCode::kInvalidArgument,
                 absl::StrCat("the body has more than http.max_body_bytes = ",
                              limits_.max_body_bytes, " bytes"));
}

void Exchange::SendContinue() const {
  if (Header("Expect").empty() || is_http_1_0()) return;
  Send(connection_, "HTTP/1.1 100 Continue\r\n\r\n", limits_.request_seconds);
}

std::optional<HttpAnswer> Exchange::ReadBody() {
  if (is_read_) return std::nullopt;
  const long long declared = mg_get_request_info(connection_)->content_length;
  const auto length =
      is_chunked() ? UINT64_MAX : static_cast<uint64_t>(declared);
  if (!is_chunked()) {
    if (auto refusal = CheckSize(length)) {
      // A client that waits for 100 Continue sends nothing.
      if (Header("Expect").empty()) TakeRest(limits_.request_seconds);
      return refusal;
    }
  }
  SendContinue();
  const Clock::time_point end = After(limits_.request_seconds);
  // Civetweb's time-out begins again with every byte.
  const InterruptTimer timer(limits_.request_seconds);
  std::string& body = request_.body;
  while (body.size() < length) {
    const size_t before = body.size();
    body.resize(before + kPieceBytes);
    const int read = mg_read(connection_, &body[before], kPieceBytes);
    body.resize(before + static_cast<size_t>(std::max(read, 0)));
    if (auto refusal = CheckSize(body.size())) {
      TakeRest(limits_.request_seconds);
      return refusal;
    }
    if (is_chunked() && read == 0) break;  // The last chunk has come.
    if (body.size() == length) break;
    if (Clock::now() >= end) {
      return Refusal(408, absl::StatusCode::kDeadlineExceeded,
                     absl::StrCat("the body did not arrive within "
                                  "http.request_seconds = ",
                                  limits_.request_seconds, " seconds"));
    }
    // The client has ended, or this server is about to.
    if (read <= 0) {
      return Refusal(400, absl::StatusCode::kInvalidArgument,
                     is_chunked() ? "the chunks of the body are malformed, or "
                                    "end early"
                                  : "the body ends early");
    }
  }
  is_read_ = true;
  return std::nullopt;
}

int Exchange::Write(const HttpAnswer& answer, bool is_kept) {
  is_kept = is_kept && is_read_;
  const bool is_sent =
      Send(connection_, AnswerText(connection_, answer, is_head_, is_kept),
           limits_.request_seconds);
  if (!is_kept || !is_sent) mg_disable_connection_keep_alive(connection_);
  if (is_sent && !is_read_) TakeRest(kMaxRestSeconds);
  return answer.code;
}

void Exchange::TakeRest(double seconds) {
  const Clock::time_point end = After(seconds);
  std::vector<char> buffer(kPieceBytes);
  for (uint64_t taken = 0; taken < kMaxRestBytes && Clock::now() < end;) {
    const InterruptTimer timer(kMaxRestSeconds);
    const int read = mg_read(connection_, buffer.data(), buffer.size());
    if (read <= 0) return;
    taken += static_cast<uint64_t>(read);
  }
}

void WriteLastAnswer(mg_connection* connection, const HttpAnswer& answer,
                     double seconds) {
  mg_disable_connection_keep_alive(connection);
  Send(connection, AnswerText(connection, answer, false, false), seconds);
}

}  // namespace sortition
