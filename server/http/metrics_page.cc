#include "server/http/metrics_page.h"

#include <utility>

namespace sortition {

MetricsPage::MetricsPage(const Metrics* metrics)
    : metrics_(metrics), thread_(&MetricsPage::Run, this) {}

MetricsPage::~MetricsPage() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  asked_.notify_one();
  thread_.join();
}

std::string MetricsPage::Text() {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = ++num_asked_;
  asked_.notify_one();
  made_.wait(lock, [&] { return num_served_ >= ticket; });
  return text_;
}

void MetricsPage::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    asked_.wait(lock, [this] { return is_over_ || num_served_ < num_asked_; });
    if (is_over_) return;
    const uint64_t num_served = num_asked_;
    lock.unlock();
    std::string text = metrics_->Text();
    lock.lock();
    text_ = std::move(text);
    num_served_ = num_served;
    made_.notify_all();
  }
}

}  // namespace sortition
