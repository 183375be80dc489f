#pragma once
// Files compressed by zstd in blocks, so that any place can be read without
// what is before it. They have the seekable format of zstd: a frame for each
// block, then a table of the frames in a frame that zstd(1) skips.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Writes a compressed copy of `from` to `to`: under the name `to`.tmp until it
// is whole and on the disk. Cancelled, and nothing is left, once `should_stop`
// returns true.
absl::Status CompressFile(const std::string& from, const std::string& to,
                          absl::FunctionRef<bool()> should_stop);

// Reads a compressed file. Not thread-safe.
class CompressedFile {
 public:
  // Finds the blocks one by one if their table is damaged. DataLoss if there is
  // none.
  static absl::StatusOr<std::unique_ptr<CompressedFile>> Open(
      const std::string& path);
  ~CompressedFile();
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;

  // Bytes of the file that was compressed.
  uint64_t size() const { return blocks_.back().offset; }

  // Reads `size` of these bytes at `offset` into `data`, fewer at the end, and
  // returns how many. All bytes of a damaged block are 0xFF.
  uint64_t Read(uint64_t offset, char* data, uint64_t size);

 private:
  struct Block {
    uint64_t place = 0;   // In the compressed file.
    uint64_t offset = 0;  // In the file that was compressed.
  };

  CompressedFile(int fd, std::string path);
  absl::Status FindBlocks();
  // Return with `blocks_` empty if they find no blocks.
  bool ReadTable(uint64_t file_bytes);
  void ScanBlocks(uint64_t file_bytes);
  // Makes `bytes_` those of block `number`.
  void Load(size_t number);

  const int fd_;
  const std::string path_;
  std::vector<Block> blocks_;  // The last one is the end of the others.
  size_t loaded_;              // Block in `bytes_`; blocks_.size(): none.
  std::string compressed_;
  std::string bytes_;
};

}  // namespace sortition
