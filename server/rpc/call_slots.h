#pragma once
// The slots of one method in one queue.
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace sortition {

// As many slots as at the start always wait for calls, so that calls which do
// not end cannot keep others out. Used by the queue's thread.
template <typename Call>
class CallSlots {
 public:
  // `method` and `queue` must outlive it. A Call is made of them, of these
  // slots and of its index.
  template <typename Method, typename Queue>
  CallSlots(const Method* method, Queue* queue, size_t num_asking)
      : make_([this, method, queue](size_t index) {
          return std::make_unique<Call>(method, queue, this, index);
        }),
        num_asking_(num_asking) {
    for (size_t i = 0; i < num_asking; ++i) Ask();
  }

  typename Call::Messages messages;  // Of the call that is decided now.

  // Lets one more slot wait for a call.
  void Ask() {
    if (idle_.empty()) {
      calls_.push_back(make_(calls_.size()));
      idle_.push_back(calls_.back().get());
    }
    Call* const call = idle_.back();
    idle_.pop_back();
    call->Ask();
  }

  // Takes a slot back whose call has ended, and perhaps destroys it.
  void Return(Call* call) {
    if (idle_.size() < num_asking_) {
      idle_.push_back(call);
      return;
    }
    const size_t index = call->index;
    std::swap(calls_[index], calls_.back());
    calls_[index]->index = index;
    calls_.pop_back();
  }

 private:
  const std::function<std::unique_ptr<Call>(size_t index)> make_;
  const size_t num_asking_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::vector<Call*> idle_;
};

}  // namespace sortition
