#include "trainer/ope/rankings/ranking_report.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/counterfactual/evaluation/intervals.h"
#include "core/counterfactual/rankings/ranking_intervals.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpeRankings;
using config::v1::OpeUserTest;
using StoredFinding = model::v1::Finding;
using Kind = RankingEstimatorKind;
using Of = IntervalTask::Of;

// A test rejects if what it saw has a smaller probability than this, for all
// policies and tests together (Bonferroni).
constexpr double kLevel = 0.01;
constexpr UserDependence kDependences[] = {
    UserDependence::kBelow, UserDependence::kAbove, UserDependence::kUnshown};

void Store(const JudgedInterval& judged, double scale, double confidence,
           model::v1::Estimate* stored) {
  stored->set_value(scale * judged.interval.value);
  stored->set_lower(scale * judged.interval.lower);
  stored->set_upper(scale * judged.interval.upper);
  stored->set_confidence(confidence);
}

class Rows {
 public:
  Rows(const RankingJudgement& judgement, const RankingStyle& style)
      : judgement_(judgement),
        style_(style),
        scale_(judgement.options().reward_max()) {}

  std::optional<OpeEstimate> RowOf(size_t policy, Kind kind) const {
    if (!judgement_.Has(policy, kind)) return std::nullopt;
    const auto value = BestRankingInterval(TaskOf(policy, kind, Of::kValue));
    OpeEstimate row;
    row.set_estimator(RankingEstimatorKey(kind));
    row.set_assumes(RankingAssumptionOf(kind));
    row.set_effective_sample_size(
        judgement_.sums().EffectiveSampleSize(policy, kind));
    const bool has_gain =
        style_.against != policy &&
        (!style_.against || judgement_.Has(*style_.against, kind));
    const RankingIntervalTask gain_task = TaskOf(
        policy, kind, style_.against ? Of::kGainOverPolicy : Of::kGainOverLog);
    if (!value.has_value()) {
      row.set_no_interval(WhyNoInterval(kind));
      const auto alone = EstimateAlone(TaskOf(policy, kind, Of::kValue));
      if (!alone.has_value()) return std::nullopt;
      SetValueAlone(*alone, scale_, &row);
      const auto gain = has_gain ? EstimateAlone(gain_task) : std::nullopt;
      if (gain.has_value()) SetGainAlone(*gain, scale_, &row);
      return row;
    }
    SetValue(*value, scale_, &row);
    if (!has_gain) return row;
    const auto gain = BestRankingInterval(gain_task);
    if (gain.has_value()) SetGain(*gain, scale_, &row);
    return row;
  }

  std::optional<OpeEstimate> ClicksRow(size_t policy) const {
    if (!judgement_.has_clicks(policy)) return std::nullopt;
    const ClickSums& clicks = *judgement_.clicks();
    std::vector<Ratio> value = clicks.RatiosOf(policy, false);
    OpeEstimate row;
    row.set_estimator("clicks");
    row.set_assumes(
        "Users look at ranks as --examination says, and click by what they "
        "look at alone, besides --click_offsets.");
    row.set_no_interval(
        "Items that the log hardly ever put where users look may earn "
        "anything, and nothing bounds by how much this estimate misses it.");
    SetValueAlone(EstimateRatios(clicks.sums(), value), 1, &row);
    if (style_.against == policy) return row;
    const size_t other = style_.against.value_or(judgement_.num_policies());
    if (style_.against && !judgement_.has_clicks(other)) return row;
    for (Ratio ratio : clicks.RatiosOf(other, false)) {
      ratio.factor = -ratio.factor;
      value.push_back(std::move(ratio));
    }
    SetGainAlone(EstimateRatios(clicks.sums(), value), 1, &row);
    return row;
  }

  model::v1::Estimate Logged() const {
    model::v1::Estimate logged;
    const auto judged =
        BestRankingInterval(TaskOf(0, Kind::kShownPrefix, Of::kLogged));
    if (judged) Store(*judged, scale_, style_.confidence, &logged);
    return logged;
  }

 private:
  RankingIntervalTask TaskOf(size_t policy, Kind kind, Of of) const {
    RankingIntervalTask task = {.sums = &judgement_.sums(),
                                .policy = policy,
                                .estimator = kind,
                                .of = of,
                                .other = style_.against.value_or(0),
                                .confidence = style_.confidence};
    if (!style_.units_are_decisions) {
      task.largest_group =
          judgement_.units().LargestGroup(RankingJudgement::kNumGroups);
    }
    return task;
  }

  std::string WhyNoInterval(Kind kind) const {
    if (RankingWeightOf(kind) == RankingWeightKind::kMarginal &&
        judgement_.sums().ShownRanksVary()) {
      return "Some decisions show ranks that others hide. If users look on "
             "because of what stands above, weights of single ranks are not "
             "right, and nothing bounds by how much this estimate misses it.";
    }
    return "What the log could not show may earn anything, and nothing bounds "
           "by how much this estimate misses it.";
  }

  // Without an interval; nullopt if the estimator is not supported.
  static std::optional<RatioEstimate> EstimateAlone(
      const RankingIntervalTask& task) {
    const std::vector<Ratio> ratios = RatiosOf(task);
    if (ratios.empty()) return std::nullopt;
    return EstimateRatios(task.sums->sums(), ratios);
  }

  static void SetValueAlone(const RatioEstimate& value, double scale,
                            OpeEstimate* row) {
    row->set_value_alone(scale * value.value);
    row->set_standard_error(scale * value.standard_error);
  }
  static void SetGainAlone(const RatioEstimate& gain, double scale,
                           OpeEstimate* row) {
    row->set_gain_alone(scale * gain.value);
    row->set_gain_standard_error(scale * gain.standard_error);
  }
  // Notes that an estimate was outside of its interval, if it was.
  static void NoteOutside(const std::string& text, OpeEstimate* row) {
    if (text.empty()) return;
    absl::StrAppend(row->mutable_outside_interval(),
                    row->outside_interval().empty() ? "" : " ", text);
  }
  void SetValue(const JudgedInterval& judged, double scale,
                OpeEstimate* row) const {
    Store(judged, scale, style_.confidence, row->mutable_value());
    row->set_value_interval(IntervalKey(judged.kind));
    NoteOutside(OutsideText(judged, "value", scale, 0), row);
    row->set_standard_error(scale * judged.standard_error);
  }
  void SetGain(const JudgedInterval& judged, double scale,
               OpeEstimate* row) const {
    Store(judged, scale, style_.confidence, row->mutable_gain());
    row->set_gain_interval(IntervalKey(judged.kind));
    NoteOutside(OutsideText(judged, "gain", scale, 0), row);
    row->set_gain_standard_error(scale * judged.standard_error);
  }

  const RankingJudgement& judgement_;
  const RankingStyle& style_;
  const double scale_;  // Of what is in [0, 1].
};

// Weights of whole orders are in the usual table with --ranks=all.
bool IsShown(Kind kind) {
  return RankingWeightOf(kind) != RankingWeightKind::kWholeOrder;
}

void AddTests(const RankingJudgement& judgement, size_t policy,
              OpeRankings* rankings) {
  const double level = kLevel / static_cast<double>(std::size(kDependences) *
                                                    judgement.num_policies());
  for (const UserDependence dependence : kDependences) {
    if (dependence == UserDependence::kAbove && !judgement.has_marginals()) {
      continue;
    }
    const DependenceTest test = judgement.tests(policy).Test(dependence);
    if (test.ranks.empty() && test.num_skipped == 0) continue;
    OpeUserTest* const added = rankings->add_tests();
    added->set_dependence(UserDependenceKey(dependence));
    added->set_question(UserDependenceQuestion(dependence));
    added->set_p_value(test.p_value);
    added->set_ranks(static_cast<uint32_t>(test.ranks.size()));
    added->set_skipped(static_cast<uint32_t>(test.num_skipped));
    added->set_rejected(test.p_value < level);
  }
}

bool Rejects(const OpeRankings& rankings, UserDependence dependence) {
  return std::any_of(rankings.tests().begin(), rankings.tests().end(),
                     [&](const OpeUserTest& test) {
                       return test.rejected() &&
                              test.dependence() ==
                                  UserDependenceKey(dependence);
                     });
}

// Marks the first of these estimators that has a row, and returns its key.
std::string Choose(const std::vector<Kind>& kinds, OpeRankings* rankings) {
  for (const Kind kind : kinds) {
    for (OpeEstimate& row : *rankings->mutable_estimates()) {
      if (row.estimator() != RankingEstimatorKey(kind)) continue;
      row.set_chosen(true);
      return row.estimator();
    }
  }
  return "";
}

std::string ChooseGuidance(OpeRankings* rankings) {
  const std::vector<Kind> shown = {Kind::kShownPrefixDr,
                                   Kind::kSelfNormalisedShownPrefix,
                                   Kind::kShownPrefix};
  const std::vector<Kind> prefix = {Kind::kCascadeDr,
                                    Kind::kSelfNormalisedRewardInteraction,
                                    Kind::kRewardInteraction};
  if (Rejects(*rankings, UserDependence::kUnshown)) {
    return "Read none of these rows, but the usual table with --ranks=all: "
           "rewards depend on ranks that were not shown.";
  }
  if (Rejects(*rankings, UserDependence::kBelow)) {
    return absl::StrCat("Read the row ", Choose(shown, rankings),
                        ": rewards depend on what stands below, which rows by "
                        "prefix and by position do not reckon with.");
  }
  const std::string row = Choose(prefix, rankings);
  if (Rejects(*rankings, UserDependence::kAbove)) {
    return absl::StrCat("Read the row ", row,
                        ": rewards depend on what stands above, which rows by "
                        "position (iips, pi, clicks) do not reckon with.");
  }
  return absl::StrCat(
      "Read the row ", row,
      ": no test contradicts what it assumes. Rows by position (iips, pi, "
      "clicks) are narrower, but right only if users judge each rank by "
      "itself, which no test can show.");
}

config::v1::OpeRankLog RankLogOf(const RankingJudgement& judgement,
                                 const RankingStyle& style) {
  const RankingJudgement::Counts& counts = judgement.counts();
  config::v1::OpeRankLog log;
  log.set_decisions(counts.decisions);
  log.set_with_rank_rewards(counts.with_rank_rewards);
  if (counts.decisions > 0) {
    *log.mutable_logged() = Rows(judgement, style).Logged();
  }
  log.set_rank_weights(judgement.options().rank_weights());
  log.set_left_out(counts.left_out);
  log.set_without_ranks(counts.without_ranks);
  log.set_shown_otherwise(counts.shown_otherwise);
  log.set_outside_range(counts.outside_range);
  if (!judgement.has_marginals()) {
    log.set_without_marginals(counts.without_marginals);
  }
  return log;
}

std::optional<OpeRankings> RankingsOf(const RankingJudgement& judgement,
                                      const RankingStyle& style,
                                      size_t policy) {
  if (judgement.counts().decisions == 0 || !judgement.is_known(policy)) {
    return std::nullopt;
  }
  OpeRankings rankings;
  const Rows rows(judgement, style);
  for (const Kind kind : AllRankingEstimators()) {
    if (!IsShown(kind)) continue;
    if (auto row = rows.RowOf(policy, kind)) {
      *rankings.add_estimates() = *std::move(row);
    }
  }
  if (auto row = rows.ClicksRow(policy)) {
    *rankings.add_estimates() = *std::move(row);
  }
  AddTests(judgement, policy, &rankings);
  rankings.set_guidance(ChooseGuidance(&rankings));
  if (const double error = judgement.marginal_error(policy); error > 0) {
    rankings.set_marginal_error(error);
  }
  return rankings;
}

void AddFindings(const OpeRankings& rankings, config::v1::OpePolicy* policy) {
  for (const OpeUserTest& test : rankings.tests()) {
    if (!test.rejected()) continue;
    StoredFinding& finding = *policy->add_findings();
    finding.set_kind(absl::StrCat("rewards_depend_", test.dependence()));
    finding.set_gravity(StoredFinding::CAUTION);
    finding.set_part("log");
    finding.set_sentence(absl::StrFormat("%s Yes (p = %.2g). %s",
                                         test.question(), test.p_value(),
                                         rankings.guidance()));
  }
}

}  // namespace

void AddRankings(const RankingJudgement& judgement, const RankingStyle& style,
                 config::v1::OpeReport* report) {
  *report->mutable_rank_log() = RankLogOf(judgement, style);
  for (size_t k = 0; k < judgement.num_policies(); ++k) {
    auto rankings = RankingsOf(judgement, style, k);
    if (!rankings.has_value()) continue;
    config::v1::OpePolicy* const policy =
        report->mutable_policies(static_cast<int>(k));
    AddFindings(*rankings, policy);
    *policy->mutable_rankings() = *std::move(rankings);
  }
}

}  // namespace sortition
