#pragma once
// Puts a FrameGuard between gRPC and the connections that it reads.
//
// gRPC 1.51 reads plain text with recvmsg() and TLS with SSL_read(), and offers
// no hook for what has been read. guarded_reads.cc defines functions of these
// names. The program exports them, because libgrpc.so needs them, and the
// dynamic linker finds the program's functions before those of libc and libssl.
// Each calls the real function, shows the bytes to the guard of the connection
// and, if the client is abusive, returns an error, so that gRPC closes the
// connection (docs/adr/2026-11-30-frame-guard.md). close() is defined as well,
// because the next socket with the same number is another connection.
#include <cstdint>

#include "process/metrics.h"
#include "server/rpc/connections/frame_guard.h"

namespace sortition {

// Counts and logs abuse while it exists. Connections of all servers of a
// process report to the object that was made last.
class AbuseMonitor {
 public:
  // `max_streams`: see FrameGuard; holds for connections that begin from now
  // on. `metrics` must outlive it.
  AbuseMonitor(uint32_t max_streams, Metrics* metrics);
  ~AbuseMonitor();
  AbuseMonitor(const AbuseMonitor&) = delete;
  AbuseMonitor& operator=(const AbuseMonitor&) = delete;
};

// Begins to follow what the client of a new connection sends. Thread-safe. What
// this process reads from its servers over TLS is never followed; of
// connections without TLS only those that were passed here are.
void GuardSocket(int socket);

// Returns false if the dynamic linker gives gRPC other functions than ours, as
// in a program that links gRPC statically: then nothing is followed.
bool ReadsAreGuarded();

}  // namespace sortition
