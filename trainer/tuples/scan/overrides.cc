#include "trainer/tuples/scan/overrides.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "io/segments/shown_action.h"
#include "trainer/tuples/scan/censored_share.h"

namespace sortition {
namespace {

// Ids come from outside: actions that are met later count as one.
constexpr size_t kMostStrata = 100'000;
constexpr int64_t kDayUs = int64_t{86'400} * 1'000'000;

// What a version has where others decided, too, and what it would have with the
// shares of all versions.
struct Comparison {
  double decisions = 0;
  double overridden = 0;
  double expected = 0;
  double variance = 0;  // Of the difference.
};

}  // namespace

absl::StatusOr<Overrides> ParseOverrides(absl::string_view text) {
  if (text == "intent_to_treat") return Overrides::kIntentToTreat;
  if (text == "as_shown") return Overrides::kAsShown;
  return absl::InvalidArgumentError(absl::StrCat(
      "overrides is '", text, "', must be intent_to_treat or as_shown"));
}

void OverriddenShare::Add(const log::v1::BanditTuple& tuple) {
  const log::v1::Decision& decision = tuple.decision();
  const bool is_overridden = ShownDiffers(tuple);
  count_ += is_overridden;
  versions_.insert(decision.version());
  Stratum stratum = {decision.time_us() / kDayUs, FirstAction(decision)};
  if (groups_.size() >= kMostStrata && !groups_.contains(stratum)) {
    stratum.action.clear();
  }
  Group& group = groups_[std::move(stratum)][decision.version()];
  ++group.decisions;
  group.overridden += is_overridden;
}

// Versions choose different actions on different days, and some actions, and
// some days, have more overrides than others. So each version is compared with
// what it would have if every action had the share that it has on that day in
// all versions. Were overrides blind, those of a version would be a draw
// without replacement: K of N overridden, n of them decided by the version.
std::optional<std::string> OverriddenShare::Warning() const {
  if (count_ == 0) return std::nullopt;
  std::map<uint64_t, Comparison> versions;
  for (const auto& [stratum, groups] : groups_) {
    if (groups.size() < 2) continue;
    double decisions = 0;
    double overridden = 0;
    for (const auto& [version, group] : groups) {
      decisions += static_cast<double>(group.decisions);
      overridden += static_cast<double>(group.overridden);
    }
    const double share = overridden / decisions;
    for (const auto& [version, group] : groups) {
      const auto n = static_cast<double>(group.decisions);
      Comparison& comparison = versions[version];
      comparison.decisions += n;
      comparison.overridden += static_cast<double>(group.overridden);
      comparison.expected += n * share;
      comparison.variance +=
          n * share * (1 - share) * (decisions - n) / (decisions - 1);
    }
  }
  if (versions.empty() && versions_.size() > 1) {
    return "Nobody can tell whether the share of decisions of which something "
           "else was shown depends on the version: no two versions made the "
           "same first choice on one day. If it does, intent_to_treat does not "
           "hold.";
  }
  double largest = kMinStandardErrors;
  std::optional<std::string> warning;
  for (const auto& [version, comparison] : versions) {
    const double difference =
        std::abs(comparison.overridden - comparison.expected);
    if (difference <= kMinShareDifference * comparison.decisions ||
        difference <= largest * std::sqrt(comparison.variance)) {
      continue;
    }
    largest = difference / std::sqrt(comparison.variance);
    warning = absl::StrFormat(
        "The share of decisions of which something else was shown depends on "
        "the version: %.3g %% of those of version %d, %.3g %% with the same "
        "actions on the same days in all versions; what overrides them knows "
        "the policy, so "
        "intent_to_treat does not hold.",
        100 * comparison.overridden / comparison.decisions, version,
        100 * comparison.expected / comparison.decisions);
  }
  return warning;
}

}  // namespace sortition
