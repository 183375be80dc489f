#pragma once
// What users clicked in rankings, packed.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// A view of one ranking: its items by rank and which of them were clicked.
class ClickSession {
 public:
  ClickSession(std::span<const uint32_t> packed, size_t num_seen, double weight)
      : packed_(packed), num_seen_(num_seen), weight_(weight) {}

  // The number of ranks that the user may have seen. Click models know nothing
  // of the ranks below.
  size_t size() const { return num_seen_; }
  size_t num_shown() const { return packed_.size(); }
  uint32_t item(size_t rank) const { return packed_[rank] >> 1; }
  bool clicked(size_t rank) const { return (packed_[rank] & 1) != 0; }
  double weight() const { return weight_; }

 private:
  std::span<const uint32_t> packed_;  // 2 · item + (clicked ? 1 : 0)
  size_t num_seen_;
  double weight_;
};

// Many of them. An impression takes 4 bytes; a session 8 more, 4 where weights
// differ from 1, and 2 where some have ranks that nobody saw: 4.8 to 5.4 bytes
// an impression for sessions of ten ranks.
class ClickSessions {
 public:
  static constexpr uint32_t kMostItems = uint32_t{1} << 31;
  static constexpr size_t kMostRanks = 1000;

  // Items will be 0 .. num_items - 1; an item is what is attractive by itself,
  // as a rule a pair of query and document. InvalidArgument if num_items is not
  // in [1, kMostItems].
  static absl::StatusOr<ClickSessions> Create(uint32_t num_items);

  // Adds a session: `items[r]` was shown at rank r, and clicked if clicks[r] is
  // not 0. InvalidArgument if the sizes differ or are not in [1, kMostRanks],
  // an item is not below num_items, the weight is not finite and positive,
  // `num_seen` is not in [1, items.size()], or a rank that was not seen was
  // clicked.
  absl::Status Add(std::span<const uint32_t> items,
                   std::span<const uint8_t> clicks, double weight,
                   size_t num_seen);
  absl::Status Add(std::span<const uint32_t> items,
                   std::span<const uint8_t> clicks, double weight = 1) {
    return Add(items, clicks, weight, items.size());
  }
  // Saves reallocations.
  void Reserve(size_t num_sessions, size_t num_impressions);

  uint32_t num_items() const { return num_items_; }
  size_t size() const { return begins_.size() - 1; }
  size_t num_impressions() const { return packed_.size(); }
  // The largest size() of a session; 0 if there are none.
  size_t num_ranks() const { return num_ranks_; }
  double total_weight() const { return total_weight_; }
  ClickSession operator[](size_t session) const;
  // The place of the session's rank 0 among all impressions.
  size_t first_impression(size_t session) const { return begins_[session]; }
  size_t memory_bytes() const;  // Of the elements, without spare capacity.

 private:
  explicit ClickSessions(uint32_t num_items) : num_items_(num_items) {}

  uint32_t num_items_;
  size_t num_ranks_ = 0;
  double total_weight_ = 0;
  std::vector<uint32_t> packed_;
  std::vector<uint64_t> begins_ = {0};
  std::vector<float> weights_;      // Empty: all are 1.
  std::vector<uint16_t> num_seen_;  // Empty: everything was seen.
};

// Returns the sessions with what lies below the first click taken as not seen:
// the part of a log with several clicks that a cascade can explain.
ClickSessions UntilFirstClick(const ClickSessions& sessions);

}  // namespace sortition
