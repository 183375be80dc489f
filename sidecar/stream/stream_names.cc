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
constexpr size_t kMostWriterBytes = 64;

bool IsWriter(absl::string_view id) {
  return !id.empty() && id.size() <= kMostWriterBytes && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
                  c == '_' || c == '-' || c == '.';
         });
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
  return std::string(
      segment.substr(kTimeDigits + 1, counter - kTimeDigits - 1));
}

absl::Status ValidateNames(const log::v1::StreamMessage& message) {
  if (!IsWriter(message.writer_id())) {
    return absl::InvalidArgumentError(
        absl::StrCat("writer_id is '", message.writer_id(),
                     "', must be 1 to 64 letters, digits, '_', '-' or '.', "
                     "the first of them no '.'"));
  }
  if (message.segment().empty() ||
      (WriterOfSegment(message.segment()) == message.writer_id() &&
       !absl::StrContains(message.segment(), '/'))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("segment is '", message.segment(),
                   "', must be a segment of writer ", message.writer_id()));
}

}  // namespace sortition
