#pragma once
// SIGTERM and SIGINT as an event that threads can wait for.

namespace sortition {

// Blocks both signals and SIGHUP (process/hangup.h) in this thread and all it
// starts later, and ignores SIGPIPE. Call first in main(), before any thread.
void BlockShutdownSignals();

// Waits for one of the two, at most `timeout_seconds` (negative: forever).
// Returns whether one has arrived; once true, always true.
bool WaitForShutdown(double timeout_seconds);

}  // namespace sortition
