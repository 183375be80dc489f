#pragma once
// SIGTERM, SIGINT and, for programs of a terminal, SIGHUP as an event that
// threads can wait for.

namespace sortition {

// What SIGHUP says to a program.
enum class Hangup {
  kReload,  // Look again (process/hangup.h). For services.
  kEnd,     // The terminal is gone: as SIGINT, unless nohup started it.
};

// Blocks the three signals in this thread and all it starts later, and ignores
// SIGPIPE. Call first in main(), before any thread.
void BlockShutdownSignals(Hangup hangup = Hangup::kReload);

// Waits for a signal that ends the program, at most `timeout_seconds`
// (negative: forever). Returns whether one has arrived; once true, always true.
bool WaitForShutdown(double timeout_seconds);

}  // namespace sortition
