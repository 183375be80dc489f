#pragma once
// Waits until something changes in one of several directories (inotify), with a
// timeout for file systems that report no changes.
#include <string>

namespace sortition {

// Wait() from one thread; Add() and Wake() from any.
class DirectoryWatch {
 public:
  DirectoryWatch();
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // From now on, creating, writing, moving or removing an entry of `directory`
  // ends a wait. Adding it again does nothing. Failure to watch is no error,
  // because the timeout remains.
  void Add(const std::string& directory);

  // Returns after a change since the last wait, after Wake(), or after
  // `timeout_seconds`.
  void Wait(double timeout_seconds);

  // Ends the current wait or, if there is none, the next one.
  void Wake();

 private:
  const int inotify_;
  const int wake_;
};

}  // namespace sortition
