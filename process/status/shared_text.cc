#include "process/status/shared_text.h"

#include <utility>

namespace sortition {

using Clock = std::chrono::steady_clock;

SharedText::SharedText(std::chrono::milliseconds age,
                       std::function<std::string()> make)
    : age_(age), make_(std::move(make)), thread_(&SharedText::Run, this) {}

SharedText::~SharedText() { Stop(); }

void SharedText::Stop() {
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  asked_.notify_all();
  made_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SharedText::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return is_asked_ || must_stop_; });
    if (must_stop_) return;
    lock.unlock();
    auto text = std::make_shared<const std::string>(make_());
    lock.lock();
    text_ = std::move(text);
    time_ = Clock::now();
    ++number_;
    is_asked_ = false;
    made_.notify_all();
  }
}

std::string SharedText::Get() {
  std::unique_lock lock(mutex_);
  const auto age = Clock::now() - time_;
  if (text_ == nullptr || age >= age_) {
    const bool is_old = text_ == nullptr || age >= kOldAges * age_;
    const bool does_another_wait = std::exchange(is_asked_, true);
    asked_.notify_one();
    if (is_old || !does_another_wait) {
      made_.wait_for(lock, kPatience, [this, before = number_] {
        return number_ != before || must_stop_;
      });
    }
  }
  const std::shared_ptr<const std::string> text = text_;
  lock.unlock();
  return text == nullptr ? std::string() : *text;
}

}  // namespace sortition
