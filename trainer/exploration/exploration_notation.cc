#include "trainer/exploration/exploration_notation.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/policies/policy_check.h"

namespace sortition {
namespace {

using model::v1::Policy;

absl::Status WrongPart(absl::string_view part, absl::string_view must_be) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", part, "' must be ", must_be));
}

absl::StatusOr<double> Number(absl::string_view part, absl::string_view text) {
  double value;
  if (!absl::SimpleAtod(text, &value)) {
    return WrongPart(part, "NAME=NUMBER, as alpha=2");
  }
  return value;
}

absl::Status SetFactors(absl::string_view part, absl::string_view text,
                        Policy* policy) {
  for (const absl::string_view factor : absl::StrSplit(text, '/')) {
    double value;
    if (!absl::SimpleAtod(factor, &value)) {
      return WrongPart(part, "factors=NUMBER/NUMBER/..., as factors=4/2/1");
    }
    policy->mutable_plackett_luce()->add_rank_factors(value);
  }
  return absl::OkStatus();
}

absl::Status SetShuffle(absl::string_view part, absl::string_view text,
                        Policy* policy) {
  const std::pair<absl::string_view, absl::string_view> halves =
      absl::StrSplit(text, absl::MaxSplits('x', 1));
  double probability;
  uint32_t ranks;
  if (!absl::SimpleAtod(halves.first, &probability) ||
      !absl::SimpleAtoi(halves.second, &ranks)) {
    return WrongPart(part, "shuffle=PROBABILITYxRANKS, as shuffle=0.05x10");
  }
  policy->mutable_sorted_ranking()->set_shuffle_probability(probability);
  policy->mutable_sorted_ranking()->set_shuffle_ranks(ranks);
  return absl::OkStatus();
}

// Sets what `part`, NAME=VALUE, says.
absl::Status SetPart(absl::string_view part, absl::string_view name,
                     absl::string_view value, Policy* policy) {
  const bool sorted = policy->has_sorted_ranking();
  if (name == "alpha") {
    ASSIGN_OR_RETURN(const double alpha, Number(part, value));
    policy->set_inverse_temperature(alpha);
  } else if (name == "uniform") {
    ASSIGN_OR_RETURN(const double uniform, Number(part, value));
    policy->set_uniform_mixture(uniform);
  } else if (name == "factors" && !sorted) {
    return SetFactors(part, value, policy);
  } else if (name == "swap" && sorted) {
    ASSIGN_OR_RETURN(const double swap, Number(part, value));
    policy->mutable_sorted_ranking()->set_swap_probability(swap);
  } else if (name == "shuffle" && sorted) {
    return SetShuffle(part, value, policy);
  } else {
    return WrongPart(part, sorted
                               ? "alpha=, swap=, shuffle= or uniform= of sorted"
                               : "alpha=, factors= or uniform= of pl");
  }
  return absl::OkStatus();
}

absl::StatusOr<Policy> Parse(absl::string_view text, double alpha) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, ':');
  Policy policy;
  policy.set_inverse_temperature(alpha);
  if (parts[0] == "pl") {
    policy.mutable_plackett_luce();
  } else if (parts[0] == "sorted") {
    policy.mutable_sorted_ranking();
  } else {
    return WrongPart(parts[0], "pl or sorted");
  }
  std::set<absl::string_view> names;
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::pair<absl::string_view, absl::string_view> named =
        absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
    if (!names.insert(named.first).second) {
      return WrongPart(parts[i], absl::StrCat("the only ", named.first, "="));
    }
    RETURN_IF_ERROR(SetPart(parts[i], named.first, named.second, &policy));
  }
  RETURN_IF_ERROR(ValidatePolicy(policy));
  return policy;
}

}  // namespace

absl::StatusOr<Policy> ParseExploration(absl::string_view text, double alpha) {
  absl::StatusOr<Policy> policy = Parse(text, alpha);
  if (policy.ok()) return policy;
  return absl::InvalidArgumentError(
      absl::StrCat("exploration '", text, "': ", policy.status().message()));
}

}  // namespace sortition
