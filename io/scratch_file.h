#pragma once
// An unnamed temporary file for data that does not fit into memory. It
// disappears with its process, however that ends.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

class ScratchFile {
 public:
  // Kept free on the disk for other processes, which may be writing a log
  // there.
  static constexpr uint64_t kReserveBytes = uint64_t{256} << 20;

  // Creates a file of at most `max_bytes` in `dir`. Errors have the codes of
  // PosixStatus().
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(
      const std::string& dir, uint64_t max_bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Appends the concatenation of `pieces`, at most 16, and returns the offset
  // where it starts. ResourceExhausted if the file would exceed `max_bytes`, or
  // if less than kReserveBytes would be left on the disk. After an error the
  // file is unchanged.
  absl::StatusOr<uint64_t> Append(std::span<const absl::string_view> pieces);

  // Copies `size` bytes from offset `from` to offset `to`; the ranges may
  // overlap. Requires to <= from.
  absl::Status MoveDown(uint64_t from, uint64_t to, uint64_t size);
  // Shortens the file to `size`. Requires size <= bytes().
  absl::Status Truncate(uint64_t size);

  // Reads `size` bytes at `offset`. Unavailable if the disk fails; OutOfRange
  // beyond the end. Thread-safe while no thread writes.
  absl::Status Read(uint64_t offset, void* data, size_t size) const;

  // Tells the kernel to start reading these bytes if they are not in memory.
  void WillRead(uint64_t offset, size_t size) const;

  uint64_t bytes() const { return bytes_; }
  const std::string& dir() const { return dir_; }
  // True if the file system of the file is in memory, such as tmpfs.
  bool in_memory() const;

 private:
  ScratchFile(int fd, std::string dir, uint64_t max_bytes);
  absl::Status CheckRoom(uint64_t size);

  const int fd_;
  const std::string dir_;
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  uint64_t checked_bytes_ = 0;  // Free space was checked up to here.
};

// Returns $TMPDIR or, if that is not set, /var/tmp, because /tmp is in memory
// on many machines.
std::string DefaultScratchDirectory();

}  // namespace sortition
