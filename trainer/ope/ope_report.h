#pragma once
// The report of a judgement.
#include <string>
#include <vector>

#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "trainer/decision_files/named_files.h"
#include "trainer/ope/interleaving/preferences.h"
#include "trainer/ope/judgement.h"
#include "trainer/ope/ope_estimates.h"
#include "trainer/ope/policy_set.h"
#include "trainer/ope/rankings/ranking_judgement.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

struct OpeReportTask {
  const config::v1::OpeOptions& options;
  const EstimateStyle& style;
  const LogSummary& summary;
  const TupleCounts& counts;
  RankUse ranks = RankUse::kAll;
  const PolicySet& policies;
  const LoggingPolicies& logging;
  const Judgement& judgement;
  const Preferences& preferences;
  const RankingJudgement* rankings;  // Null: ranks have no rewards.
  const RewardFit* model;            // Null: none.
  std::string features_note;         // ColumnFeatures.note
  const std::vector<NamedRewards>& rewards;
  const std::vector<NamedLimit>& limits;
};

// Returns all but how long it took.
config::v1::OpeReport MakeOpeReport(const OpeReportTask& task);

}  // namespace sortition
