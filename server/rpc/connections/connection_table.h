#pragma once
// The connections of all ports, so that the oldest idle one can make room for a
// new one when descriptors are short. gRPC owns their sockets and closes them
// when it likes.
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace sortition {

// Thread-safe.
class ConnectionTable {
 public:
  // Notes a connection that gRPC is to have.
  void Add(int socket);

  // Ends the connection that has said nothing for the longest time, at least
  // kIdleSeconds, and has no call that is marked. gRPC then closes its socket,
  // soon. False: there is none, or it was looked for a moment ago.
  bool EndIdlest();
  static constexpr double kIdleSeconds = 5;

 private:
  friend class CallMark;

  struct Connection {
    ino_t inode = 0;    // 0: none. Sockets have numbers of their own.
    uint16_t port = 0;  // Of the client.
  };
  struct Idle {
    int socket;
    uint32_t milliseconds;
  };

  // Fills `idle_`, the idlest last. Requires `mutex_`, as the next.
  void FindIdle();
  bool End(const Idle& idle);

  // Marked calls by the port of their clients. Clients of several machines may
  // share a port number: then one keeps the other's connection alive.
  std::array<std::atomic<uint32_t>, 1 << 16> calls_{};
  std::mutex mutex_;
  std::vector<Connection> connections_;  // By socket.
  std::vector<Idle> idle_;
  int64_t found_ = 0;  // When `idle_` was filled.
};

// A call that may be silent for long and is nevertheless under way: a stream, a
// watch, or one that waits in the pool.
class CallMark {
 public:
  // `peer` as gRPC names it, which ends with a port. The table must outlive the
  // mark.
  CallMark(ConnectionTable* table, const std::string& peer);
  ~CallMark();
  CallMark(const CallMark&) = delete;
  CallMark& operator=(const CallMark&) = delete;

 private:
  std::atomic<uint32_t>* const calls_;
};

// Returns the port of the other side of a socket, or of this side; 0: unknown.
uint16_t PeerPort(int socket);
uint16_t LocalPort(int socket);
// Returns the address of the other side, such as "127.0.0.1:54321"; empty:
// unknown.
std::string PeerAddress(int socket);

}  // namespace sortition
