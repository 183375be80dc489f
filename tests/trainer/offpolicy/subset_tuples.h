#pragma once
// Simulated logs of subsets. A hidden weight vector determines the relevant
// candidates; rewards are F1 or, for sets of fixed size, precision.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "tests/trainer/synthetic_tuples.h"

namespace sortition {

inline constexpr uint32_t kSubsetFeatures = 4;
inline constexpr uint32_t kSubsetCandidates = 6;

struct SubsetLog {
  uint32_t size = 0;  // 0: any.
  // Each request asks for the size; else the model has it.
  bool size_of_request = false;
  uint64_t version = 1;
  // Policy of the logging model, without weights; empty: independent subsets.
  std::optional<model::v1::Policy> policy = {};
};

// A query with candidates that are relevant with probability σ(x₀ + x₁ - 0.5).
struct SubsetQuery {
  explicit SubsetQuery(const std::string& id) {
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    for (uint32_t i = 0; i < kSubsetCandidates; ++i) {
      for (uint32_t j = 0; j + 1 < kSubsetFeatures; ++j) {
        features.push_back(static_cast<float>(random.Normal()));
      }
      features.push_back(1);
      const double logit = features[i * kSubsetFeatures] +
                           features[i * kSubsetFeatures + 1] - 0.5;
      relevant.push_back(random.Uniform() < 1 / (1 + std::exp(-2 * logit)));
    }
  }

  PolicyQuery Query(const SubsetLog& log) const {
    PolicyQuery query;
    query.candidates = Candidates::DenseUnchecked(features, kSubsetFeatures);
    query.top_k = log.size;
    return query;
  }

  double Reward(const SubsetLog& log, const Action& subset) const {
    double hits = 0;
    for (const int32_t i : subset) hits += relevant[i] ? 1 : 0;
    if (log.size > 0) return hits / static_cast<double>(subset.size());
    const auto all =
        static_cast<double>(std::count(relevant.begin(), relevant.end(), true));
    const double members = all + static_cast<double>(subset.size());
    return members == 0 ? 1 : 2 * hits / members;
  }

  std::vector<float> features;
  std::vector<bool> relevant;
};

// Returns the logging policy: weak preferences, half of them wrong.
inline model::v1::Model SubsetLoggingModel(const SubsetLog& log) {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(kSubsetFeatures);
  for (const double weight : {0.4, -0.3, 0.0, 0.0}) model.add_weights(weight);
  if (log.policy.has_value()) {
    *model.mutable_policy() = *log.policy;
    return model;
  }
  auto* policy = model.mutable_policy();
  policy->set_inverse_temperature(1);
  policy->set_uniform_mixture(0.1);
  auto* subset = policy->mutable_independent_subset();
  subset->set_threshold(0.1);
  if (!log.size_of_request) subset->set_k(log.size);
  return model;
}

inline log::v1::BanditTuple MakeSubsetTuple(const SubsetLog& log,
                                            const std::string& decision_id) {
  const model::v1::Model model = SubsetLoggingModel(log);
  const LinearPolicy policy = *LinearPolicy::Create(model);
  const SubsetQuery query(decision_id);
  log::v1::BanditTuple tuple;
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id(decision_id);
  decision->set_model("default");
  decision->set_version(log.version);
  *decision->mutable_policy() = model.policy();
  decision->set_action_kind(log::v1::SUBSET);
  decision->set_top_k(log.size_of_request ? log.size : 0);
  decision->set_num_candidates(kSubsetCandidates);
  decision->set_num_features(kSubsetFeatures);
  decision->mutable_dense_values()->Add(query.features.begin(),
                                        query.features.end());
  PolicyWorkspace workspace;
  Draw draw;
  policy.Decide(query.Query(log),
                DecisionKey("default", log.version, decision_id), &workspace,
                &draw);
  decision->mutable_action()->Add(draw.action.begin(), draw.action.end());
  decision->set_log_propensity(draw.log_propensity);
  tuple.set_reward(query.Reward(log, draw.action));
  tuple.set_has_feedback(true);
  return tuple;
}

inline std::vector<log::v1::BanditTuple> MakeSubsetTuples(const SubsetLog& log,
                                                          size_t n) {
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t i = 0; i < n; ++i) {
    tuples.push_back(MakeSubsetTuple(log, absl::StrCat("d", i)));
  }
  return tuples;
}

// Returns the mean over `n` fresh queries of the exact expected reward of a
// model. Standard error below 0.5 / √n.
inline double TrueReward(const SubsetLog& log, const model::v1::Model& model,
                         size_t n) {
  const LinearPolicy policy = *LinearPolicy::Create(model);
  PolicyWorkspace workspace;
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const SubsetQuery query(absl::StrCat("fresh", i));
    for (uint32_t bits = 0; bits < 1u << kSubsetCandidates; ++bits) {
      if (log.size > 0 && std::popcount(bits) != static_cast<int>(log.size)) {
        continue;  // Impossible.
      }
      Action subset;
      for (int32_t j = 0; j < static_cast<int32_t>(kSubsetCandidates); ++j) {
        if ((bits >> j & 1) != 0) subset.push_back(j);
      }
      const double log_p =
          policy.LogPropensity(query.Query(log), subset, &workspace);
      if (log_p == -HUGE_VAL) continue;
      sum += std::exp(log_p) * query.Reward(log, subset);
    }
  }
  return sum / static_cast<double>(n);
}

}  // namespace sortition
