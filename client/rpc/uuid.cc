#include "client/rpc/uuid.h"

#include <chrono>
#include <cstdint>
#include <random>

#include "absl/strings/str_format.h"

namespace sortition {

std::string MakeUuidV7() {
  // The kernel's entropy, not a seeded generator: processes forked from one
  // parent must not repeat each other's ids.
  thread_local std::random_device device;
  const uint64_t milliseconds = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  const uint32_t a = device();
  const uint32_t b = device();
  const uint32_t c = device();
  return absl::StrFormat("%08x-%04x-7%03x-%04x-%04x%08x",
                         (milliseconds >> 16) & 0xffffffff,
                         milliseconds & 0xffff, a & 0xfff,
                         0x8000 | ((a >> 12) & 0x3fff), b & 0xffff, c);
}

}  // namespace sortition
