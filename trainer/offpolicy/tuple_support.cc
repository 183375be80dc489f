#include "trainer/offpolicy/tuple_support.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/learners/counterfactual/feature_block.h"
#include "trainer/ope/policies/logging_policies.h"

namespace sortition {
namespace {

// The probabilities of all candidates, then that of abstaining.
std::vector<double> ProbabilitiesOf(const LinearPolicy& policy,
                                    const PolicyQuery& query,
                                    PolicyWorkspace* workspace) {
  std::vector<double> probabilities;
  const double abstain =
      policy.FirstProbabilities(query, workspace, &probabilities);
  probabilities.push_back(abstain);
  return probabilities;
}

PolicyQuery QueryOf(const BanditTuple& tuple, ActionKind kind,
                    FeatureBlock* features) {
  PolicyQuery query;
  query.candidates = features->Load(tuple);
  if (kind == ActionKind::kRank) {
    query.top_k = static_cast<uint32_t>(tuple.action.size());
  }
  return query;
}

}  // namespace

std::vector<MissingMass> MissingMassOfTuples(const PolicyOfTuples& target,
                                             const PolicyOfTuples& logging) {
  const ActionKind kind = target.policy.action_kind();
  if (kind == ActionKind::kSubset || logging.policy.action_kind() != kind ||
      logging.tuples.size() != target.tuples.size()) {
    return {};
  }
  std::vector<MissingMass> masses;
  PolicyWorkspace workspace;
  FeatureBlock target_features;
  FeatureBlock logging_features;
  Draw draw;
  for (size_t i = 0; i < target.tuples.size(); ++i) {
    const BanditTuple& tuple = target.tuples[i];
    const BanditTuple& logged = logging.tuples[i];
    if (!tuple.action_shown || logged.unit != tuple.unit ||
        logged.num_candidates() != tuple.num_candidates()) {
      return {};
    }
    const PolicyQuery query = QueryOf(tuple, kind, &target_features);
    if (kind == ActionKind::kSelect) {
      const std::vector<double> of_two =
          ProbabilitiesOfTwo({.num_candidates = tuple.num_candidates(),
                              .can_abstain = logging.policy.can_abstain(),
                              .action = tuple.action[0],
                              .log_propensity = tuple.log_propensity});
      if (!of_two.empty()) {
        masses.push_back(MissingMassOf(
            ProbabilitiesOf(target.policy, query, &workspace), of_two));
        continue;
      }
    }
    const PolicyQuery logged_query = QueryOf(logged, kind, &logging_features);
    const double log_propensity =
        logging.policy.LogPropensity(logged_query, logged.action, &workspace);
    if (!(std::abs(log_propensity - tuple.log_propensity) <=
          LoggingPolicies::kLogTolerance)) {
      return {};
    }
    if (kind == ActionKind::kSelect) {
      masses.push_back(MissingMassOf(
          ProbabilitiesOf(target.policy, query, &workspace),
          ProbabilitiesOf(logging.policy, logged_query, &workspace)));
      continue;
    }
    const Hash128 key =
        StableHash(HashDomain::kTraining,
                   {"missing mass", absl::StrCat(tuple.unit, "/", i)});
    target.policy.Decide(query, key, &workspace, &draw);
    if (!std::isfinite(draw.log_propensity)) return {};
    masses.push_back(MissingMassOfDraw(
        draw.log_propensity -
        logging.policy.LogPropensity(logged_query, draw.action, &workspace)));
  }
  return masses;
}

}  // namespace sortition
