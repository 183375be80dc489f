#include "bench/clicks/page_sessions.h"

#include <algorithm>

#include "core/clicks/click_walk.h"

namespace sortition {
namespace {

// The numbers of a user's stream.
constexpr uint32_t kPage = 0;
constexpr uint32_t kDepth = 1;
uint32_t ClickNumber(size_t rank) {
  return static_cast<uint32_t>(2 + 2 * rank);
}
uint32_t NextNumber(size_t rank) { return ClickNumber(rank) + 1; }

}  // namespace

SessionSource::SessionSource(const PagePolicy* log, const ClickUser* user,
                             uint64_t seed)
    : log_(log),
      user_(user),
      order_key_(SeedKey(seed, "orders")),
      user_key_(SeedKey(seed, "users")) {}

void SessionSource::Next(uint32_t number, PageSession* session) {
  const CounterRandom random(user_key_, number);
  session->page = static_cast<size_t>(random.Uniform(kPage) *
                                      static_cast<double>(log_->size()));
  log_->Sample(session->page, CounterRandom(order_key_, number), &scratch_,
               &session->draw);
  grades_.clear();
  for (const int32_t d : session->draw.action) {
    grades_.push_back(log_->pages()[session->page].relevances[d]);
  }
  Read(random, session);
}

void SessionSource::Read(const CounterRandom& random, PageSession* session) {
  const GradedList graded(*user_, grades_);
  const ClickModel& model = user_->model;
  const ClickSteps steps(model, graded.list());
  session->clicks.fill(0);
  size_t rank = 0;
  if (!steps.reads_on()) {
    const double depth = random.Uniform(kDepth);
    while (rank < kPageRanks && depth < model.Examination(rank)) {
      const double examined = model.Examination(rank);
      session->clicks[rank] =
          random.Uniform(ClickNumber(rank)) * examined < steps.Independent(rank)
              ? 1
              : 0;
      ++rank;
    }
  } else {
    bool reads = true;
    while (rank < kPageRanks && reads) {
      const bool clicked =
          random.Uniform(ClickNumber(rank)) < steps.Attraction(rank);
      session->clicks[rank] = clicked ? 1 : 0;
      reads = random.Uniform(NextNumber(rank)) <
              (clicked ? steps.AfterClick(rank) : steps.AfterSkip());
      ++rank;
    }
  }
  session->num_read = std::max<size_t>(rank, 1);
}

uint64_t SessionUnit(uint32_t number) {
  // The finaliser of SplitMix64: distinct numbers have distinct hashes.
  uint64_t hash = (uint64_t{number} + 1) * 0x9E3779B97F4A7C15u;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBu;
  return hash ^ (hash >> 31);
}

}  // namespace sortition
