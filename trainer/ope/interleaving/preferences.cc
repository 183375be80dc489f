#include "trainer/ope/interleaving/preferences.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "core/base/hash.h"
#include "core/counterfactual/evaluation/mean_interval.h"
#include "core/counterfactual/evaluation/planning.h"
#include "io/segments/shown_action.h"

namespace sortition {
namespace {

using config::v1::OpeInterleaving;

// The sums of a group.
enum Entry : size_t { kPreference, kCredited, kCount };

Ratio MeanOf(Entry entry) {
  Ratio mean;
  mean.numerator = {SumTerm{entry, 1}};
  mean.denominator = {SumTerm{kCount, 1}};
  return mean;
}

}  // namespace

Preferences::Preferences(const config::v1::OpeOptions& options,
                         uint32_t num_features, const UnitSizes& units)
    : options_(options), units_(units), credits_(options, num_features) {}

void Preferences::AddCredit(const LoggedDecision& decision,
                            const TeamCredit& credit, Sums* sums) const {
  const uint64_t unit = options_.units() == "same"
                            ? UnitKey("", decision.decision->decision_id())
                            : decision.unit;
  const std::span<double> group = sums->groups.GroupOf(unit);
  const double share = units_.ShareOf(unit);
  group[kPreference] += share * credit.preference;
  group[kCredited] += share * credit.credited;
  group[kCount] += share;
}

void Preferences::Add(const LoggedDecision& decision) {
  const log::v1::Decision& logged = *decision.decision;
  if (!logged.has_interleaving()) return;
  ++decisions_;
  const Pair pair = {logged.version(), logged.interleaving().other_version(),
                     logged.interleaving().method()};
  if (pairs_.size() >= kMostPairs && !pairs_.contains(pair)) {
    ++further_pairs_;
    return;
  }
  std::optional<TeamCredit> credit = credits_.Of(decision);
  if (!credit.has_value()) return;
  Sums& sums = pairs_[pair];
  ++sums.decisions;
  sums.most_ranks = std::max(sums.most_ranks, logged.action_size());
  const log::v1::BanditTuple* const tuple = decision.tuple;
  const bool has_ranks = tuple != nullptr && !tuple->rank_rewards().empty();
  // Ranks of feedback are those of what was shown: if that was another order,
  // they say nothing of who filled them.
  const bool is_unranked =
      has_ranks
          ? ShownDiffers(*tuple)
          : tuple != nullptr && tuple->has_feedback() && tuple->reward() != 0;
  if (is_unranked) {
    ++sums.without_ranks;
    credit = TeamCredit();
  } else if (has_ranks) {
    ++sums.with_rank_rewards;
  }
  // A decision that credits nobody counts as 0: to leave it out would select
  // decisions by what came of them.
  AddCredit(decision, *credit, &sums);
}

OpeInterleaving Preferences::ReportPair(const Pair& pair, const Sums& sums,
                                        const Style& style) const {
  OpeInterleaving report;
  report.set_version(pair.version);
  report.set_other_version(pair.other_version);
  report.set_method(model::v1::Interleave::Method_Name(pair.method));
  report.set_decisions(sums.decisions);
  report.set_with_rank_rewards(sums.with_rank_rewards);
  report.set_without_ranks(sums.without_ranks);
  if (sums.with_rank_rewards == 0) return report;
  const Ratio credited = MeanOf(kCredited);
  report.set_credited(
      EstimateRatios(sums.groups, std::span(&credited, 1)).value);
  // Each rank has a reward of its own in the range of the options.
  const double largest = std::max(std::abs(options_.reward_min()),
                                  std::abs(options_.reward_max()));
  const JudgedInterval judged =
      MeanInterval({.sums = &sums.groups,
                    .mean = MeanOf(kPreference),
                    .limit = sums.most_ranks * largest,
                    .confidence = style.confidence,
                    .largest_group = style.largest_group});
  model::v1::Estimate& preference = *report.mutable_preference();
  preference.set_value(judged.interval.value);
  preference.set_lower(judged.interval.lower);
  preference.set_upper(judged.interval.upper);
  preference.set_confidence(style.confidence);
  report.set_interval(IntervalKey(judged.kind));
  report.set_standard_error(judged.standard_error);
  const double improvement = options_.improvement() * report.credited();
  if (!(improvement > 0) || !std::isfinite(judged.standard_error) ||
      judged.standard_error == 0) {
    return report;
  }
  report.set_improvement(improvement);
  report.set_needed(DecisionsToSee(judged.standard_error, sums.decisions,
                                   improvement, (1 - style.confidence) / 2,
                                   style.power, judged.kind));
  return report;
}

std::vector<OpeInterleaving> Preferences::Report(const Style& style) const {
  // Bonferroni: intervals of so many pairs fail together with 1 - confidence at
  // most.
  Style style_of_each = style;
  style_of_each.confidence =
      1 - (1 - style.confidence) /
              static_cast<double>(std::max<size_t>(1, pairs_.size()));
  std::vector<OpeInterleaving> reports;
  for (const auto& [pair, sums] : pairs_) {
    reports.push_back(ReportPair(pair, sums, style_of_each));
  }
  return reports;
}

}  // namespace sortition
