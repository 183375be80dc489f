#pragma once
// The rankings of a log with what was clicked, in passes.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/scoring/model_features.h"
#include "sortition/config/v1/clicks.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/clicks/item_keys.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {

// Which ranks users could click.
enum class ClickedRanks {
  kAll,    // Of the logged order.
  kShown,  // Those that were shown.
  kSeen,   // Those that the user saw; where that is not known, were shown.
};
// InvalidArgument unless `text` is all, shown or seen.
absl::StatusOr<ClickedRanks> ParseClickedRanks(absl::string_view text);

// One ranking. Views, valid until the next one.
struct ClickedRanking {
  const log::v1::Decision* decision = nullptr;
  std::span<const int32_t> action;  // As logged, all ranks.
  // By rank, of those that the user could click: at most max_ranks.
  std::span<const uint8_t> clicks;
  uint64_t unit = 0;  // UnitKey()
  bool is_held_out = false;
  ItemKeys* keys = nullptr;
};

struct ClickCounts : TupleCounts {
  uint64_t sessions = 0;
  // Sessions with rewards by rank; with feedback that names no rank.
  uint64_t with_rank_rewards = 0;
  uint64_t with_unranked_feedback = 0;
  // Sessions that were clicked below the ranks that are reported as seen.
  uint64_t clicked_below_seen = 0;
  uint64_t cut = 0;  // Sessions of more than max_ranks.
};

class ClickLog {
 public:
  using Take = std::function<absl::Status(const ClickedRanking&)>;

  // Errors as TupleLog::Open(), TupleSelection::Create(), ParseClickItems(),
  // ParseClickedRanks(); NotFound if regression wants features of a store
  // without a version.
  static absl::StatusOr<std::unique_ptr<ClickLog>> Open(
      const config::v1::ClicksOptions& options);

  // Gives each usable ranking to `take`, in the order of writing, and counts
  // the others. What is written after the first pass is not read. Errors as
  // ScanTuples().
  absl::Status Scan(const Take& take, ClickCounts* counts);

  ClickItems items() const { return items_; }
  // Of regression; 0: the log has none.
  uint32_t num_features() const { return num_features_.value_or(0); }

 private:
  explicit ClickLog(const config::v1::ClicksOptions& options);

  absl::Status Prepare();
  absl::Status LoadFeatures();
  absl::Status TakeTuple(const log::v1::BanditTuple& logged, const Take& take,
                         ClickCounts* counts);
  // Whether a tuple is of rankings that are read; nothing: it is.
  std::optional<LeftOutReason> ReasonToSkip(
      const log::v1::BanditTuple& logged) const;
  // Fills in `clicks_`. Returns why the tuple cannot be used, in words; empty:
  // it can.
  std::string ReadClicks(const log::v1::BanditTuple& logged,
                         ClickCounts* counts);

  config::v1::ClicksOptions options_;
  config::v1::TrainOptions selected_;  // What TupleSelection reads.
  ClickItems items_ = ClickItems::kIds;
  ClickedRanks ranks_ = ClickedRanks::kSeen;
  std::shared_ptr<const ModelFeatures> features_;
  std::optional<uint32_t> num_features_;
  std::optional<ItemKeys> keys_;
  std::optional<TupleLog> log_;
  std::optional<TupleSelection> selection_;
  ScanEnds ends_;  // Of the first pass.
  bool leaves_out_aggregations_ = false;
  std::vector<uint8_t> clicks_;
};

// Returns whether the action is a well-formed order: document indexes of
// eligible candidates, each at most once, and at least one.
bool IsOrder(const log::v1::Decision& decision);

}  // namespace sortition
