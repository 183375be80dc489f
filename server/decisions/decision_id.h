#pragma once
// Decision ids for requests that do not bring one.
#include <atomic>
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/hash.h"

namespace sortition {

// Makes UUIDs of version 7 that carry a tag of the log's writer: they sort by
// time, to the millisecond. Two of one maker always differ, unless it makes
// 2^38 in a millisecond, and so do those of writers with different tags. Makers
// of one tag - two starts of a server, or by chance one in 2^24 pairs of
// servers - repeat an id with probability 2^-38 for each pair of ids of the
// same millisecond. Thread-safe.
class DecisionIdMaker {
 public:
  // `secret` determines the random bits; use a new one whenever a server
  // starts.
  DecisionIdMaker(const Hash128& secret, absl::string_view writer_id);

  // Returns 128 bits from the system's random source.
  static Hash128 RandomSecret();

  std::string Make(int64_t time_us);

 private:
  const Hash128 secret_;
  const uint32_t writer_tag_;
  std::atomic<uint64_t> counter_{0};
};

}  // namespace sortition
