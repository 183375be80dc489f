#pragma once
// Sessions: orders that a policy draws and what a user reads and clicks.
#include <array>
#include <cstdint>

#include "bench/clicks/page_world.h"

namespace sortition {

struct PageSession {
  size_t page = 0;
  Draw draw;  // Ten ranks, with the propensity of each.
  std::array<uint8_t, kPageRanks> clicks = {};
  // The ranks that the user read, 1 at the least: whether to read on is decided
  // by what stands above and by chance, so that the rest has nothing to do with
  // the clicks.
  size_t num_read = 0;
};

// Draws session after session of one log: each a function of seed and number.
// Users who do not read on examine the first T ranks, P(T > k) = θ_k, with the
// same probability of a click at each rank as if they chose ranks one by one.
// Reuses buffers; every thread needs its own.
class SessionSource {
 public:
  // Both must outlive it.
  SessionSource(const PagePolicy* log, const ClickUser* user, uint64_t seed);

  // Overwrites `session`.
  void Next(uint32_t number, PageSession* session);

 private:
  void Read(const CounterRandom& random, PageSession* session);

  const PagePolicy* log_;
  const ClickUser* user_;
  Hash128 order_key_;
  Hash128 user_key_;
  DistributionScratch scratch_;
  std::vector<uint32_t> grades_;
};

// Returns a hash for the unit of a session: every session is its own.
uint64_t SessionUnit(uint32_t number);

}  // namespace sortition
