#pragma once
// A text that is made anew once in a while, and shared by all who ask for it.
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace sortition {

// A thread of its own makes the text, while somebody asks for it: it has the
// priority of whoever creates the object, and who asks never waits for long.
// Thread-safe.
class SharedText {
 public:
  // Longest time that Get() waits.
  static constexpr std::chrono::seconds kPatience{3};
  // A text so many times older than it may be is as good as none.
  static constexpr int kOldAges = 10;

  // A text is made anew by `make` if it is older than `age` when asked for.
  SharedText(std::chrono::milliseconds age, std::function<std::string()> make);
  ~SharedText();  // Stop()

  // Waits for a `make` that runs, and makes no more texts.
  void Stop();

  // Returns the text. If it is too old, waits for a new one. While somebody
  // else waits for that already, returns the old one at once, unless it is very
  // old. Empty: the first one is not made yet.
  std::string Get();

 private:
  void Run();

  const std::chrono::milliseconds age_;
  const std::function<std::string()> make_;
  std::mutex mutex_;  // Never held while a text is made.
  std::condition_variable asked_;
  std::condition_variable made_;
  // All guarded by `mutex_`.
  bool must_stop_ = false;
  bool is_asked_ = false;  // For a text that is not made yet.
  uint64_t number_ = 0;    // Of texts made.
  std::chrono::steady_clock::time_point time_;
  std::shared_ptr<const std::string> text_;
  std::thread thread_;  // Last: it uses the others.
};

}  // namespace sortition
