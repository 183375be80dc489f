#include "core/aggregation/order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <numeric>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr size_t kRadixFrom = 2048;
constexpr int kDigitBits = 11;
constexpr int kDigits = 6;  // 66 bits, enough for the 64 of a key.
constexpr size_t kBuckets = size_t{1} << kDigitBits;
// Average number of items of a part. Two parts fit into a second-level cache.
constexpr size_t kBucketItems = 8192;
// Limits the number of places in memory that are written to alternately.
constexpr size_t kMaxParts = 1024;

// Maps scores to integers in reverse order: the larger the score, the smaller
// the key. Flipping all bits of negative numbers and the sign bit of others
// gives integers in the order of the scores; flipping all bits once more
// reverses it.
uint64_t FallingKey(double score) {
  const auto bits = std::bit_cast<uint64_t>(score + 0.0);  // Turns -0 into 0.
  const uint64_t sign = uint64_t{1} << 63;
  return (bits & sign) != 0 ? bits : ~(bits ^ sign);
}

size_t Digit(uint64_t key, int digit) {
  return (key >> (digit * kDigitBits)) & (kBuckets - 1);
}

// The elements that are sorted are either scores or structs with a score.
double ScoreOf(double value) { return value; }
template <typename Entry>
double ScoreOf(const Entry& entry) {
  return entry.score;
}

bool Before(double a, double b) { return a > b; }
template <typename Entry>
bool Before(const Entry& a, const Entry& b) {
  return a.score != b.score ? a.score > b.score : a.item < b.item;
}

// Sorts by the digits of the key, the lowest first. Each pass is stable: it
// keeps the sequence of elements with equal digits.
template <typename Entry>
void SortByRadix(std::span<Entry> entries, std::vector<Entry>* buffer) {
  std::vector<uint32_t> counts(kDigits * kBuckets);
  for (const Entry& entry : entries) {
    const uint64_t key = FallingKey(ScoreOf(entry));
    for (int digit = 0; digit < kDigits; ++digit) {
      ++counts[digit * kBuckets + Digit(key, digit)];
    }
  }
  buffer->resize(std::max(buffer->size(), entries.size()));
  std::span<Entry> from = entries;
  std::span<Entry> to = std::span(*buffer).first(entries.size());
  for (int digit = 0; digit < kDigits; ++digit) {
    uint32_t* const begins = counts.data() + digit * kBuckets;
    const size_t first = Digit(FallingKey(ScoreOf(from[0])), digit);
    // If all elements have the same digit, there is nothing to do.
    if (begins[first] == from.size()) continue;
    std::exclusive_scan(begins, begins + kBuckets, begins, 0u);
    for (const Entry& entry : from) {
      to[begins[Digit(FallingKey(ScoreOf(entry)), digit)]++] = entry;
    }
    std::swap(from, to);
  }
  if (from.data() != entries.data()) std::ranges::copy(from, entries.begin());
}

// Splits the range of scores into parts of equal width, the largest scores
// first.
class Parts {
 public:
  explicit Parts(std::span<const double> scores) {
    if (scores.size() < 2 * kBucketItems) return;
    const auto [low, high] = std::ranges::minmax(scores);
    const size_t wanted = std::min(kMaxParts, scores.size() / kBucketItems);
    const double scale = static_cast<double>(wanted) / (high - low);
    if (!(scale > 0 && std::isfinite(scale))) return;  // A single part has all.
    high_ = high;
    scale_ = scale;
    count_ = wanted;
  }

  size_t count() const { return count_; }
  // Returns the part of the score. A smaller score never gets an earlier part,
  // since rounding keeps every step of the computation monotone.
  size_t Of(double score) const {
    return std::min(count_ - 1, static_cast<size_t>((high_ - score) * scale_));
  }

 private:
  double high_ = 0;
  double scale_ = 0;
  size_t count_ = 1;
};

// Fills `sorted` with make(i) for each score i, by decreasing score, ties by i.
template <typename Entry, typename Make>
void SortFalling(std::span<const double> scores, const Make& make,
                 std::vector<Entry>* sorted, std::vector<Entry>* buffer) {
  const Parts parts(scores);
  std::vector<size_t> ends(parts.count() + 1);
  if (parts.count() > 1) {
    for (const double score : scores) ++ends[parts.Of(score) + 1];
    std::inclusive_scan(ends.begin(), ends.end(), ends.begin());
  }
  sorted->resize(scores.size());
  for (uint32_t i = 0; i < scores.size(); ++i) {
    const size_t part = parts.count() > 1 ? parts.Of(scores[i]) : 0;
    (*sorted)[ends[part]++] = make(i);
  }
  size_t begin = 0;
  for (size_t part = 0; part < parts.count(); ++part) {
    const auto entries = std::span(*sorted).subspan(begin, ends[part] - begin);
    if (entries.size() < kRadixFrom) {
      std::ranges::sort(
          entries, [](const Entry& a, const Entry& b) { return Before(a, b); });
    } else {
      SortByRadix(entries, buffer);
    }
    begin = ends[part];
  }
}

}  // namespace

void Sorter::Sort(std::span<const double> scores, Order* order) {
  SortFalling(
      scores,
      [scores](uint32_t i) {
        return Entry{scores[i], i};
      },
      &entries_, &entry_buffer_);
  order->resize(scores.size());
  for (size_t r = 0; r < scores.size(); ++r) (*order)[r] = entries_[r].item;
}

void Sorter::SortValues(std::span<const double> scores,
                        std::vector<double>* values) {
  SortFalling(
      scores, [scores](uint32_t i) { return scores[i]; }, values,
      &value_buffer_);
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
