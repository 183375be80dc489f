#pragma once
// Waits until something changes in one of some directories (inotify), with a
// timeout for file systems that tell nothing.
#include <string>

namespace sortition {

// Add() and Wait() from one thread; Wake() from any.
class DirectoryWatch {
 public:
  DirectoryWatch();
  ~DirectoryWatch();
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;

  // Entries made, moved or removed in `directory` end a wait from now on.
  // Adding it again does nothing; failing to watch is no error: the timeout
  // remains.
  void Add(const std::string& directory);

  // Until a change since the last wait, Wake(), or `timeout_seconds` from now.
  void Wait(double timeout_seconds);

  // Ends the current wait, or the next.
  void Wake();

 private:
  const int inotify_;
  const int wake_;
};

}  // namespace sortition
