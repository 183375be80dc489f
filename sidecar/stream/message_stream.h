#pragma once
// A durable, ordered stream of messages that a broker keeps.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

struct StreamState {
  int64_t created_ns = 0;  // Differs if the stream was made again.
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
  uint64_t bytes = 0;
  uint64_t max_bytes = 0;  // 0: no limit.
};

struct Published {
  uint64_t sequence = 0;
  bool is_duplicate = false;  // A message of this id was there already.
};

struct ReceivedMessage {
  uint64_t sequence = 0;  // Counts the messages of the stream, from 1.
  std::string id;
  std::string data;
  // The broker checks that the publisher may use it: unlike the data, it tells
  // who the publisher is.
  std::string subject;
};

// Every call may fail with Unavailable while the broker is away, and may be
// repeated. Not thread-safe.
class MessageStream {
 public:
  virtual ~MessageStream() = default;

  // Makes the stream if it is missing, where this object may do so.
  virtual absl::StatusOr<StreamState> State() = 0;
  virtual absl::StatusOr<uint64_t> MaxMessageBytes() = 0;

  // Returns the sequence of the newest message of `subject`; 0: there is none.
  virtual absl::StatusOr<uint64_t> NewestOf(const std::string& subject) = 0;
  // Returns the id of the message `sequence`, nothing if there is none.
  virtual absl::StatusOr<std::optional<std::string>> IdOf(
      uint64_t sequence) = 0;

  // Returns once the stream has the message. After a failure it may have it all
  // the same. A message with the id of one that came shortly before is dropped.
  // Aborted if the newest message of the subject is not `newest`.
  virtual absl::StatusOr<Published> Publish(const std::string& subject,
                                            uint64_t newest,
                                            const std::string& id,
                                            absl::string_view data) = 0;

  // Fetch() goes on at the message `sequence`.
  virtual absl::Status StartAt(uint64_t sequence) = 0;
  // Returns the next messages, at most `most`; none if none came within
  // `seconds`. Unavailable if the broker was away since StartAt(): it may have
  // lost messages.
  virtual absl::StatusOr<std::vector<ReceivedMessage>> Fetch(
      int most, double seconds) = 0;
  // How many messages the stream had beyond the last fetched one.
  virtual uint64_t num_pending() const = 0;
  // Tells the broker that all fetched messages are safe.
  virtual void Acknowledge() = 0;
  // Removes the messages before `sequence`.
  virtual absl::Status RemoveBefore(uint64_t sequence) = 0;
};

}  // namespace sortition
