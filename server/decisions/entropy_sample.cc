#include "server/decisions/entropy_sample.h"

#include <cmath>

namespace sortition {
namespace {

constexpr uint64_t kEvery = 256;
constexpr uint32_t kMostCandidates = 10000;

bool IsCheap(const model::v1::Policy& policy) {
  switch (policy.kind_case()) {
    case model::v1::Policy::kSoftmaxSelection:
    case model::v1::Policy::kPlackettLuce:
    case model::v1::Policy::KIND_NOT_SET:
      return true;
    default:
      return false;
  }
}

double Term(double probability) {
  return probability > 0 ? -probability * std::log(probability) : 0;
}

}  // namespace

double EntropyOf(std::span<const double> probabilities, double further) {
  double entropy = Term(further);
  for (const double probability : probabilities) entropy += Term(probability);
  return entropy;
}

void SampleEntropy(const ServedModel& model, const LinearPolicy& policy,
                   const PolicyQuery& query, const Hash128& key,
                   PolicyWorkspace* workspace,
                   std::vector<double>* probabilities) {
  if (key.low % kEvery != 0 || model.counters == nullptr) return;
  if (policy.action_kind() == ActionKind::kSubset || !IsCheap(model.policy) ||
      query.num_candidates() > kMostCandidates) {
    return;
  }
  const double abstain =
      policy.FirstProbabilities(query, workspace, probabilities);
  model.counters->ObserveEntropy(EntropyOf(*probabilities, abstain));
}

}  // namespace sortition
