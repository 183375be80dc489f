#include "core/clicks/click_sessions.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"

namespace sortition {
namespace {

absl::Status OutOfRange(absl::string_view field, double value,
                        absl::string_view range) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", range));
}

absl::Status CheckRanks(std::span<const uint32_t> items,
                        std::span<const uint8_t> clicks, size_t num_seen,
                        uint32_t num_items) {
  for (size_t r = 0; r < items.size(); ++r) {
    if (items[r] >= num_items) {
      return OutOfRange(absl::StrCat("items[", r, "]"), items[r],
                        absl::StrCat("in [0, ", num_items - 1, "]"));
    }
    if (r >= num_seen && clicks[r] != 0) {
      return OutOfRange(
          absl::StrCat("clicks[", r, "]"), clicks[r],
          absl::StrCat("0, since only ", num_seen, " ranks were seen"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ClickSessions> ClickSessions::Create(uint32_t num_items) {
  if (num_items < 1 || num_items > kMostItems) {
    return OutOfRange("num_items", num_items,
                      absl::StrCat("in [1, ", kMostItems, "]"));
  }
  return ClickSessions(num_items);
}

absl::Status ClickSessions::Add(std::span<const uint32_t> items,
                                std::span<const uint8_t> clicks, double weight,
                                size_t num_seen) {
  if (items.empty() || items.size() > kMostRanks) {
    return OutOfRange("items.size", static_cast<double>(items.size()),
                      absl::StrCat("in [1, ", kMostRanks, "]"));
  }
  if (clicks.size() != items.size()) {
    return OutOfRange("clicks.size", static_cast<double>(clicks.size()),
                      absl::StrCat("items.size = ", items.size()));
  }
  // As it will be kept.
  const auto kept_weight = static_cast<float>(weight);
  if (!(kept_weight > 0) || !std::isfinite(kept_weight)) {
    return OutOfRange("weight", weight, "positive and finite");
  }
  if (num_seen < 1 || num_seen > items.size()) {
    return OutOfRange("num_seen", static_cast<double>(num_seen),
                      absl::StrCat("in [1, ", items.size(), "]"));
  }
  if (absl::Status status = CheckRanks(items, clicks, num_seen, num_items_);
      !status.ok()) {
    return status;
  }
  if (weights_.empty() && kept_weight != 1) weights_.assign(size(), 1.0f);
  if (num_seen_.empty() && num_seen != items.size()) {
    num_seen_.resize(size());
    for (size_t s = 0; s < size(); ++s) {
      num_seen_[s] = static_cast<uint16_t>(begins_[s + 1] - begins_[s]);
    }
  }
  const bool keeps_weights = !weights_.empty() || kept_weight != 1;
  const bool keeps_seen = !num_seen_.empty() || num_seen != items.size();
  if (keeps_weights) weights_.push_back(kept_weight);
  if (keeps_seen) num_seen_.push_back(static_cast<uint16_t>(num_seen));
  for (size_t r = 0; r < items.size(); ++r) {
    packed_.push_back(2 * items[r] + (clicks[r] != 0 ? 1 : 0));
  }
  begins_.push_back(packed_.size());
  num_ranks_ = std::max(num_ranks_, num_seen);
  total_weight_ += static_cast<double>(kept_weight);
  return absl::OkStatus();
}

void ClickSessions::Reserve(size_t num_sessions, size_t num_impressions) {
  begins_.reserve(num_sessions + 1);
  packed_.reserve(num_impressions);
}

ClickSession ClickSessions::operator[](size_t session) const {
  const std::span<const uint32_t> packed(
      packed_.data() + begins_[session],
      begins_[session + 1] - begins_[session]);
  return ClickSession(
      packed, num_seen_.empty() ? packed.size() : num_seen_[session],
      weights_.empty() ? 1.0 : static_cast<double>(weights_[session]));
}

size_t ClickSessions::memory_bytes() const {
  return packed_.size() * sizeof(uint32_t) + begins_.size() * sizeof(uint64_t) +
         weights_.size() * sizeof(float) + num_seen_.size() * sizeof(uint16_t);
}

ClickSessions UntilFirstClick(const ClickSessions& sessions) {
  ClickSessions cut = *ClickSessions::Create(sessions.num_items());
  cut.Reserve(sessions.size(), sessions.num_impressions());
  std::vector<uint32_t> items;
  std::vector<uint8_t> clicks;
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    size_t num_seen = session.size();
    items.resize(session.num_shown());
    clicks.assign(session.num_shown(), 0);
    for (size_t r = 0; r < session.num_shown(); ++r) {
      items[r] = session.item(r);
      if (r >= num_seen || !session.clicked(r)) continue;
      clicks[r] = 1;
      num_seen = r + 1;
    }
    CHECK(cut.Add(items, clicks, session.weight(), num_seen).ok());
  }
  return cut;
}

}  // namespace sortition
