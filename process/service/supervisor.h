#pragma once
// What a service tells the supervisor that started it: datagrams to
// $NOTIFY_SOCKET, in the form of sd_notify(3). Without that variable nothing is
// sent.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

// Not thread-safe. What cannot be sent is logged once and changes nothing else.
class Supervisor {
 public:
  // Reads NOTIFY_SOCKET, and WATCHDOG_USEC where WATCHDOG_PID is this process.
  static Supervisor FromEnvironment();

  // Says that the service does its work; only the first call does.
  void Ready();
  // Says that the service lives, unless it has said so a moment ago. Call it
  // from the thread whose stall should end the process, or for it.
  void Alive();
  // Says that the service ends; only the first call does.
  void Stopping();

  // How often Alive() should be called, seconds: a quarter of the time after
  // which the supervisor ends a process that is silent. Negative: it does not.
  double alive_seconds() const { return alive_seconds_; }

 private:
  Supervisor() = default;
  void Send(absl::string_view state, int flags);

  std::string socket_;  // "": none.
  double alive_seconds_ = -1;
  int64_t last_alive_ns_ = 0;
  bool was_alive_ = false;
  bool is_ready_ = false;
  bool is_stopping_ = false;
  bool has_failed_ = false;
};

}  // namespace sortition
