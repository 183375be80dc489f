#include "io/segments/compressed_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

constexpr uint64_t kBlockBytes = 1 << 20;
// No block of a file that we read is larger.
constexpr uint64_t kMaxBlockBytes = 1 << 26;
// ZSTD_FRAMEHEADERSIZE_MAX, which only the static library has.
constexpr uint64_t kMaxFrameHeadBytes = 18;

// The table of the seekable format: magic and size of a skippable frame, an
// entry for each block (u32 compressed bytes, u32 bytes), their number, flags,
// magic; little-endian.
constexpr uint32_t kTableMagic = 0x184D2A5E;
constexpr uint32_t kTableEndMagic = 0x8F92EAB1;
constexpr uint64_t kTableHeadBytes = 8;
constexpr uint64_t kTableEntryBytes = 8;
constexpr uint64_t kTableEndBytes = 9;

void PutUint32(uint32_t value, std::string* bytes) {
  for (int shift = 0; shift < 32; shift += 8) {
    bytes->push_back(static_cast<char>(value >> shift & 0xFF));
  }
}

uint32_t GetUint32(absl::string_view bytes, uint64_t offset) {
  uint32_t value = 0;
  std::memcpy(&value, bytes.data() + offset, sizeof(value));
  return value;
}

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};

absl::Status ZstdStatus(size_t code, const std::string& path) {
  return absl::InternalError(absl::StrCat("zstd cannot compress ", path, ": ",
                                          ZSTD_getErrorName(code)));
}

// Compresses all of the file `from` to the file `to`.
absl::Status CompressBlocks(int from, const std::string& from_path, int to,
                            const std::string& to_path,
                            absl::FunctionRef<bool()> should_stop) {
  const std::unique_ptr<ZSTD_CCtx, ContextDeleter> context(ZSTD_createCCtx());
  // A damaged block must be noticed.
  const size_t code =
      ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  if (ZSTD_isError(code) != 0) return ZstdStatus(code, from_path);
  std::string block;
  std::string compressed(ZSTD_compressBound(kBlockBytes), '\0');
  std::string entries;
  uint32_t num_blocks = 0;
  uint64_t written = 0;
  for (uint64_t offset = 0;; offset += block.size()) {
    if (should_stop()) return absl::CancelledError("stopped");
    ReadAt(from, offset, kBlockBytes, &block);
    if (block.empty()) break;
    const size_t size =
        ZSTD_compress2(context.get(), compressed.data(), compressed.size(),
                       block.data(), block.size());
    if (ZSTD_isError(size) != 0) return ZstdStatus(size, from_path);
    RETURN_IF_ERROR(
        WriteAll(to, to_path, &written,
                 {ToIovec(absl::string_view(compressed).substr(0, size))}));
    PutUint32(static_cast<uint32_t>(size), &entries);
    PutUint32(static_cast<uint32_t>(block.size()), &entries);
    ++num_blocks;
  }
  std::string head;
  PutUint32(kTableMagic, &head);
  PutUint32(static_cast<uint32_t>(entries.size() + kTableEndBytes), &head);
  PutUint32(num_blocks, &entries);
  entries.push_back('\0');  // No checksums in the table.
  PutUint32(kTableEndMagic, &entries);
  return WriteAll(to, to_path, &written, {ToIovec(head), ToIovec(entries)});
}

absl::Status CompressTo(const std::string& from, const std::string& to,
                        absl::FunctionRef<bool()> should_stop) {
  const int source = open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (source < 0) return PosixStatus(errno, from, "cannot open");
  const absl::Cleanup source_closer = [source] { close(source); };
  const int target =
      open(to.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (target < 0) return PosixStatus(errno, to, "cannot create");
  const absl::Cleanup target_closer = [target] { close(target); };
  RETURN_IF_ERROR(CompressBlocks(source, from, target, to, should_stop));
  return SyncFile(target, to);
}

}  // namespace

absl::Status CompressFile(const std::string& from, const std::string& to,
                          absl::FunctionRef<bool()> should_stop) {
  const std::string temporary = to + ".tmp";
  absl::Status status = CompressTo(from, temporary, should_stop);
  // A disk that returns fewer bytes than the file has must not shorten it.
  if (status.ok()) {
    const auto file = CompressedFile::Open(temporary);
    std::error_code error;
    const uint64_t expected = std::filesystem::file_size(from, error);
    status = file.status();
    if (status.ok() && (error || (*file)->size() != expected)) {
      status = PosixStatus(EIO, from, "cannot read");
    }
  }
  if (status.ok() && rename(temporary.c_str(), to.c_str()) != 0) {
    status = PosixStatus(errno, to, "cannot rename to");
  }
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncDirectory(std::filesystem::path(to).parent_path().string());
}

CompressedFile::CompressedFile(int fd, std::string path)
    : fd_(fd), path_(std::move(path)), loaded_(0) {}

CompressedFile::~CompressedFile() { close(fd_); }

absl::StatusOr<std::unique_ptr<CompressedFile>> CompressedFile::Open(
    const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  std::unique_ptr<CompressedFile> file(new CompressedFile(fd, path));
  RETURN_IF_ERROR(file->FindBlocks());
  return file;
}

absl::Status CompressedFile::FindBlocks() {
  const off_t end = lseek(fd_, 0, SEEK_END);
  if (end < 0) return PosixStatus(errno, path_, "cannot seek in");
  const auto file_bytes = static_cast<uint64_t>(end);
  if (!ReadTable(file_bytes)) ScanBlocks(file_bytes);
  if (blocks_.empty()) {
    return absl::DataLossError(
        absl::StrCat(path_,
                     ": neither the table of its blocks nor the blocks can be "
                     "read; move the file away to go on without it"));
  }
  loaded_ = blocks_.size();
  return absl::OkStatus();
}

bool CompressedFile::ReadTable(uint64_t file_bytes) {
  if (file_bytes < kTableHeadBytes + kTableEndBytes) return false;
  std::string bytes;
  ReadAt(fd_, file_bytes - kTableEndBytes, kTableEndBytes, &bytes);
  if (bytes.size() < kTableEndBytes || bytes[4] != 0 ||
      GetUint32(bytes, 5) != kTableEndMagic) {
    return false;
  }
  const uint64_t num_blocks = GetUint32(bytes, 0);
  const uint64_t table_bytes =
      kTableHeadBytes + num_blocks * kTableEntryBytes + kTableEndBytes;
  if (table_bytes > file_bytes) return false;
  ReadAt(fd_, file_bytes - table_bytes, table_bytes, &bytes);
  if (bytes.size() < table_bytes || GetUint32(bytes, 0) != kTableMagic ||
      GetUint32(bytes, 4) + kTableHeadBytes != table_bytes) {
    return false;
  }
  std::vector<Block> blocks(1);
  for (uint64_t i = 0; i < num_blocks; ++i) {
    const uint64_t entry = kTableHeadBytes + i * kTableEntryBytes;
    const uint64_t block_bytes = GetUint32(bytes, entry + 4);
    if (block_bytes == 0 || block_bytes > kMaxBlockBytes) return false;
    const Block& last = blocks.back();
    blocks.push_back(
        {last.place + GetUint32(bytes, entry), last.offset + block_bytes});
  }
  if (blocks.back().place + table_bytes != file_bytes) return false;
  blocks_ = std::move(blocks);
  return true;
}

// Each block tells its own sizes, up to the first one whose head is damaged.
void CompressedFile::ScanBlocks(uint64_t file_bytes) {
  std::vector<Block> blocks(1);
  std::string head;
  std::string block;
  while (true) {
    const Block last = blocks.back();
    const uint64_t rest = file_bytes - last.place;
    ReadAt(fd_, last.place, std::min(rest, kMaxFrameHeadBytes), &head);
    const unsigned long long size =  // NOLINT(google-runtime-int): of zstd.
        ZSTD_getFrameContentSize(head.data(), head.size());
    if (size == 0 || size > kMaxBlockBytes) break;
    ReadAt(fd_, last.place, std::min<uint64_t>(rest, ZSTD_compressBound(size)),
           &block);
    const size_t bytes =
        ZSTD_findFrameCompressedSize(block.data(), block.size());
    if (ZSTD_isError(bytes) != 0) break;
    blocks.push_back({last.place + bytes, last.offset + size});
  }
  if (blocks.size() > 1) blocks_ = std::move(blocks);
}

void CompressedFile::Load(size_t number) {
  if (loaded_ == number) return;
  const Block& block = blocks_[number];
  const Block& next = blocks_[number + 1];
  ReadAt(fd_, block.place, next.place - block.place, &compressed_);
  bytes_.resize(next.offset - block.offset);
  const size_t size = ZSTD_decompress(bytes_.data(), bytes_.size(),
                                      compressed_.data(), compressed_.size());
  if (ZSTD_isError(size) != 0 || size != bytes_.size()) {
    bytes_.assign(bytes_.size(), '\xFF');
  }
  loaded_ = number;
}

uint64_t CompressedFile::Read(uint64_t offset, char* data, uint64_t size) {
  uint64_t filled = 0;
  while (filled < size && offset + filled < this->size()) {
    const uint64_t at = offset + filled;
    const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), at,
                                        [](uint64_t value, const Block& block) {
                                          return value < block.offset;
                                        });
    const auto number = static_cast<size_t>(after - blocks_.begin()) - 1;
    Load(number);
    const uint64_t begin = at - blocks_[number].offset;
    const uint64_t count = std::min(size - filled, bytes_.size() - begin);
    std::memcpy(data + filled, bytes_.data() + begin, count);
    filled += count;
  }
  return filled;
}

}  // namespace sortition
