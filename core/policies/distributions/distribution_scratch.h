#pragma once
// The buffers of the distributions of
// core/policies/distributions/action_distribution.h.
#include <cstdint>
#include <optional>
#include <vector>

#include "core/games/f_beta/f_beta_game.h"
#include "core/games/ranking/precision_game.h"
#include "core/games/ranking/ranking_game.h"
#include "core/games/sampling/sized_set_sampler.h"
#include "core/games/sampling/slot_sampler.h"
#include "core/policies/distributions/factored_orders.h"
#include "core/policies/distributions/head_tail_orders.h"
#include "core/policies/distributions/sized_subset.h"
#include "core/policies/distributions/sorted_orders.h"

namespace sortition {

// Buffers reused between calls by one thread: no allocation when warm.
struct DistributionScratch {
  // log Σ exp(l) over a set as reference + excess, where the reference is the
  // largest logit l or close to it: the difference from another logit keeps
  // full precision however large the logits are.
  struct LogSum {
    double reference = 0;
    double excess = 0;
  };
  std::vector<double> values;
  std::vector<double> conditionals;
  std::vector<uint8_t> taken;
  std::vector<LogSum> log_sums;
  // What the distribution has found for the present candidates can be drawn;
  // unset: it has not searched yet.
  std::optional<bool> is_prepared;
  // For policies that play games.
  RankingGame game;
  RankingEquilibrium equilibrium;
  std::vector<double> others;
  std::vector<uint32_t> block_begins;
  SlotSampler slots;
  SizedSubset sized_subset;
  PrecisionGame precision_game;
  FBetaSolver f_beta_game;
  FBetaEquilibrium f_beta;
  std::vector<SizedSets> sizes;
  SizedSetSampler sets;
  HeadTailOrders head_tail;
  FactoredOrders factored;
  SortedOrders sorted;
};

}  // namespace sortition
