#include "trainer/clicks/click_data.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "process/command.h"

namespace sortition {
namespace {

constexpr uint64_t kBytesPerMib = 1024 * 1024;
constexpr uint64_t kItemBytes = 40;
constexpr uint64_t kUnitBytes = 16;

// Number of sessions, by unit.
using UnitSessions = absl::flat_hash_map<uint64_t, uint32_t>;

class Reader {
 public:
  Reader(const config::v1::ClicksOptions& options, ClickLog* log)
      : options_(options), log_(*log) {
    num_features_ = log->num_features();
  }

  absl::StatusOr<ClickData> Read() {
    ClickCounts counts;
    RETURN_IF_ERROR(log_.Scan(
        [&](const ClickedRanking& ranking) { return Take(ranking); }, &counts));
    WarnOfCensoring(counts);
    RETURN_IF_ERROR(CheckEnough(counts));
    const auto num_items = static_cast<uint32_t>(items_.size());
    ASSIGN_OR_RETURN(ClickSessions train, Narrow(num_items, &train_));
    ASSIGN_OR_RETURN(ClickSessions held_out, Narrow(num_items, &held_out_));
    ClickData data = {.train = std::move(train),
                      .held_out = std::move(held_out),
                      .held_out_units = std::move(held_out_units_),
                      .items = std::move(items_),
                      .rows = std::move(rows_),
                      .num_features = num_features_,
                      .counts = std::move(counts)};
    data.num_held_out_units = static_cast<uint32_t>(unit_numbers_.size());
    data.units_repeat =
        data.num_held_out_units < data.held_out.size() || train_repeats_;
    return data;
  }

 private:
  absl::Status Take(const ClickedRanking& ranking) {
    numbers_.clear();
    for (size_t r = 0; r < ranking.clicks.size(); ++r) {
      const auto document_index = static_cast<uint32_t>(ranking.action[r]);
      const size_t before = items_.size();
      numbers_.push_back(items_.Add(ranking.keys->KeyOf(document_index)));
      if (items_.size() > before && num_features_ > 0) {
        ranking.keys->AppendRow(document_index, &rows_);
      }
      clicks_ += ranking.clicks[r];
    }
    if (ranking.is_held_out) {
      held_out_units_.push_back(
          unit_numbers_
              .try_emplace(ranking.unit,
                           static_cast<uint32_t>(unit_numbers_.size()))
              .first->second);
    } else {
      train_repeats_ |= ++train_units_[ranking.unit] > 1;
    }
    RETURN_IF_ERROR((ranking.is_held_out ? held_out_ : train_)
                        .Add(numbers_, ranking.clicks));
    return CheckMemory();
  }

  absl::Status CheckMemory() const {
    const uint64_t bytes =
        2 * (train_.memory_bytes() + held_out_.memory_bytes()) +
        items_.size() * kItemBytes + rows_.size() * sizeof(float) +
        (train_units_.size() + unit_numbers_.size()) * kUnitBytes;
    if (bytes <= options_.memory_mb() * kBytesPerMib) return absl::OkStatus();
    return absl::FailedPreconditionError(absl::StrCat(
        "memory_mb is ", options_.memory_mb(),
        ", must be larger: ", train_.size() + held_out_.size(), " sessions of ",
        items_.size(), " items take ", bytes / kBytesPerMib + 1,
        " MiB, and there are more (or read a shorter time with since, fewer "
        "versions, or coarser items)"));
  }

  absl::Status CheckEnough(const ClickCounts& counts) const {
    const auto fail = [&](const std::string& what) {
      return absl::FailedPreconditionError(
          absl::StrCat(what, " (", counts.DescribeExclusions(), ")"));
    };
    const std::string of_model =
        absl::StrCat(" of model '", options_.model(), "'");
    if (counts.sessions == 0) {
      return fail(absl::StrCat("no rankings", of_model, " to learn from"));
    }
    if (counts.with_rank_rewards == 0) {
      return fail(absl::StrCat(
          "none of ", counts.sessions, " rankings", of_model,
          " has a reward of a rank: report each click with the rank that was "
          "clicked (Feedback.rank; sortition feedback --rank=R)"));
    }
    if (clicks_ == 0) {
      return fail(absl::StrCat(
          "no rank of ", counts.sessions, " rankings", of_model,
          " has a reward that is a click: ",
          options_.has_click_from()
              ? absl::StrCat("click_from is ", options_.click_from())
              : std::string("all are 0 or below, must be above 0")));
    }
    if (std::min(train_.size(), held_out_.size()) >= kFewestTuples) {
      return absl::OkStatus();
    }
    return NotYetError(
        absl::StrCat("not enough data yet: test_fraction is ",
                     options_.test_fraction(), ", which leaves ", train_.size(),
                     " sessions to learn from and holds out ", held_out_.size(),
                     ", must be at least ", kFewestTuples, " each (",
                     counts.DescribeExclusions(), ")"));
  }

  // Returns the sessions with no more items than there are, and clears them.
  static absl::StatusOr<ClickSessions> Narrow(uint32_t num_items,
                                              ClickSessions* sessions) {
    ASSIGN_OR_RETURN(ClickSessions narrow, ClickSessions::Create(num_items));
    narrow.Reserve(sessions->size(), sessions->num_impressions());
    std::vector<uint32_t> items;
    std::vector<uint8_t> clicks;
    for (size_t s = 0; s < sessions->size(); ++s) {
      const ClickSession session = (*sessions)[s];
      items.clear();
      clicks.clear();
      for (size_t r = 0; r < session.size(); ++r) {
        items.push_back(session.item(r));
        clicks.push_back(session.clicked(r) ? 1 : 0);
      }
      RETURN_IF_ERROR(narrow.Add(items, clicks));
    }
    *sessions = *ClickSessions::Create(1);
    return narrow;
  }

  const config::v1::ClicksOptions& options_;
  ClickLog& log_;
  uint32_t num_features_ = 0;
  // Their items are not known yet. This cannot fail.
  ClickSessions train_ = *ClickSessions::Create(ClickSessions::kMostItems);
  ClickSessions held_out_ = *ClickSessions::Create(ClickSessions::kMostItems);
  std::vector<uint32_t> held_out_units_;
  absl::flat_hash_map<uint64_t, uint32_t> unit_numbers_;  // Held out.
  UnitSessions train_units_;
  bool train_repeats_ = false;
  uint64_t clicks_ = 0;
  ItemIndex items_;
  std::vector<float> rows_;
  std::vector<uint32_t> numbers_;
};

}  // namespace

absl::StatusOr<ClickData> ReadClickData(
    const config::v1::ClicksOptions& options, ClickLog* log) {
  return Reader(options, log).Read();
}

}  // namespace sortition
