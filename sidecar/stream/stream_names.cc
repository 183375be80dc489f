#include "sidecar/stream/stream_names.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/spool/writer_state.h"

namespace sortition {
namespace {

// "<16 hexadecimal digits>-<writer>-<6 or more digits>.seg"
constexpr size_t kMaxWriterBytes = 64;

// A name that ends with ".lock" or ".tmp" is that of a file of the mirror.
absl::Status ValidateWriter(absl::string_view id) {
  const bool is_good =
      !id.empty() && id.size() <= kMaxWriterBytes && id[0] != '.' &&
      !absl::EndsWith(id, ".lock") && !absl::EndsWith(id, ".tmp") &&
      std::all_of(id.begin(), id.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               c == '-' || c == '.';
      });
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the writer id is '", id.substr(0, kMaxWriterBytes),
      "', must be 1 to 64 letters, digits, '_', '-' or '.', must not begin "
      "with '.' and must not end with '.lock' or '.tmp'; set spool.writer_id "
      "of its server"));
}

}  // namespace

std::string WriterOfSegment(absl::string_view segment) {
  if (!absl::ConsumeSuffix(&segment, ".seg") ||
      segment.size() <= kTimeDigits + 1 || segment[kTimeDigits] != '-') {
    return "";
  }
  const absl::string_view time = segment.substr(0, kTimeDigits);
  if (!std::all_of(time.begin(), time.end(), [](char c) {
        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
      })) {
    return "";
  }
  const size_t counter = segment.rfind('-');
  if (counter <= kTimeDigits) return "";
  const absl::string_view digits = segment.substr(counter + 1);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), [](char c) {
        return absl::ascii_isdigit(static_cast<unsigned char>(c));
      })) {
    return "";
  }
  return std::string(
      segment.substr(kTimeDigits + 1, counter - kTimeDigits - 1));
}

absl::StatusOr<std::string> WriterOfSubject(absl::string_view subject,
                                            absl::string_view stream) {
  absl::string_view writer = subject;
  if (!absl::ConsumePrefix(&writer, stream) ||
      !absl::ConsumePrefix(&writer, ".")) {
    return absl::InvalidArgumentError(absl::StrCat("the subject is '", subject,
                                                   "', must be '", stream,
                                                   ".' and the writer id"));
  }
  RETURN_IF_ERROR(ValidateWriter(writer));
  return std::string(writer);
}

absl::Status ValidateNames(absl::string_view writer,
                           const log::v1::StreamMessage& message) {
  RETURN_IF_ERROR(ValidateWriter(writer));
  if (message.writer_id() != writer) {
    return absl::InvalidArgumentError(
        absl::StrCat("writer_id of the message is '", message.writer_id(),
                     "', must be that of its subject, '", writer, "'"));
  }
  if (WriterOfSegment(message.segment()) == writer) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("segment of the message is '", message.segment(),
                   "', must be a segment of writer '", writer, "'"));
}

}  // namespace sortition
