#pragma once
// A broker in memory that fails as asked.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sidecar/stream/message_stream.h"

namespace sortition::testing_stream {

// Several shippers and mirrors may share its messages.
struct FakeBroker {
  struct Message {
    std::string id;
    std::string data;
    std::string subject = "";
  };
  int64_t created_ns = 1;
  uint64_t first_sequence = 1;
  std::vector<Message> messages;  // From first_sequence on.
  uint64_t max_bytes = 0;         // 0: no limit.
  bool is_away = false;

  uint64_t last_sequence() const {
    return first_sequence + messages.size() - 1;
  }
  uint64_t Bytes() const {
    uint64_t bytes = 0;
    for (const Message& message : messages) bytes += message.data.size();
    return bytes;
  }
  // Forgets the newest `count` messages, as after a power cut.
  void LoseNewest(size_t count) {
    messages.resize(messages.size() - std::min(count, messages.size()));
  }
};

class FakeStream : public MessageStream {
 public:
  enum class Fault { kNone, kNotStored, kAnswerLost };

  explicit FakeStream(FakeBroker* broker) : broker_(broker) {}

  std::function<Fault()> next_fault = [] { return Fault::kNone; };
  uint64_t max_message_bytes = 8192 + 300;
  bool is_mute = false;    // Fetch() returns nothing, up to the next StartAt().
  bool is_broken = false;  // Fetch() fails, up to the next StartAt().

  absl::StatusOr<StreamState> State() override {
    if (broker_->is_away) return Away();
    return StreamState{broker_->created_ns, broker_->first_sequence,
                       broker_->last_sequence(), broker_->Bytes(),
                       broker_->max_bytes};
  }
  absl::StatusOr<uint64_t> MaxMessageBytes() override {
    return max_message_bytes;
  }
  absl::StatusOr<uint64_t> NewestOf(const std::string& subject) override {
    if (broker_->is_away) return Away();
    for (size_t i = broker_->messages.size(); i-- > 0;) {
      if (broker_->messages[i].subject == subject) {
        return broker_->first_sequence + i;
      }
    }
    return 0;
  }
  absl::StatusOr<std::optional<std::string>> IdOf(uint64_t sequence) override {
    if (broker_->is_away) return Away();
    if (sequence < broker_->first_sequence ||
        sequence > broker_->last_sequence()) {
      return std::nullopt;
    }
    return broker_->messages[sequence - broker_->first_sequence].id;
  }
  absl::StatusOr<Published> Publish(const std::string& subject, uint64_t newest,
                                    const std::string& id,
                                    absl::string_view data) override {
    if (broker_->is_away) return Away();
    const Fault fault = next_fault();
    if (fault == Fault::kNotStored) return Away();
    for (size_t i = 0; i < broker_->messages.size(); ++i) {
      if (broker_->messages[i].id == id) {
        return Published{broker_->first_sequence + i, true};
      }
    }
    if (*NewestOf(subject) != newest) return absl::AbortedError("newer");
    if (broker_->max_bytes > 0 &&
        broker_->Bytes() + data.size() > broker_->max_bytes) {
      return absl::UnavailableError("maximum bytes exceeded");
    }
    broker_->messages.push_back({id, std::string(data), subject});
    if (fault == Fault::kAnswerLost) return Away();
    return Published{broker_->last_sequence(), false};
  }
  absl::Status StartAt(uint64_t sequence) override {
    if (broker_->is_away) return Away();
    next_ = sequence;
    is_mute = is_broken = false;
    return absl::OkStatus();
  }
  absl::StatusOr<std::vector<ReceivedMessage>> Fetch(int most,
                                                     double) override {
    if (broker_->is_away || is_broken) return Away();
    std::vector<ReceivedMessage> fetched;
    next_ = std::max(next_, broker_->first_sequence);
    while (!is_mute && next_ <= broker_->last_sequence() &&
           fetched.size() < static_cast<size_t>(most)) {
      const FakeBroker::Message& message =
          broker_->messages[next_ - broker_->first_sequence];
      fetched.push_back({next_, message.id, message.data, message.subject});
      ++next_;
    }
    return fetched;
  }
  uint64_t num_pending() const override {
    if (is_mute) return 0;  // As after the last message that came.
    return broker_->last_sequence() + 1 -
           std::min(next_, broker_->last_sequence() + 1);
  }
  void Acknowledge() override {}
  absl::Status RemoveBefore(uint64_t sequence) override {
    if (broker_->is_away) return Away();
    while (broker_->first_sequence < sequence && !broker_->messages.empty()) {
      broker_->messages.erase(broker_->messages.begin());
      ++broker_->first_sequence;
    }
    return absl::OkStatus();
  }

  // The next Fetch() begins at this message.
  void Redeliver(uint64_t sequence) { next_ = sequence; }

 private:
  static absl::Status Away() { return absl::UnavailableError("away"); }

  FakeBroker* const broker_;
  uint64_t next_ = 1;
};

}  // namespace sortition::testing_stream
