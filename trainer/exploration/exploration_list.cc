#include "trainer/exploration/exploration_list.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "trainer/exploration/exploration_notation.h"

namespace sortition {
namespace {

using model::v1::Policy;

Policy OrderByScore(double alpha) {
  Policy policy;
  policy.set_inverse_temperature(alpha);
  policy.mutable_sorted_ranking();
  return policy;
}

bool IsOrderByScore(const Policy& policy) {
  return policy.has_sorted_ranking() && policy.uniform_mixture() == 0 &&
         policy.sorted_ranking().swap_probability() == 0 &&
         policy.sorted_ranking().shuffle_probability() == 0;
}

bool IsPlainPlackettLuce(const Policy& policy) {
  return policy.has_plackett_luce() && policy.uniform_mixture() == 0 &&
         policy.plackett_luce().rank_factors().empty();
}

std::vector<std::string> UsualOnes(const Policy& present, uint32_t num_ranks) {
  std::vector<std::string> names;
  for (const double factor : {0.5, 1.0, 2.0, 4.0}) {
    if (factor == 1 && IsPlainPlackettLuce(present)) continue;
    names.push_back(absl::StrFormat(
        "pl:alpha=%.6g", std::min(kMaxInverseTemperature,
                                  factor * present.inverse_temperature())));
  }
  // The first rank close to the scores, and more exploration below; the
  // reverse.
  names.push_back("pl:factors=4/2/1");
  names.push_back("pl:factors=1/2/4");
  for (const absl::string_view swap : {"0.05", "0.1", "0.25", "0.5"}) {
    names.push_back(absl::StrCat("sorted:swap=", swap));
  }
  const uint32_t shuffled = std::clamp(num_ranks, uint32_t{2}, uint32_t{10});
  for (const absl::string_view shuffle : {"0.05", "0.2"}) {
    names.push_back(absl::StrCat("sorted:shuffle=", shuffle, "x", shuffled));
  }
  for (const absl::string_view uniform : {"0.02", "0.05", "0.2"}) {
    names.push_back(absl::StrCat("sorted:uniform=", uniform));
  }
  return names;
}

}  // namespace

bool RanksByScores(const Policy& policy) {
  return policy.has_plackett_luce() || policy.has_sorted_ranking();
}

absl::StatusOr<ExplorationList> ListExplorations(
    const Policy& present, uint32_t num_ranks,
    const google::protobuf::RepeatedPtrField<std::string>& named) {
  const double alpha = present.inverse_temperature();
  ExplorationList list;
  list.explorations.push_back({"present", present});
  if (!IsOrderByScore(present)) {
    list.by_score = list.explorations.size();
    list.explorations.push_back({"order by score", OrderByScore(alpha)});
  }
  std::vector<std::string> names = UsualOnes(present, num_ranks);
  for (const std::string& text : named) {
    for (const absl::string_view name : absl::StrSplit(text, ',')) {
      // One's own come last, where they are looked for.
      const std::string own(absl::StripAsciiWhitespace(name));
      names.erase(std::remove(names.begin(), names.end(), own), names.end());
      names.push_back(own);
    }
  }
  for (std::string& name : names) {
    ASSIGN_OR_RETURN(Policy policy, ParseExploration(name, alpha));
    list.explorations.push_back({std::move(name), std::move(policy)});
  }
  return list;
}

}  // namespace sortition
