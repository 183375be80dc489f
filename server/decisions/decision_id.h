#pragma once
// Decision ids for requests that do not bring one.
#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/hash.h"

namespace sortition {

// Makes UUIDs of version 7 [RFC9562, sec. 5.7]: they sort by time, to the
// millisecond, and are unique across servers. Thread-safe.
class DecisionIdMaker {
 public:
  // `secret` determines the random bits; use a new one whenever a server
  // starts.
  explicit DecisionIdMaker(const Hash128& secret) : secret_(secret) {}

  // Returns 128 bits from the system's random source.
  static Hash128 RandomSecret();

  std::string Make(int64_t time_us);

 private:
  const Hash128 secret_;
  std::atomic<uint64_t> counter_{0};
};

}  // namespace sortition
