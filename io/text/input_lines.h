#pragma once
// The lines of a file of any size, without the UTF-8 byte order mark that the
// first one may begin with.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// A line without its end. A 0 follows it, and it may be written to.
struct InputLine {
  char* data = nullptr;
  size_t size = 0;
  uint64_t number = 0;  // From 1.
  uint64_t lines = 1;   // More if there are line breaks within quotes.

  absl::string_view text() const { return {data, size}; }
  bool IsUtf8() const;
};

// Leaves out a UTF-8 byte order mark at the beginning of the file. Not
// thread-safe.
class InputLines {
 public:
  static constexpr size_t kMostLineBytes = size_t{1} << 28;

  // "-" is stdin. If `quoted`, a line break within double quotes ends no line.
  static absl::StatusOr<std::unique_ptr<InputLines>> Open(
      const std::string& path, bool quoted);
  // Reads `fd`, which it closes; `name` is for messages.
  InputLines(int fd, std::string name, bool quoted);
  ~InputLines();
  InputLines(const InputLines&) = delete;
  InputLines& operator=(const InputLines&) = delete;

  // Returns false at the end. The line is valid until the next call. A quote
  // that is never closed is an error: it is not known where lines end.
  absl::StatusOr<bool> Next(InputLine* line);

  uint64_t bytes_read() const { return bytes_read_; }

 private:
  // Appends bytes of the file; returns false at its end.
  absl::StatusOr<bool> Fill();
  // InvalidArgument if the file begins as one that is not UTF-8 text does.
  absl::Status CheckStart() const;
  // Returns the place of the line end from `begin_` on, or npos.
  size_t FindEnd();

  const int fd_;
  const std::string name_;
  const bool quoted_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // Of the next line.
  size_t end_ = 0;       // Of what was read.
  size_t scanned_ = 0;   // No line ends before.
  uint64_t breaks_ = 0;  // Line breaks within quotes up to there.
  bool in_quotes_ = false;
  uint64_t number_ = 1;
  uint64_t bytes_read_ = 0;
};

}  // namespace sortition
