#pragma once
// A simulated log for tests of the trainer: a policy decides on synthetic
// queries, rewards depend on a hidden weight vector, and tuples are written as
// the sidecar writes them.
#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/policies/linear_policy.h"
#include "io/models/model_store.h"
#include "io/segments/segment_writer.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

struct SyntheticLog {
  ActionKind action_kind = ActionKind::kSelect;
  bool can_abstain = true;
  uint32_t num_features = 5;
  uint32_t num_candidates = 6;
  uint32_t top_k = 3;
  uint64_t version = 1;
  bool rewards_are_noise = false;  // No action is better than another.
  // For kRank: the policy to draw with instead of Plackett-Luce.
  std::optional<model::v1::BoltzmannRanking> boltzmann = {};
  std::optional<model::v1::SortedRanking> sorted = {};
  std::vector<double> rank_factors = {};  // Of Plackett-Luce.
};

// Returns the logging policy: weak preferences, half of them wrong.
inline model::v1::Model LoggingModel(const SyntheticLog& log) {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(log.num_features);
  for (uint32_t j = 0; j < log.num_features; ++j) {
    model.add_weights(j == 0 ? 0.5 : j == 1 ? -0.5 : 0.0);
  }
  auto* policy = model.mutable_policy();
  policy->set_inverse_temperature(1);
  policy->set_uniform_mixture(0.1);
  if (log.boltzmann) {
    *policy->mutable_boltzmann_ranking() = *log.boltzmann;
  } else if (log.sorted) {
    *policy->mutable_sorted_ranking() = *log.sorted;
  } else if (log.action_kind == ActionKind::kRank) {
    policy->mutable_plackett_luce()->mutable_rank_factors()->Assign(
        log.rank_factors.begin(), log.rank_factors.end());
  } else if (log.action_kind == ActionKind::kSubset) {
    policy->mutable_independent_subset()->set_k(log.top_k);
  } else {
    auto* selection = policy->mutable_softmax_selection();
    if (log.can_abstain) selection->set_abstain_score(0);
  }
  return model;
}

// Returns the probability of a reward: σ(x₀ + x₁ + x₂) of the candidate, 0.2
// for abstaining. Rankings count by their first rank, subsets by their first
// member.
inline double RewardProbability(const log::v1::Decision& decision) {
  const int32_t document_index = decision.action(0);
  if (document_index == kAbstain) return 0.2;
  double score = 0;
  for (int j = 0; j < 3; ++j) {
    score += decision.dense_values(
        document_index * static_cast<int>(decision.num_features()) + j);
  }
  return 1 / (1 + std::exp(-score));
}

// Returns the query of a decision on dense features. A view.
inline PolicyQuery QueryOf(const log::v1::Decision& decision) {
  PolicyQuery query;
  query.candidates = Candidates::DenseUnchecked(
      {decision.dense_values().data(),
       static_cast<size_t>(decision.dense_values_size())},
      decision.num_features());
  query.eligible = {decision.eligible().data(),
                    static_cast<size_t>(decision.eligible_size())};
  query.top_k = decision.top_k();
  return query;
}

// Decides the query of `decision` by its id and version, and logs the action.
inline void Redecide(const LinearPolicy& policy, log::v1::Decision* decision) {
  PolicyWorkspace workspace;
  Draw draw;
  policy.Decide(
      QueryOf(*decision),
      DecisionKey("default", decision->version(), decision->decision_id()),
      &workspace, &draw);
  decision->mutable_action()->Assign(draw.action.begin(), draw.action.end());
  decision->set_log_propensity(draw.log_propensity);
}

// Returns the tuple of a decision of `policy`, which is that of
// `model` = LoggingModel(log).
inline log::v1::BanditTuple MakeTuple(const SyntheticLog& log,
                                      const model::v1::Model& model,
                                      const LinearPolicy& policy,
                                      const std::string& decision_id) {
  RandomSequence random(StableHash(HashDomain::kSimulation, {decision_id}));
  log::v1::BanditTuple tuple;
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id(decision_id);
  decision->set_model("default");
  decision->set_version(log.version);
  *decision->mutable_policy() = model.policy();
  const bool select = log.action_kind == ActionKind::kSelect;
  decision->set_action_kind(select ? log::v1::SELECT
                            : log.action_kind == ActionKind::kRank
                                ? log::v1::RANK
                                : log::v1::SUBSET);
  decision->set_can_abstain(select && log.can_abstain);
  decision->set_num_candidates(log.num_candidates);
  decision->set_num_features(log.num_features);
  for (uint32_t i = 0; i < log.num_candidates * log.num_features; ++i) {
    decision->add_dense_values(static_cast<float>(random.Normal()));
  }
  if (!select) decision->set_top_k(log.top_k);
  Redecide(policy, decision);
  const double probability =
      log.rewards_are_noise ? 0.5 : RewardProbability(*decision);
  tuple.set_reward(random.Uniform() < probability ? 1 : 0);
  tuple.set_has_feedback(true);
  return tuple;
}

inline log::v1::BanditTuple MakeTuple(const SyntheticLog& log,
                                      const std::string& decision_id) {
  const model::v1::Model model = LoggingModel(log);
  return MakeTuple(log, model, *LinearPolicy::Create(model), decision_id);
}

inline std::vector<log::v1::BanditTuple> MakeTuples(
    const SyntheticLog& log, size_t n, absl::string_view prefix = "d") {
  const model::v1::Model model = LoggingModel(log);
  const LinearPolicy policy = *LinearPolicy::Create(model);
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t i = 0; i < n; ++i) {
    tuples.push_back(MakeTuple(log, model, policy, absl::StrCat(prefix, i)));
  }
  return tuples;
}

// Writes the `number`-th segment of `dir` and closes it.
inline void WriteSegment(const std::string& dir, uint64_t number,
                         const std::vector<log::v1::BanditTuple>& tuples) {
  SegmentWriter::Options options;
  options.dir = dir;
  options.name = SegmentName(1700000000000000 + static_cast<int64_t>(number),
                             "test", number);
  options.preallocate_bytes = 1 << 20;
  options.header.set_format_version(1);
  options.header.set_kind(log::v1::SegmentHeader::TUPLES);
  options.header.set_writer_id("test");
  options.header.set_incarnation("1");
  ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
  for (const log::v1::BanditTuple& tuple : tuples) {
    log::v1::LogRecord record;
    *record.mutable_tuple() = tuple;
    ASSERT_OK(writer->Append(record));
  }
  ASSERT_OK(writer->Close());
}

}  // namespace sortition
