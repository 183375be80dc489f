#include "io/upkeep/segment_rewrite.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/posix_status.h"
#include "io/segments/compressed_file.h"
#include "io/segments/record_frame.h"
#include "io/segments/segment.h"
#include "io/segments/segment_file.h"

namespace sortition {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// A new file, synced by Finish(). Without it the file is removed.
class NewFile {
 public:
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(
      const std::string& path) {
    const int fd =
        open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0) return PosixStatus(errno, path, "cannot create");
    return std::unique_ptr<NewFile>(new NewFile(fd, path));
  }
  ~NewFile() {
    close(fd_);
    if (!is_finished_) unlink(path_.c_str());
  }

  absl::Status Append(absl::string_view bytes) {
    chunk_.append(bytes.data(), bytes.size());
    return chunk_.size() < kChunkBytes ? absl::OkStatus() : Flush();
  }
  absl::Status Finish() {
    RETURN_IF_ERROR(Flush());
    RETURN_IF_ERROR(SyncFile(fd_, path_));
    is_finished_ = true;
    return absl::OkStatus();
  }

 private:
  NewFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  absl::Status Flush() {
    if (chunk_.empty()) return absl::OkStatus();
    RETURN_IF_ERROR(WriteAll(fd_, path_, &offset_, {ToIovec(chunk_)}));
    chunk_.clear();
    return absl::OkStatus();
  }

  const int fd_;
  const std::string path_;
  uint64_t offset_ = 0;
  std::string chunk_;
  bool is_finished_ = false;
};

// Writes the edited records of the segment to `to`.
absl::Status WriteEdited(SegmentReader* reader, SegmentEdit* edit,
                         const std::string& to) {
  ASSIGN_OR_RETURN(const auto file, NewFile::Create(to));
  std::string frame;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader->Next(&payload, &offset));
    if (outcome == SegmentReader::Outcome::kCorrupt) {
      RETURN_IF_ERROR(file->Append(edit->Wipes(payload)
                                       ? std::string(payload.size(), '\xFF')
                                       : std::string(payload)));
      continue;
    }
    if (outcome != SegmentReader::Outcome::kRecord) return file->Finish();
    ASSIGN_OR_RETURN(const std::optional<std::string> other,
                     edit->Replace(payload));
    if (other.has_value() && other->size() != payload.size()) {
      return absl::InternalError(absl::StrCat("a record of ", payload.size(),
                                              " bytes cannot become one of ",
                                              other->size(), " bytes"));
    }
    frame.clear();
    AppendFrame(other.has_value() ? absl::string_view(*other) : payload,
                &frame);
    RETURN_IF_ERROR(file->Append(frame));
  }
}

// Gives `to` mode, owner and times of `from`. The owner stays that of the
// process if it has no right to change it.
absl::Status CopyAttributes(const struct stat& from, const std::string& to) {
  if (chown(to.c_str(), from.st_uid, from.st_gid) != 0 && errno != EPERM) {
    return PosixStatus(errno, to, "cannot change the owner");
  }
  if (chmod(to.c_str(), from.st_mode & 07777) != 0) {
    return PosixStatus(errno, to, "cannot change the mode");
  }
  const timespec times[2] = {from.st_atim, from.st_mtim};
  if (utimensat(AT_FDCWD, to.c_str(), times, 0) != 0) {
    return PosixStatus(errno, to, "cannot change the time");
  }
  return absl::OkStatus();
}

// Lets `from` take the place of `to`, if that is still there: a plain rename
// would bring back a segment that was removed meanwhile.
absl::StatusOr<bool> Exchange(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(),
                RENAME_EXCHANGE) == 0) {
    return true;
  }
  if (errno == ENOENT) {
    if (access(to.c_str(), F_OK) != 0) return false;
    // A sidecar that starts removes temporary files.
    return absl::UnavailableError(
        absl::StrCat(from, " was removed before it could take the place of ",
                     to, ": try again"));
  }
  // A file system that cannot do it.
  if (errno != EINVAL && errno != ENOSYS) {
    return PosixStatus(errno, to, "cannot replace");
  }
  if (access(to.c_str(), F_OK) != 0) return false;
  if (rename(from.c_str(), to.c_str()) == 0) return true;
  return PosixStatus(errno, to, "cannot replace");
}

absl::Status Remove(const std::string& path) {
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return PosixStatus(errno, path, "cannot remove");
}

}  // namespace

absl::StatusOr<bool> RewriteSegmentRecords(const std::string& path,
                                           SegmentEdit* edit) {
  const auto reader = SegmentReader::Open(path);
  if (absl::IsNotFound(reader.status())) return false;
  RETURN_IF_ERROR(reader.status());
  const std::string compressed = CompressedSegmentPath(path);
  struct stat plain_info = {}, compressed_info = {};
  const bool is_plain = stat(path.c_str(), &plain_info) == 0;
  const bool is_compressed = stat(compressed.c_str(), &compressed_info) == 0;
  if (!is_plain && !is_compressed) return false;
  std::string changed = path + kRewriteSuffix;
  RETURN_IF_ERROR(WriteEdited(reader->get(), edit, changed));
  std::string target = path;
  if (!is_plain) {
    const std::string packed = compressed + kRewriteSuffix;
    const absl::Status status =
        CompressFile(changed, packed, [] { return false; });
    RETURN_IF_ERROR(Remove(changed));
    RETURN_IF_ERROR(status);
    changed = packed;
    target = compressed;
  }
  RETURN_IF_ERROR(
      CopyAttributes(is_plain ? plain_info : compressed_info, changed));
  const std::string dir = std::filesystem::path(path).parent_path().string();
  if (is_plain && is_compressed) {
    // The old copy goes first: nobody may take it for the segment later.
    RETURN_IF_ERROR(Remove(compressed));
    RETURN_IF_ERROR(SyncDirectory(dir));
  }
  ASSIGN_OR_RETURN(const bool is_done, Exchange(changed, target));
  RETURN_IF_ERROR(SyncDirectory(dir));
  RETURN_IF_ERROR(Remove(changed));
  return is_done;
}

absl::Status RemoveRewriteLeftovers(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  for (const std::string& name : names) {
    if (absl::EndsWith(name, kRewriteSuffix) ||
        absl::EndsWith(name, absl::StrCat(kRewriteSuffix, ".tmp"))) {
      RETURN_IF_ERROR(Remove(absl::StrCat(dir, "/", name)));
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
