#pragma once
// What rewards by rank say, as reports have it.
#include <cstddef>
#include <optional>
#include <vector>

#include "sortition/config/v1/ope_report.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/ope/rankings/ranking_judgement.h"

namespace sortition {

struct RankingStyle {
  double confidence = 0.95;
  std::optional<size_t> against = std::nullopt;  // Unset: the log.
  bool units_are_decisions = false;
};

// Returns what the log's ranks earned, and what was left out.
config::v1::OpeRankLog RankLogOf(const RankingJudgement& judgement,
                                 const RankingStyle& style);

// Returns the rows and tests of a policy; nothing if it cannot say how it
// orders.
std::optional<config::v1::OpeRankings> RankingsOf(
    const RankingJudgement& judgement, const RankingStyle& style,
    size_t policy);

// Returns a finding for each test that contradicts an assumption.
std::vector<model::v1::Finding> RankingFindings(
    const config::v1::OpeRankings& rankings);

}  // namespace sortition
