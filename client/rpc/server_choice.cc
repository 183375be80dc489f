#include "client/rpc/server_choice.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rpc/uuid.h"
#include "core/base/hash.h"

namespace sortition {
namespace {

constexpr size_t kTriesEach = 16;

}  // namespace

ServerChoice::ServerChoice(std::vector<std::string> addresses,
                           uint32_t retry_budget)
    : addresses_(std::move(addresses)),
      max_budget_(uint64_t{retry_budget} * kAnswersPerRetry),
      servers_(addresses_.size()),
      budget_(max_budget_) {}

std::vector<size_t> ServerChoice::ByHash(absl::string_view decision_id) const {
  std::vector<size_t> order(addresses_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() == 1) return order;
  std::vector<uint64_t> weights;
  for (const std::string& address : addresses_) {
    weights.push_back(HashBytes(absl::StrCat(address, " ", decision_id)).low);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  return order;
}

size_t ServerChoice::Of(absl::string_view decision_id) const {
  {
    const std::lock_guard lock(mutex_);
    if (!moved_.empty()) {
      const auto moved = moved_.find(std::string(decision_id));
      if (moved != moved_.end()) return moved->second;
    }
  }
  return ByHash(decision_id).front();
}

std::vector<size_t> ServerChoice::Route(absl::string_view decision_id,
                                        Clock::time_point now) const {
  std::vector<size_t> order = ByHash(decision_id);
  const auto first = std::find(order.begin(), order.end(), Of(decision_id));
  std::rotate(order.begin(), first, first + 1);
  return ThoseAwayLast(std::move(order), now);
}

std::vector<size_t> ServerChoice::ThoseAwayLast(std::vector<size_t> servers,
                                                Clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::stable_partition(servers.begin(), servers.end(),
                        [&](size_t server) { return !IsAway(server, now); });
  return servers;
}

bool ServerChoice::IsAway(size_t server, Clock::time_point now) const {
  return now < servers_[server].avoided_until;
}

std::string ServerChoice::NewDecisionId(Clock::time_point now) const {
  std::string id = MakeUuidV7();
  std::vector<bool> is_away(addresses_.size());
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < is_away.size(); ++i) is_away[i] = IsAway(i, now);
  }
  const auto num_away =
      static_cast<size_t>(std::count(is_away.begin(), is_away.end(), true));
  if (num_away == 0 || num_away == is_away.size()) return id;
  size_t tries = kTriesEach * is_away.size() / (is_away.size() - num_away);
  while (is_away[ByHash(id).front()] && tries-- > 0) id = MakeUuidV7();
  return id;
}

void ServerChoice::Begin(size_t server, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Server& known = servers_[server];
  if (known.avoidance == Clock::duration::zero()) return;
  if (now < known.avoided_until) return;
  known.avoidance =
      std::min<Clock::duration>(2 * known.avoidance, kMaxAvoidance);
  known.avoided_until = now + known.avoidance;
}

void ServerChoice::Failed(size_t server, Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  Server& known = servers_[server];
  if (known.avoidance > Clock::duration::zero()) return;
  known.avoidance = kFirstAvoidance;
  known.avoided_until = now + kFirstAvoidance;
}

void ServerChoice::Answered(size_t server) {
  const std::lock_guard lock(mutex_);
  servers_[server] = Server();
  budget_ = std::min(budget_ + 1, max_budget_);
}

bool ServerChoice::TakeRetry() {
  const std::lock_guard lock(mutex_);
  if (budget_ < kAnswersPerRetry) return false;
  budget_ -= kAnswersPerRetry;
  return true;
}

void ServerChoice::Decided(absl::string_view decision_id, size_t server) {
  if (Of(decision_id) == server) return;
  const std::lock_guard lock(mutex_);
  const auto [place, is_new] =
      moved_.insert_or_assign(std::string(decision_id), server);
  if (!is_new) return;
  moved_order_.push_back(place->first);
  if (moved_.size() <= kMaxMoved) return;
  moved_.erase(moved_order_.front());
  moved_order_.pop_front();
}

}  // namespace sortition
