#pragma once
// Which parameters of click models a log tells, whatever its size.
#include <cstdint>
#include <vector>

#include "core/clicks/click_model.h"
#include "core/clicks/click_sessions.h"
#include "google/protobuf/repeated_field.h"
#include "sortition/config/v1/clicks.pb.h"

namespace sortition {

// What was shown where, and clicked.
class RankLinks {
 public:
  explicit RankLinks(const ClickSessions& sessions);

  uint64_t moved_items() const { return moved_items_; }

  // Appends what `kind` leaves open. With `free_items` each item has an
  // attraction of its own; else features link the ranks. Position-based users:
  // clicks at rank r tell θ_r if an item that was clicked was shown there and
  // at a rank whose θ is told, of which rank 0 is the first. Trust bias needs
  // two such items, because α_r and β_r are two numbers.
  void AppendUnidentified(
      ClickModelKind kind, bool free_items,
      google::protobuf::RepeatedPtrField<
          config::v1::ClicksReport::Unidentified>* unidentified) const;

 private:
  struct Item {
    uint64_t begin = 0;  // Of its ranks in `ranks_`.
    uint64_t end = 0;
    bool is_clicked = false;
    bool is_examined = false;       // At or above the first click of a session.
    bool is_clicked_above = false;  // Above the last rank of a session.
  };

  // Returns for each rank whether `fewest` items link it to rank 0, directly or
  // through other ranks; only clicked items if so.
  std::vector<bool> LinkedRanks(uint32_t fewest, bool clicked_only) const;
  uint64_t CountItems(bool Item::*flag) const;

  std::vector<Item> items_;
  std::vector<uint16_t> ranks_;         // Of all items, each rank once.
  std::vector<uint64_t> clicks_;        // By rank.
  std::vector<uint64_t> clicks_above_;  // By rank; of sessions that go on.
  uint64_t shown_items_ = 0;
  uint64_t moved_items_ = 0;
  bool clicked_item_moved_ = false;
};

}  // namespace sortition
