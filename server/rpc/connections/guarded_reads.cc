#include "server/rpc/connections/guarded_reads.h"

#include <dlfcn.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "process/log.h"
#include "process/log_rate.h"
#include "server/admission/admission.h"
#include "server/rpc/connections/connection_table.h"

namespace sortition {
namespace {

// Lines about connections that were ended, a second.
constexpr int kMaxLinesPerSecond = 5;

// What all guards of the process share.
struct GuardState {
  std::atomic<uint32_t> max_streams{256};
  SharedResets resets;
  std::mutex mutex;
  // Guarded by `mutex`.
  const AbuseMonitor* monitor = nullptr;
  std::map<Abuse, MetricCounter*> counters;
  LogRate log_rate{kMaxLinesPerSecond};
};

GuardState& TheGuardState() {
  // Never destroyed: gRPC has threads until the very end.
  static auto* const state = new GuardState;
  return *state;
}

void NoteAbuse(Abuse abuse, const std::string& peer) {
  GuardState& state = TheGuardState();
  const std::lock_guard lock(state.mutex);
  if (state.monitor == nullptr) return;
  state.counters[abuse]->Increment();
  uint64_t left_out = 0;
  if (!state.log_rate.MayLog(&left_out)) return;
  LogWarning(
      "connection ended: its client abuses HTTP/2",
      {{"reason", AbuseName(abuse)}, {"peer", peer}, {"left_out", left_out}});
}

// The guard of one connection.
struct Guarded {
  Guarded()
      : guard(TheGuardState().max_streams.load(std::memory_order_relaxed),
              &TheGuardState().resets) {}

  // Returns whether the connection goes on after `bytes`. `peer` returns the
  // address of the client.
  template <typename Peer>
  bool Read(absl::string_view bytes, const Peer& peer) {
    const Abuse abuse = guard.Read(bytes, MonotonicNanos());
    if (abuse == Abuse::kNone) return true;
    if (!std::exchange(is_ended, true)) NoteAbuse(abuse, peer());
    return false;
  }

  FrameGuard guard;
  bool is_ended = false;
};

// The guards of sockets by their numbers. Slots are made in blocks, when they
// are needed first, and stay.
class GuardTable {
 public:
  struct Slot {
    std::atomic<bool> is_used{false};
    std::mutex mutex;
    std::optional<Guarded> guarded;  // Guarded by `mutex`.
  };

  // Returns null if the number is too large or was never used.
  Slot* Find(int socket) const {
    const auto number = static_cast<size_t>(socket);
    if (number >= kBlocks * kBlockSlots) return nullptr;
    Slot* const block =
        blocks_[number / kBlockSlots].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : &block[number % kBlockSlots];
  }
  // Returns the slot, making its block; null if the number is too large.
  Slot* Make(int socket) {
    const auto number = static_cast<size_t>(socket);
    if (number >= kBlocks * kBlockSlots) return nullptr;
    const std::lock_guard lock(mutex_);
    auto& block = blocks_[number / kBlockSlots];
    if (block.load() == nullptr) {
      block.store(new Slot[kBlockSlots], std::memory_order_release);
    }
    return &block.load()[number % kBlockSlots];
  }

 private:
  static constexpr size_t kBlockSlots = 256;
  static constexpr size_t kBlocks = 4096;
  std::mutex mutex_;
  std::array<std::atomic<Slot*>, kBlocks> blocks_{};
};

// Usable before and after main(): programs close files at any time.
constinit std::atomic<GuardTable*> the_guard_table{nullptr};

GuardTable::Slot* FindUsed(int socket) {
  const GuardTable* const table =
      the_guard_table.load(std::memory_order_acquire);
  if (table == nullptr || socket < 0) return nullptr;
  GuardTable::Slot* const slot = table->Find(socket);
  return slot != nullptr && slot->is_used.load(std::memory_order_acquire)
             ? slot
             : nullptr;
}

// Returns whether the connection may go on after what recvmsg() has read.
bool MayRead(GuardTable::Slot* slot, int socket, const msghdr& message,
             size_t size) {
  const std::lock_guard lock(slot->mutex);
  if (!slot->guarded.has_value()) return true;
  for (size_t i = 0; i < message.msg_iovlen && size > 0; ++i) {
    const iovec& piece = message.msg_iov[i];
    const size_t part = std::min(size, piece.iov_len);
    if (!slot->guarded->Read({static_cast<const char*>(piece.iov_base), part},
                             [socket] { return PeerAddress(socket); })) {
      return false;
    }
    size -= part;
  }
  return true;
}

void FreeGuarded(void*, void* guarded, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<Guarded*>(guarded);
}

// Returns the guard of a connection over TLS, made with its first bytes; null
// where this process is the client.
Guarded* GuardedOf(SSL* connection) {
  static const int index =
      SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, &FreeGuarded);
  void* const found = SSL_get_ex_data(connection, index);
  if (found != nullptr) return static_cast<Guarded*>(found);
  if (index < 0 || SSL_is_server(connection) == 0) return nullptr;
  auto guarded = std::make_unique<Guarded>();
  if (SSL_set_ex_data(connection, index, guarded.get()) != 1) return nullptr;
  return guarded.release();
}

template <typename Function>
Function* RealFunction(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool IsOurs(const char* name, const void* ours) {
  return ::dlsym(RTLD_DEFAULT, name) == ours;
}

}  // namespace

AbuseMonitor::AbuseMonitor(uint32_t max_streams, Metrics* metrics) {
  GuardState& state = TheGuardState();
  const std::lock_guard lock(state.mutex);
  state.max_streams = max_streams;
  state.monitor = this;
  for (const Abuse abuse : kAbuses) {
    state.counters[abuse] = metrics->Counter(
        "sortition_connections_abusive_total",
        "Connections of the RPC port ended because of what their clients sent, "
        "by reason",
        {{"reason", AbuseName(abuse)}});
  }
  const bool is_guarded = ReadsAreGuarded();
  metrics
      ->Gauge("sortition_connections_guarded",
              "1: connections of the RPC port are watched for abuse of HTTP/2; "
              "0: this build cannot")
      ->Set(is_guarded ? 1 : 0);
  if (is_guarded) return;
  LogWarning(
      "connections are not watched for abuse of HTTP/2: gRPC is not a shared "
      "library; put a proxy in front of the RPC port");
}

AbuseMonitor::~AbuseMonitor() {
  GuardState& state = TheGuardState();
  const std::lock_guard lock(state.mutex);
  if (state.monitor != this) return;
  state.monitor = nullptr;
  state.counters.clear();
}

void GuardSocket(int socket) {
  static auto* const table = new GuardTable;
  the_guard_table.store(table, std::memory_order_release);
  GuardTable::Slot* const slot = table->Make(socket);
  if (slot == nullptr) return;
  const std::lock_guard lock(slot->mutex);
  slot->guarded.emplace();
  slot->is_used.store(true, std::memory_order_release);
}

}  // namespace sortition

// Functions that replace those of libc and libssl, in every thread and for all
// libraries of the program.
extern "C" {

__attribute__((visibility("default"))) ssize_t recvmsg(int socket,
                                                       msghdr* message,
                                                       int flags) {
  static auto* const real =
      sortition::RealFunction<ssize_t(int, msghdr*, int)>("recvmsg");
  const ssize_t size = real != nullptr
                           ? real(socket, message, flags)
                           : ::syscall(SYS_recvmsg, socket, message, flags);
  if (size <= 0 || (flags & (MSG_ERRQUEUE | MSG_PEEK)) != 0) return size;
  auto* const slot = sortition::FindUsed(socket);
  if (slot == nullptr ||
      sortition::MayRead(slot, socket, *message, static_cast<size_t>(size))) {
    return size;
  }
  errno = ECONNRESET;
  return -1;
}

__attribute__((visibility("default"))) int close(int socket) {
  if (auto* const slot = sortition::FindUsed(socket)) {
    const std::lock_guard lock(slot->mutex);
    slot->is_used.store(false, std::memory_order_release);
    slot->guarded.reset();
  }
  static auto* const real = sortition::RealFunction<int(int)>("close");
  return real != nullptr ? real(socket)
                         : static_cast<int>(::syscall(SYS_close, socket));
}

__attribute__((visibility("default"))) int SSL_read(SSL* connection,
                                                    void* bytes, int size) {
  static auto* const real =
      sortition::RealFunction<int(SSL*, void*, int)>("SSL_read");
  // Unlike recvmsg() there is no other way to the real function.
  if (real == nullptr) return -1;
  const int read = real(connection, bytes, size);
  if (read <= 0) return read;
  sortition::Guarded* const guarded = sortition::GuardedOf(connection);
  if (guarded == nullptr ||
      guarded->Read(
          {static_cast<const char*>(bytes), static_cast<size_t>(read)},
          [] { return std::string("over TLS"); })) {
    return read;
  }
  ERR_raise(ERR_LIB_SSL, SSL_R_BAD_PACKET);
  return -1;
}

}  // extern "C"

namespace sortition {

bool ReadsAreGuarded() {
  return IsOurs("recvmsg", reinterpret_cast<const void*>(&::recvmsg)) &&
         IsOurs("SSL_read", reinterpret_cast<const void*>(&::SSL_read)) &&
         IsOurs("close", reinterpret_cast<const void*>(&::close));
}

}  // namespace sortition
