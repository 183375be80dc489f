#pragma once
// A simulated user who reads rankings and clicks (core/clicks), as a front end
// sees it.
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/clicks/click_user.h"

namespace sortition {

struct RankReaderOptions {
  uint64_t seed = 1;
  uint32_t max_relevance = 1;                  // g_max of the data, in [1, 31].
  double position_bias = 1;                    // η
  std::optional<double> noise = std::nullopt;  // ν; unset: the user's own.
};

// What the front end learns of one ranking.
struct ReadRanking {
  // Rank and reward of each click, ascending.
  std::vector<std::pair<uint32_t, double>> clicks;
  // How many ranks the user looked at, where reading from the top and stopping
  // at a click tells; unset: nobody knows.
  std::optional<uint32_t> seen_ranks;
};

// Immutable and thread-safe.
class RankReader {
 public:
  // `user` is one of SimulateOptions.user: err, pbm, trust, cascade, dcm,
  // navigational, informational, near_random. InvalidArgument for others, and
  // as MakeClickUser().
  static absl::StatusOr<RankReader> Create(absl::string_view user,
                                           const RankReaderOptions& options);

  // A function of (seed, decision id, relevances by rank).
  ReadRanking Read(std::span<const uint32_t> relevances,
                   absl::string_view decision_id) const;

  // The exact expectation of the sum of rewards over decision ids. Of err this
  // is the expected reciprocal rank Σ_r R_r Π_{s<r} (1 - R_s) / (r + 1), R_g =
  // (2^g - 1) / 2^g_max [Chapelle09].
  double ExpectedReward(std::span<const uint32_t> relevances) const;

 private:
  RankReader(ClickUser user, uint64_t seed)
      : user_(std::move(user)), seed_(seed) {}

  double RewardAt(size_t rank) const {
    return is_reciprocal_ ? 1 / static_cast<double>(rank + 1) : 1;
  }
  ClickUser user_;
  uint64_t seed_;
  bool is_reciprocal_ = false;    // A click is worth 1 / (rank + 1).
  bool stops_at_clicks_ = false;  // So that clicks tell how far was read.
};

}  // namespace sortition
