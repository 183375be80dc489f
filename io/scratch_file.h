#pragma once
// A file for what does not fit memory, without a name: gone with its process,
// however that ends.
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
  // Left free on the disk for others, who may be writing a log there.
  static constexpr uint64_t kReserveBytes = uint64_t{256} << 20;

  // A file of at most `max_bytes` in `dir`; NotFound, PermissionDenied, … as
  // PosixStatus().
  static absl::StatusOr<std::unique_ptr<ScratchFile>> Create(
      const std::string& dir, uint64_t max_bytes);
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Appends the concatenation of `pieces`, at most 16; returns where it starts.
  // ResourceExhausted where `max_bytes` or the disk, but for kReserveBytes, are
  // full. After an error the file is what it was.
  absl::StatusOr<uint64_t> Append(std::span<const absl::string_view> pieces);

  // Copies `size` bytes to an earlier place, which may overlap. Requires
  // to <= from.
  absl::Status MoveDown(uint64_t from, uint64_t to, uint64_t size);
  // Requires size <= bytes().
  absl::Status Truncate(uint64_t size);

  // Unavailable where the disk fails; OutOfRange beyond the end. Thread-safe
  // while nothing writes.
  absl::Status Read(uint64_t offset, void* data, size_t size) const;

  // Lets the kernel fetch what will be read, if it has not got it in memory.
  void WillRead(uint64_t offset, size_t size) const;

  uint64_t bytes() const { return bytes_; }
  const std::string& dir() const { return dir_; }
  // In memory after all, as tmpfs is.
  bool in_memory() const;

 private:
  ScratchFile(int fd, std::string dir, uint64_t max_bytes);
  absl::Status CheckRoom(uint64_t size);

  const int fd_;
  const std::string dir_;
  const uint64_t max_bytes_;
  uint64_t bytes_ = 0;
  uint64_t checked_bytes_ = 0;  // The disk was asked for room up to here.
};

// $TMPDIR, or else /var/tmp: /tmp is memory on many machines.
std::string DefaultScratchDirectory();

}  // namespace sortition
