#pragma once
// Users, candidates and rewards whose expectations are known exactly.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "sortition/v1/ranking.pb.h"
#include "tests/testing/status_matchers.h"

namespace sortition {

// Six equally likely queries with four candidates each. A reward is 1 or 0;
// half of the users are twice as content as the others with everything.
class KnownWorld {
 public:
  static constexpr uint32_t kQueries = 6;
  static constexpr uint32_t kCandidates = 4;
  static constexpr uint32_t kFeatures = 3;

  KnownWorld() {
    RandomSequence random(StableHash(HashDomain::kSimulation, {"world"}));
    for (float& value : features_) {
      // Quarters: exact as floats and in text.
      value = static_cast<float>(std::round(4 * random.Normal()) / 4);
    }
    for (double& reward : rewards_) reward = 0.1 + 0.8 * random.Uniform();
  }

  // Of one candidate, the mean over users; `document` is kAbstain: nothing.
  double Reward(uint32_t query, int32_t document) const {
    return 0.75 *
           rewards_[query * kCandidates + static_cast<uint32_t>(document)];
  }

  // 1 or 0, by a hash of the decision id.
  double Draw(uint32_t query, int32_t document, const std::string& unit,
              const std::string& id) const {
    RandomSequence user(StableHash(HashDomain::kSimulation, {"user", unit}));
    const double content = user.Uniform() < 0.5 ? 1 : 0.5;
    RandomSequence random(StableHash(HashDomain::kSimulation, {"reward", id}));
    return random.Uniform() < content / 0.75 * Reward(query, document) ? 1 : 0;
  }

  // The probability with which a policy selects each candidate.
  std::vector<double> Probabilities(const LinearPolicy& policy,
                                    uint32_t query) const {
    return policy.FirstProbabilities(Query(query), nullptr);
  }

  // The mean reward of a policy, given its probabilities for each query.
  template <typename Policy>
  double Value(const Policy& probabilities) const {
    double value = 0;
    for (uint32_t query = 0; query < kQueries; ++query) {
      const std::vector<double> p = probabilities(query);
      for (uint32_t i = 0; i < kCandidates; ++i) {
        value += p[i] * Reward(query, static_cast<int32_t>(i)) / kQueries;
      }
    }
    return value;
  }

  void SetCandidates(uint32_t query, v1::DecisionContext* context) const {
    const PolicyQuery view = Query(query);
    auto& candidates = *context->mutable_candidates();
    candidates.set_num_features(kFeatures);
    candidates.mutable_dense()->mutable_values()->Assign(
        view.candidates.values().begin(), view.candidates.values().end());
  }

 private:
  PolicyQuery Query(uint32_t query) const {
    constexpr size_t kSize = kCandidates * kFeatures;
    PolicyQuery view;
    view.candidates = Candidates::DenseUnchecked(
        std::span<const float>(features_).subspan(query * kSize, kSize),
        kFeatures);
    return view;
  }

  std::vector<float> features_ =
      std::vector<float>(kQueries * kCandidates * kFeatures);
  std::vector<double> rewards_ = std::vector<double>(kQueries * kCandidates);
};

}  // namespace sortition
