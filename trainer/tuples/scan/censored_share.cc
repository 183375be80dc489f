#include "trainer/tuples/scan/censored_share.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// Ids come from outside: the first ones are counted apart, and the rest with
// all.
constexpr size_t kMostGroups = 1000;

}  // namespace

std::string FirstAction(const log::v1::Decision& decision) {
  if (decision.action_size() == 0) return "none";
  const int32_t first = decision.action(0);
  if (first >= 0 && first < decision.candidate_ids_size()) {
    return absl::StrCat("'", decision.candidate_ids(first), "'");
  }
  return absl::StrCat(first);
}

void CensoredShare::Add(bool is_censored, const std::string& key,
                        Groups* groups) {
  if (groups->size() >= kMostGroups && !groups->contains(key)) return;
  Group& group = (*groups)[key];
  ++group.tuples;
  group.censored += is_censored;
}

void CensoredShare::Add(const log::v1::BanditTuple& tuple) {
  const bool is_censored = tuple.censored_size() > 0;
  ++all_.tuples;
  all_.censored += is_censored;
  const log::v1::Decision& decision = tuple.decision();
  Add(is_censored, absl::StrCat(decision.version()), &versions_);
  Add(is_censored, FirstAction(decision), &actions_);
}

void CensoredShare::Warn(const char* kind, const Group& all,
                         const Groups& groups,
                         std::vector<std::string>* warnings) {
  const auto share = [](const Group& group) {
    return static_cast<double>(group.censored) /
           static_cast<double>(group.tuples);
  };
  const double expected = share(all);
  double largest = kMinStandardErrors;
  const Groups::value_type* worst = nullptr;
  for (const Groups::value_type& entry : groups) {
    const double difference = std::abs(share(entry.second) - expected);
    const double standard_error = std::sqrt(
        expected * (1 - expected) / static_cast<double>(entry.second.tuples));
    if (difference > kMinShareDifference &&
        difference > largest * standard_error) {
      largest = difference / standard_error;
      worst = &entry;
    }
  }
  if (worst == nullptr) return;
  warnings->push_back(absl::StrFormat(
      "the share of censored tuples depends on the %s: %.3g %% of those of %s "
      "%s, %.3g %% of all; compare only what was decided at the same time",
      kind, 100 * share(worst->second), kind, worst->first, 100 * expected));
}

std::vector<std::string> CensoredShare::Warnings() const {
  std::vector<std::string> warnings;
  if (all_.censored == 0) return warnings;
  Warn("version", all_, versions_, &warnings);
  Warn("action", all_, actions_, &warnings);
  return warnings;
}

}  // namespace sortition
