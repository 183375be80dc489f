#include "trainer/clicks/rank_links.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/clicks/expected_counts.h"
#include "core/clicks/fitted_clicks.h"

namespace sortition {
namespace {

using Unidentified = config::v1::ClicksReport::Unidentified;
using List = google::protobuf::RepeatedPtrField<Unidentified>;

// "rank 3", "ranks 3, 4"
std::string RanksText(const std::vector<uint32_t>& ranks) {
  return absl::StrCat(ranks.size() == 1 ? "rank " : "ranks ",
                      absl::StrJoin(ranks, ", "));
}

void Append(ClickParameterKind kind, const std::vector<uint32_t>& ranks,
            const std::string& sentence, List* list) {
  if (ranks.empty()) return;
  Unidentified* const added = list->Add();
  added->set_parameter(std::string(ClickParameterName(kind)));
  added->mutable_ranks()->Add(ranks.begin(), ranks.end());
  added->set_sentence(sentence);
}

void AppendItems(ClickParameterKind kind, uint64_t count, uint64_t all,
                 const std::string& why, List* list) {
  if (count == 0) return;
  Unidentified* const added = list->Add();
  added->set_parameter(std::string(ClickParameterName(kind)));
  added->set_items(count);
  added->set_sentence(absl::StrCat("The ", ClickParameterName(kind), " of ",
                                   count, " of ", all, " items: ", why, "."));
}

template <typename Condition>
std::vector<uint32_t> RanksThat(size_t begin, size_t end,
                                const Condition& condition) {
  std::vector<uint32_t> ranks;
  for (size_t r = begin; r < end; ++r) {
    if (condition(r)) ranks.push_back(static_cast<uint32_t>(r));
  }
  return ranks;
}

}  // namespace

RankLinks::RankLinks(const ClickSessions& sessions)
    : items_(sessions.num_items()),
      clicks_(sessions.num_ranks(), 0),
      clicks_above_(sessions.num_ranks(), 0) {
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    bool is_before_click = true;
    for (size_t r = 0; r < session.size(); ++r) {
      Item& item = items_[session.item(r)];
      item.is_examined |= is_before_click;
      if (!session.clicked(r)) continue;
      is_before_click = false;
      item.is_clicked = true;
      ++clicks_[r];
      if (r + 1 >= session.size()) continue;
      item.is_clicked_above = true;
      ++clicks_above_[r];
    }
  }
  const ClickCells cells(sessions);
  ranks_.reserve(cells.size());
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    item.begin = ranks_.size();
    for (size_t c = cells.begin(i); c < cells.begin(i + 1); ++c) {
      ranks_.push_back(cells.rank(c));
    }
    item.end = ranks_.size();
    if (item.end > item.begin) ++shown_items_;
    if (item.end - item.begin < 2) continue;
    ++moved_items_;
    clicked_item_moved_ |= item.is_clicked;
  }
}

std::vector<bool> RankLinks::LinkedRanks(uint32_t fewest,
                                         bool clicked_only) const {
  std::vector<bool> linked(clicks_.size(), false);
  std::vector<bool> is_told(items_.size(), false);
  if (!linked.empty()) linked[0] = true;
  // Each round but the last links a rank.
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::vector<uint32_t> links(linked.size(), 0);
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (clicked_only && !item.is_clicked) continue;
      for (size_t k = item.begin; k < item.end && !is_told[i]; ++k) {
        is_told[i] = linked[ranks_[k]];
      }
      if (!is_told[i]) continue;
      for (size_t k = item.begin; k < item.end; ++k) ++links[ranks_[k]];
    }
    for (size_t r = 0; r < linked.size(); ++r) {
      if (linked[r] || links[r] < fewest) continue;
      linked[r] = true;
      has_changed = true;
    }
  }
  return linked;
}

uint64_t RankLinks::CountItems(bool Item::*flag) const {
  return static_cast<uint64_t>(
      std::count_if(items_.begin(), items_.end(),
                    [&](const Item& item) { return item.*flag; }));
}

void RankLinks::AppendUnidentified(ClickModelKind kind, bool free_items,
                                   List* list) const {
  const size_t ranks = clicks_.size();
  const auto unlinked = [&](uint32_t fewest, bool clicked_only) {
    if (!free_items) return std::vector<uint32_t>();
    const std::vector<bool> linked = LinkedRanks(fewest, clicked_only);
    return RanksThat(0, ranks, [&](size_t r) { return !linked[r]; });
  };
  const uint64_t all = shown_items_;
  switch (kind) {
    case ClickModelKind::kPositionBased: {
      const auto apart = unlinked(1, true);
      Append(ClickParameterKind::kExamination, apart,
             absl::StrCat("Examination of ", RanksText(apart),
                          ": no clicked item was shown there and at a rank "
                          "that is linked with rank 0."),
             list);
      return;
    }
    case ClickModelKind::kTrustBias: {
      const auto apart = unlinked(2, false);
      Append(ClickParameterKind::kSlope, apart,
             absl::StrCat("Slope and offset of ", RanksText(apart),
                          ": fewer than two items were shown there and at a "
                          "rank that is linked with rank 0."),
             list);
      Append(ClickParameterKind::kOffset, {0},
             "The slope and the offset of rank 0 are not learned from clicks: "
             "they are first_slope and first_offset.",
             list);
      return;
    }
    case ClickModelKind::kCascade:
      if (!free_items) return;
      AppendItems(ClickParameterKind::kAttraction,
                  all - CountItems(&Item::is_examined), all,
                  "they were only shown below a click", list);
      return;
    case ClickModelKind::kDependentClick: {
      const auto silent =
          RanksThat(0, ranks, [&](size_t r) { return clicks_above_[r] == 0; });
      Append(ClickParameterKind::kContinuation, silent,
             absl::StrCat("Continuation after ", RanksText(silent),
                          ": no click there was followed by a lower rank that "
                          "was shown."),
             list);
      return;
    }
    case ClickModelKind::kBayesianNetwork:
      if (!free_items) return;
      if (!clicked_item_moved_) {
        Unidentified* const added = list->Add();
        added->set_parameter("perseverance");
        added->set_sentence(
            "Perseverance: no clicked item was shown at two ranks.");
      }
      AppendItems(ClickParameterKind::kSatisfaction,
                  all - CountItems(&Item::is_clicked_above), all,
                  "they were never clicked above the last rank", list);
      return;
  }
}

}  // namespace sortition
