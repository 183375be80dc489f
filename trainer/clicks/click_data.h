#pragma once
// A log as sessions of two parts: to learn from, and held out.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "core/clicks/click_features.h"
#include "core/clicks/click_sessions.h"
#include "sortition/config/v1/clicks.pb.h"
#include "trainer/clicks/click_log.h"
#include "trainer/clicks/item_keys.h"

namespace sortition {

struct ClickData {
  ClickSessions train;
  ClickSessions held_out;
  // By held-out session, from 0: sessions with the same number are of one unit.
  std::vector<uint32_t> held_out_units;
  uint32_t num_held_out_units = 0;
  bool units_repeat = false;  // Some unit has several sessions in a part.
  ItemIndex items;
  // Regression: a row for each item, else none.
  std::vector<float> rows;
  uint32_t num_features = 0;
  ClickCounts counts;

  // A view.
  ClickFeatures features() const { return {rows, num_features}; }
};

// Reads the log once. Takes 4 bytes an impression and 8 a session, as much
// again for a moment while parts are put together, and 16 a unit; 40 an item,
// and with regression 4 more for each of its features. FailedPrecondition if
// that is above memory_mb, if there are no rankings or no rewards by rank, or
// if a part has fewer than kFewestTuples sessions; otherwise errors as
// ClickLog::Scan().
absl::StatusOr<ClickData> ReadClickData(
    const config::v1::ClicksOptions& options, ClickLog* log);

}  // namespace sortition
