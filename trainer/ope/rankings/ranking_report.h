#pragma once
// What rewards by rank say, as reports have it.
#include <cstddef>
#include <optional>

#include "sortition/config/v1/ope_report.pb.h"
#include "trainer/ope/rankings/ranking_judgement.h"

namespace sortition {

struct RankingStyle {
  double confidence = 0.95;
  std::optional<size_t> against = std::nullopt;  // Unset: the log.
  bool units_are_decisions = false;
};

// Adds what the log's ranks earned, and to each policy that can say how it
// orders its rows, tests, and a finding for each test that contradicts an
// assumption. Requires a report with the policies.
void AddRankings(const RankingJudgement& judgement, const RankingStyle& style,
                 config::v1::OpeReport* report);

}  // namespace sortition
