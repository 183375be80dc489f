#include "core/aggregation/order.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr size_t kRadixFrom = 2048;
constexpr int kDigitBits = 11;
constexpr int kDigits = 6;  // 66 bits.
constexpr size_t kBuckets = size_t{1} << kDigitBits;

// Negative numbers have all their bits turned round, others the sign; and all
// once more, to fall.
uint64_t FallingKey(double score) {
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);  // One zero.
  const uint64_t sign = uint64_t{1} << 63;
  return (bits & sign) != 0 ? bits : ~(bits ^ sign);
}

size_t Digit(uint64_t key, int digit) {
  return (key >> (digit * kDigitBits)) & (kBuckets - 1);
}

}  // namespace

// From the lowest digit up; each pass keeps the order of the one before.
void Sorter::SortByRadix() {
  std::vector<uint32_t> counts(kDigits * kBuckets);
  for (const Entry& entry : entries_) {
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counts[digit * kBuckets + Digit(entry.key, digit)];
    }
  }
  buffer_.resize(entries_.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    uint32_t* const begins = counts.data() + digit * kBuckets;
    // Nothing to do where all have the same digit.
    if (begins[Digit(entries_[0].key, digit)] == entries_.size()) continue;
    std::exclusive_scan(begins, begins + kBuckets, begins, 0u);
    for (const Entry& entry : entries_) {
      buffer_[begins[Digit(entry.key, digit)]++] = entry;
    }
    entries_.swap(buffer_);
  }
}

void Sorter::Sort(std::span<const double> scores) {
  entries_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    entries_[i] = {FallingKey(scores[i]), static_cast<uint32_t>(i)};
  }
  if (scores.size() >= kRadixFrom) return SortByRadix();
  std::sort(entries_.begin(), entries_.end(),
            [](const Entry& a, const Entry& b) {
              return a.key != b.key ? a.key < b.key : a.item < b.item;
            });
}

void Sorter::Sort(std::span<const double> scores, Order* order) {
  Sort(scores);
  order->resize(scores.size());
  for (size_t r = 0; r < scores.size(); ++r) (*order)[r] = entries_[r].item;
}

void Sorter::SortValues(std::span<const double> scores,
                        std::vector<double>* values) {
  Sort(scores);
  values->resize(scores.size());
  for (size_t r = 0; r < scores.size(); ++r) {
    (*values)[r] = scores[entries_[r].item];
  }
}

Order OrderOf(std::span<const double> scores) {
  Order order;
  Sorter().Sort(scores, &order);
  return order;
}

Order OrderAlong(std::span<const double> scores,
                 std::span<const uint32_t> order) {
  std::vector<double> along(order.size());
  for (size_t r = 0; r < order.size(); ++r) along[r] = scores[order[r]];
  Order own = OrderOf(along);
  for (uint32_t& item : own) item = order[item];
  return own;
}

std::vector<uint32_t> RanksOf(std::span<const uint32_t> order) {
  std::vector<uint32_t> ranks(order.size());
  for (size_t r = 0; r < order.size(); ++r) {
    ranks[order[r]] = static_cast<uint32_t>(r);
  }
  return ranks;
}

absl::StatusOr<Order> CompleteOrder(std::span<const uint32_t> top,
                                    size_t num_items) {
  std::vector<bool> named(num_items);
  Order order(top.begin(), top.end());
  for (size_t r = 0; r < top.size(); ++r) {
    if (top[r] >= num_items) {
      return absl::InvalidArgumentError(
          absl::StrCat("order[", r, "] is ", top[r],
                       ", must be an item, below ", num_items));
    }
    if (named[top[r]]) {
      return absl::InvalidArgumentError(absl::StrCat(
          "order[", r, "] is ", top[r], ", must not be named twice"));
    }
    named[top[r]] = true;
  }
  for (uint32_t item = 0; item < num_items; ++item) {
    if (!named[item]) order.push_back(item);
  }
  return order;
}

absl::Status ValidateOrder(std::span<const uint32_t> order, size_t num_items) {
  if (order.size() != num_items) {
    return absl::InvalidArgumentError(absl::StrCat(
        "order has ", order.size(), " items, must have ", num_items));
  }
  return CompleteOrder(order, num_items).status();
}

}  // namespace sortition
