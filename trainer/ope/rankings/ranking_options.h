#pragma once
// What the options say of rewards by rank.
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "core/counterfactual/rankings/click_relevance.h"
#include "sortition/config/v1/ope.pb.h"

namespace sortition {

enum class RankWeights {
  kSum,  // 1
  kDcg,  // 1 / log2(r + 2)
};

struct RankingOptions {
  RankWeights weights = RankWeights::kSum;
  std::optional<Examination> examination = std::nullopt;

  // InvalidArgument if rank_weights is unknown, a number is none or out of its
  // range, or click_offsets are not as many as examination.
  static absl::StatusOr<RankingOptions> Parse(
      const config::v1::OpeOptions& options);

  // Of that many ranks.
  std::vector<double> WeightsOf(size_t num_ranks) const;
};

}  // namespace sortition
