#pragma once
// Disks that fail. A program that links this has its own versions of some
// functions of libc, which fail where a test says so.
#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace sortition {

enum class FileCall {
  kWrite,     // pwritev, write
  kSync,      // fdatasync, fsync
  kTruncate,  // ftruncate
  kAllocate,  // fallocate
  kCreate,    // mkostemps
  kList,      // opendir
};

// As long as it lives, calls of one kind fail on files whose path contains a
// text. Thread-safe.
class FileFault {
 public:
  struct Options {
    FileCall call = FileCall::kWrite;
    std::string path;
    int error = 0;                                // errno.
    int skip = 0;                                 // Calls that succeed first.
    int count = std::numeric_limits<int>::max();  // Calls that fail then.
    // kSync: what no earlier sync has covered is lost, as if the kernel had
    // dropped its pages. Wants a FakeDisk.
    bool forgets = false;
  };

  explicit FileFault(const Options& options);
  ~FileFault();
  FileFault(const FileFault&) = delete;
  FileFault& operator=(const FileFault&) = delete;

  int num_failures() const;

 private:
  int id_ = 0;
};

// As long as it lives, syncs do not return. One at a time.
class SyncStall {
 public:
  SyncStall();
  ~SyncStall();
  SyncStall(const SyncStall&) = delete;
  SyncStall& operator=(const SyncStall&) = delete;

  int num_waiting() const;
};

// As long as it lives, hears of every file that was synced, and of every file
// that unlink(2) is about to remove. One at a time.
class FileListener {
 public:
  using Hear = std::function<void(const std::string& path)>;

  FileListener(Hear synced, Hear about_to_be_removed);
  ~FileListener();
  FileListener(const FileListener&) = delete;
  FileListener& operator=(const FileListener&) = delete;
};

// As long as it lives, remembers what of each file whose path contains a text
// is on the disk and not only in the page cache. One at a time.
class FakeDisk {
 public:
  explicit FakeDisk(const std::string& path);
  ~FakeDisk();
  FakeDisk(const FakeDisk&) = delete;
  FakeDisk& operator=(const FakeDisk&) = delete;

  // Cuts the power: bytes that no sync has covered become zero, but for files
  // that the kernel had brought to the disk before.
  using IsKept = std::function<bool(const std::string& name)>;
  void CutPower(const std::string& dir, const IsKept& is_kept = nullptr) const;
};

}  // namespace sortition
