#include "core/aggregation/order.h"

#include "absl/strings/str_cat.h"

namespace sortition {

void Sorter::Sort(std::span<const double> scores) {
  items_.resize(scores.size());
  for (size_t i = 0; i < scores.size(); ++i) {
    items_[i] = {scores[i], static_cast<int32_t>(i)};
  }
  SortItems(&items_, &buffer_);
}

void Sorter::Sort(std::span<const double> scores, Order* order) {
  Sort(scores);
  order->resize(scores.size());
  for (size_t r = 0; r < scores.size(); ++r) {
    (*order)[r] = static_cast<uint32_t>(items_[r].item);
  }
}

void Sorter::SortValues(std::span<const double> scores,
                        std::vector<double>* values) {
  Sort(scores);
  values->resize(scores.size());
  for (size_t r = 0; r < scores.size(); ++r) (*values)[r] = items_[r].psi;
}

Order OrderOf(std::span<const double> scores) {
  Order order;
  Sorter().Sort(scores, &order);
  return order;
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
