#include "io/text/input_lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "rapidjson/encodings.h"
#include "rapidjson/stream.h"

namespace sortition {
namespace {

constexpr size_t kReadBytes = size_t{1} << 17;
constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

bool InputLine::IsUtf8() const {
  // Nearly all lines are ASCII, which is checked by words.
  constexpr uint64_t kHighBits = 0x8080808080808080;
  uint64_t bits = 0;
  size_t place = 0;
  for (; place + sizeof(uint64_t) <= size; place += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, data + place, sizeof word);
    bits |= word;
  }
  for (; place < size; ++place) bits |= static_cast<uint64_t>(data[place]);
  if ((bits & kHighBits) == 0) return true;
  // A 0 follows the line.
  rapidjson::StringStream stream(data);
  unsigned ignored = 0;
  while (stream.Tell() < size) {
    if (!rapidjson::UTF8<>::Decode(stream, &ignored)) return false;
  }
  return true;
}

absl::StatusOr<std::unique_ptr<InputLines>> InputLines::Open(
    const std::string& path, bool quoted) {
  const int fd = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  return std::make_unique<InputLines>(fd, path, quoted);
}

InputLines::InputLines(int fd, std::string name, bool quoted)
    : fd_(fd), name_(std::move(name)), quoted_(quoted) {}

InputLines::~InputLines() { close(fd_); }

absl::StatusOr<bool> InputLines::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    scanned_ -= begin_;
    begin_ = 0;
  }
  // One byte is left for the 0 behind the last line.
  if (buffer_.size() < end_ + kReadBytes + 1) {
    buffer_.resize(std::max(2 * buffer_.size(), end_ + kReadBytes + 1));
  }
  while (true) {
    const ssize_t count = read(fd_, buffer_.data() + end_, kReadBytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, name_, "cannot read");
    end_ += static_cast<size_t>(count);
    bytes_read_ += static_cast<uint64_t>(count);
    return count > 0;
  }
}

absl::Status InputLines::CheckStart() const {
  const absl::string_view start(buffer_.data() + begin_, end_ - begin_);
  const auto refuse = [&](absl::string_view what, absl::string_view command) {
    return absl::InvalidArgumentError(absl::StrCat(
        name_, " is ", what, ", must be UTF-8 text; '", command, " ", name_,
        "' prints it as such, and - is standard input"));
  };
  if (absl::StartsWith(start, "\x1f\x8b")) {
    return refuse("compressed by gzip", "zcat");
  }
  if (absl::StartsWith(start, "\x28\xb5\x2f\xfd")) {
    return refuse("compressed by zstd", "zstdcat");
  }
  if (absl::StartsWith(start, "\xff\xfe") ||
      absl::StartsWith(start, "\xfe\xff")) {
    return refuse("text in UTF-16", "iconv -f UTF-16 -t UTF-8");
  }
  return absl::OkStatus();
}

size_t InputLines::FindEnd() {
  const char* const data = buffer_.data();
  while (scanned_ < end_) {
    const void* const found =
        std::memchr(data + scanned_, '\n', end_ - scanned_);
    const size_t stop =
        found == nullptr
            ? end_
            : static_cast<size_t>(static_cast<const char*>(found) - data);
    if (quoted_) {
      const auto quotes = std::count(data + scanned_, data + stop, '"');
      in_quotes_ ^= quotes % 2 != 0;
    }
    if (found == nullptr) {
      scanned_ = end_;
      break;
    }
    scanned_ = stop + 1;
    if (!in_quotes_) return stop;
    ++breaks_;
  }
  return std::string::npos;
}

absl::StatusOr<bool> InputLines::Next(InputLine* line) {
  if (bytes_read_ == 0) {
    RETURN_IF_ERROR(Fill().status());
    RETURN_IF_ERROR(CheckStart());
  }
  size_t stop = FindEnd();
  while (stop == std::string::npos) {
    if (end_ - begin_ > kMostLineBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(name_, ":", number_, ": the line has more than ",
                       kMostLineBytes, " bytes"));
    }
    ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) {
      if (begin_ == end_) return false;
      if (in_quotes_) {
        return absl::InvalidArgumentError(
            absl::StrCat(name_, ":", number_, ": a quote is never closed"));
      }
      stop = end_;
      break;
    }
    stop = FindEnd();
  }
  if (number_ == 1 &&
      absl::StartsWith(
          absl::string_view(buffer_.data() + begin_, stop - begin_),
          kByteOrderMark)) {
    begin_ += kByteOrderMark.size();
  }
  line->data = buffer_.data() + begin_;
  line->size = stop - begin_;
  line->number = number_;
  line->lines = 1 + breaks_;
  if (line->size > 0 && line->data[line->size - 1] == '\r') --line->size;
  line->data[line->size] = '\0';
  number_ += line->lines;
  breaks_ = 0;
  in_quotes_ = false;
  begin_ = std::min(stop + 1, end_);
  scanned_ = begin_;
  return true;
}

}  // namespace sortition
