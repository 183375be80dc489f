#include "trainer/ope/log_summary.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/hash.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

template <typename T>
absl::string_view BytesOf(const google::protobuf::RepeatedField<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          static_cast<size_t>(values.size()) * sizeof(T)};
}

uint64_t HashOfFeatures(const log::v1::Decision& decision) {
  if (decision.has_columns()) {
    return HashBytes(decision.columns().SerializeAsString()).low;
  }
  if (!decision.has_sparse()) {
    return HashBytes(BytesOf(decision.dense_values())).low;
  }
  const auto& sparse = decision.sparse();
  return HashBytes(BytesOf(sparse.values())).low ^
         (HashBytes(BytesOf(sparse.columns())).high + 1);
}

}  // namespace

void LogSummary::Add(const LoggedDecision& logged) {
  const log::v1::Decision& decision = *logged.decision;
  ++decisions;
  if (!decision.unit_id().empty()) ++named;
  if (!logged.full_support) ++without_full_support;
  if (!logged.action_shown) ++shown_otherwise;
  AddChoice(logged);
  reward_sum += logged.reward;
  if (const int64_t time_us = decision.time_us(); time_us > 0) {
    first_time_us =
        first_time_us == 0 ? time_us : std::min(first_time_us, time_us);
    last_time_us = std::max(last_time_us, time_us);
  }
  units.Add(logged.unit);
  ids.Add(UnitKey("", decision.decision_id()));
  contexts.Add(HashOfFeatures(decision));
  ++versions[decision.version()];
  AddAttributes(decision);
  const double log10 = -logged.log_propensity / std::numbers::ln10;
  ++propensities_[static_cast<size_t>(
      std::clamp(log10 * kStepsPerDecade, 0.0, double{kSteps}))];
  if (logged.action_kind != ActionKind::kSelect) return;
  const int32_t document = logged.action[0];
  if (document < 0 || document >= static_cast<int32_t>(kMostDocuments)) return;
  std::vector<double>& rewards = document_rewards_[UnitHalf(logged.unit)];
  if (rewards.size() <= static_cast<size_t>(document)) {
    rewards.resize(static_cast<size_t>(document) + 1);
  }
  rewards[static_cast<size_t>(document)] +=
      logged.reward * std::exp(-logged.log_propensity);
}

void LogSummary::AddChoice(const LoggedDecision& logged) {
  const log::v1::Decision& decision = *logged.decision;
  switch (logged.arm_use) {
    case ArmUse::kNoArm:
      break;
    case ArmUse::kApart:
      ++arms_apart;
      break;
    case ArmUse::kNoMixture:
      ++arms_without_mixture;
      break;
    case ArmUse::kBalanced:
      ++arms_balanced;
      if (!decision.unit_id().empty()) ++arms_balanced_by_unit;
      break;
    case ArmUse::kUnitKeepsArm:
      ++arms_kept_by_unit;
      break;
  }
  if (decision.has_interleaving()) ++interleaved;
  if (logged.action_kind == ActionKind::kRank && logged.tuple != nullptr) {
    if (!logged.tuple->rank_rewards().empty()) ++with_rank_rewards;
    most_ranks =
        std::max(most_ranks, static_cast<size_t>(decision.action_size()));
  }
  if (!decision.has_baseline()) return;
  ++with_baseline;
  if (IsCertain(decision)) ++certain_baseline;
}

void LogSummary::AddAttributes(const log::v1::Decision& decision) {
  for (const auto& [name, value] : decision.attributes()) {
    if (attributes.size() >= kMostAttributes && !attributes.contains(name)) {
      continue;
    }
    Attribute& attribute = attributes[name];
    ++attribute.decisions;
    const auto found = attribute.values.find(value);
    if (found != attribute.values.end()) {
      ++found->second;
    } else if (attribute.values.size() < kMostValues) {
      attribute.values[value] = 1;
    } else {
      attribute.has_more = true;
    }
  }
}

int32_t LogSummary::BestDocument(size_t half) const {
  const std::vector<double>& rewards = document_rewards_[half];
  if (rewards.empty()) return 0;
  return static_cast<int32_t>(std::max_element(rewards.begin(), rewards.end()) -
                              rewards.begin());
}

std::vector<double> LogSummary::PropensityQuantiles(size_t parts) const {
  std::vector<double> edges;
  uint64_t seen = 0;
  size_t last = 0;
  for (size_t step = kSteps + 1; step-- > 0;) {
    if (propensities_[step] == 0) continue;
    const uint64_t wanted = decisions * (edges.size() + 1) / parts;
    if (seen > 0 && seen >= wanted && edges.size() + 1 < parts) {
      // In the middle between this step and the last one, of smaller
      // propensities.
      edges.push_back(-0.5 * static_cast<double>(step + 1 + last) /
                      kStepsPerDecade);
    }
    seen += propensities_[step];
    last = step;
  }
  return edges;
}

uint64_t UnitCount::Estimate() const {
  const auto used =
      static_cast<double>(std::count(used_.begin(), used_.end(), true));
  constexpr double kAll = kBits;
  const double empty = std::max(kAll - used, 0.5);
  return static_cast<uint64_t>(std::llround(-kAll * std::log(empty / kAll)));
}

}  // namespace sortition
