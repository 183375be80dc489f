#include "client/export/export_output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/posix_status.h"
#include "io/umask.h"

namespace sortition {
namespace {

constexpr size_t kWriteBytes = 1 << 20;

}  // namespace

ExportOutput::ExportOutput(std::string path, std::ostream* standard)
    : path_(std::move(path)), standard_(standard) {}

ExportOutput::~ExportOutput() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

absl::StatusOr<std::unique_ptr<ExportOutput>> ExportOutput::Open(
    const std::string& path, std::ostream* standard) {
  std::unique_ptr<ExportOutput> output(new ExportOutput(path, standard));
  if (path == "-") return output;
  const std::filesystem::path name(path);
  std::string temporary =
      (name.parent_path() /
       absl::StrCat(".", name.filename().string(), ".tmp-XXXXXX"))
          .string();
  output->fd_ = mkostemp(temporary.data(), O_CLOEXEC);
  if (output->fd_ < 0) return PosixStatus(errno, temporary, "cannot create");
  output->temporary_ = temporary;
  if (fchmod(output->fd_, 0644 & ~ProcessUmask()) != 0) {
    return PosixStatus(errno, temporary, "cannot change mode of");
  }
  return output;
}

absl::Status ExportOutput::FlushIfLarge() {
  return buffer_.size() < kWriteBytes ? absl::OkStatus() : Flush();
}

absl::Status ExportOutput::Flush() {
  if (path_ == "-") {
    standard_->write(buffer_.data(),
                     static_cast<std::streamsize>(buffer_.size()));
    standard_->flush();
    buffer_.clear();
    return *standard_ ? absl::OkStatus()
                      : absl::UnavailableError("cannot write to the output");
  }
  size_t written = 0;
  while (written < buffer_.size()) {
    const ssize_t count =
        write(fd_, buffer_.data() + written, buffer_.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return PosixStatus(errno, temporary_, "cannot write");
    written += static_cast<size_t>(count);
  }
  buffer_.clear();
  return absl::OkStatus();
}

absl::Status ExportOutput::Publish() {
  RETURN_IF_ERROR(Flush());
  if (path_ == "-") return absl::OkStatus();
  if (fsync(fd_) != 0) return PosixStatus(errno, temporary_, "cannot sync");
  if (rename(temporary_.c_str(), path_.c_str()) != 0) {
    return PosixStatus(errno, path_, "cannot rename to");
  }
  temporary_.clear();
  return absl::OkStatus();
}

}  // namespace sortition
