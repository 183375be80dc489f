#pragma once
// Decision ids for requests that bring none.
#include <atomic>
#include <cstdint>
#include <string>

#include "core/base/hash.h"

namespace sortition {

// Makes UUIDs of version 7 [RFC9562, sec. 5.7]: they sort by time, to the
// millisecond, and are unique over servers. Thread-safe.
class DecisionIdMaker {
 public:
  // `secret` sets the random bits; different for every start of a server.
  explicit DecisionIdMaker(const Hash128& secret) : secret_(secret) {}

  // 128 bits from the system's random source.
  static Hash128 RandomSecret();

  std::string Make(int64_t time_us);

 private:
  const Hash128 secret_;
  std::atomic<uint64_t> counter_{0};
};

}  // namespace sortition
