#include "tests/testing/file_faults.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace sortition {
namespace {

struct Fault {
  FileFault::Options options;
  int num_calls = 0;
  int num_failures = 0;
};

// Never destroyed: calls come until the process ends.
struct World {
  std::mutex mutex;
  int last_id = 0;
  std::map<int, Fault> faults;
  bool has_disk = false;
  std::string disk_path;
  std::map<ino_t, std::string> durable;  // Contents by inode.
  bool is_stalled = false;
  std::condition_variable stall_ended;
  int num_waiting = 0;
  FileListener::Hear synced;  // Empty: nobody listens.
  FileListener::Hear about_to_be_removed;
};

World& TheWorld() {
  static World* const kWorld = new World;
  return *kWorld;
}

std::string PathOf(int fd) {
  char path[4096];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t size = readlink(link.c_str(), path, sizeof path);
  return size < 0 ? "" : std::string(path, static_cast<size_t>(size));
}

ino_t InodeOf(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

std::string Contents(int fd) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return "";
  std::string contents(static_cast<size_t>(info.st_size), '\0');
  const ssize_t count = pread(fd, contents.data(), contents.size(), 0);
  contents.resize(count < 0 ? 0 : static_cast<size_t>(count));
  return contents;
}

// Overwrites the file with what is on the disk of it, and zeros behind that.
void Forget(World* world, int fd) {
  std::string contents = world->durable[InodeOf(fd)];
  contents.resize(Contents(fd).size());
  [[maybe_unused]] const long written =
      syscall(SYS_pwrite64, fd, contents.data(), contents.size(), off_t{0});
}

// Returns the error with which the call fails; 0: none.
int ErrorOf(FileCall call, int fd, const std::string& path) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  for (auto& [id, fault] : world.faults) {
    const FileFault::Options& options = fault.options;
    if (options.call != call || path.find(options.path) == std::string::npos) {
      continue;
    }
    const int number = fault.num_calls++;
    if (number < options.skip || number - options.skip >= options.count) {
      continue;
    }
    ++fault.num_failures;
    if (options.forgets) Forget(&world, fd);
    return options.error;
  }
  return 0;
}

bool HasFaults() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  return !world.faults.empty();
}

bool Fails(FileCall call, int fd) {
  if (!HasFaults()) return false;
  const int error = ErrorOf(call, fd, PathOf(fd));
  errno = error;
  return error != 0;
}

void WaitForStall() {
  World& world = TheWorld();
  std::unique_lock lock(world.mutex);
  ++world.num_waiting;
  world.stall_ended.wait(lock, [&] { return !world.is_stalled; });
  --world.num_waiting;
}

bool IsOfFakeDisk(int fd) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  return world.has_disk &&
         PathOf(fd).find(world.disk_path) != std::string::npos;
}

void NoteOnDisk(int fd, std::string contents) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.durable[InodeOf(fd)] = std::move(contents);
}

// Tells the listener. It may use files itself, so that no lock is held.
void Tell(FileListener::Hear World::*hear, const std::string& path) {
  FileListener::Hear listener;
  {
    World& world = TheWorld();
    const std::lock_guard lock(world.mutex);
    listener = world.*hear;
  }
  if (listener) listener(path);
}

int Sync(long number, int fd) {
  WaitForStall();
  if (Fails(FileCall::kSync, fd)) return -1;
  // What is written from here on, this sync need not cover.
  const bool is_watched = IsOfFakeDisk(fd);
  std::string contents = is_watched ? Contents(fd) : "";
  const int result = static_cast<int>(syscall(number, fd));
  if (result != 0) return result;
  if (is_watched) NoteOnDisk(fd, std::move(contents));
  Tell(&World::synced, PathOf(fd));
  return result;
}

}  // namespace

FileFault::FileFault(const Options& options) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  id_ = ++world.last_id;
  world.faults[id_].options = options;
}

FileFault::~FileFault() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.faults.erase(id_);
}

int FileFault::num_failures() const {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  return world.faults.at(id_).num_failures;
}

SyncStall::SyncStall() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.is_stalled = true;
}

SyncStall::~SyncStall() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.is_stalled = false;
  world.stall_ended.notify_all();
}

int SyncStall::num_waiting() const {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  return world.num_waiting;
}

FileListener::FileListener(Hear synced, Hear about_to_be_removed) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.synced = std::move(synced);
  world.about_to_be_removed = std::move(about_to_be_removed);
}

FileListener::~FileListener() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.synced = nullptr;
  world.about_to_be_removed = nullptr;
}

FakeDisk::FakeDisk(const std::string& path) {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.has_disk = true;
  world.disk_path = path;
}

FakeDisk::~FakeDisk() {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  world.has_disk = false;
  world.durable.clear();
}

void FakeDisk::CutPower(const std::string& dir, const IsKept& is_kept) const {
  World& world = TheWorld();
  const std::lock_guard lock(world.mutex);
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    if (!entry.is_regular_file()) continue;
    if (is_kept && is_kept(entry.path().filename().string())) continue;
    const int fd = open(entry.path().c_str(), O_RDWR | O_CLOEXEC);
    Forget(&world, fd);
    close(fd);
  }
}

}  // namespace sortition

// Definitions in the program come before those of libc.
extern "C" {

ssize_t pwritev(int fd, const iovec* pieces, int count, off_t offset) {
  using sortition::FileCall;
  if (sortition::Fails(FileCall::kWrite, fd)) return -1;
  return syscall(SYS_pwritev, fd, pieces, count, offset, 0);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  using sortition::FileCall;
  if (sortition::Fails(FileCall::kWrite, fd)) return -1;
  return syscall(SYS_write, fd, bytes, size);
}

int fdatasync(int fd) { return sortition::Sync(SYS_fdatasync, fd); }
int fsync(int fd) { return sortition::Sync(SYS_fsync, fd); }

int unlink(const char* path) noexcept {
  sortition::Tell(&sortition::World::about_to_be_removed, path);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int ftruncate(int fd, off_t size) noexcept {
  using sortition::FileCall;
  if (sortition::Fails(FileCall::kTruncate, fd)) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, fd, size));
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  using sortition::FileCall;
  if (sortition::Fails(FileCall::kAllocate, fd)) return -1;
  return static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, size));
}

DIR* opendir(const char* name) {
  using sortition::FileCall;
  const int error = sortition::ErrorOf(FileCall::kList, -1, name);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  static const auto kReal =
      reinterpret_cast<DIR* (*)(const char*)>(dlsym(RTLD_NEXT, "opendir"));
  return kReal(name);
}

int mkostemps(char* name, int suffix, int flags) {
  using sortition::FileCall;
  const int error = sortition::ErrorOf(FileCall::kCreate, -1, name);
  if (error != 0) {
    errno = error;
    return -1;
  }
  static const auto kReal =
      reinterpret_cast<int (*)(char*, int, int)>(dlsym(RTLD_NEXT, "mkostemps"));
  return kReal(name, suffix, flags);
}

}  // extern "C"
