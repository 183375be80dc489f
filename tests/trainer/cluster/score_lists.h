#pragma once
// A simulated log of aggregated score lists with planted groups.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Scores: [candidate][source].
using ScoreTable = std::vector<std::vector<double>>;

// Returns a tuple as `Aggregate` logs it and the sidecar joins it.
inline log::v1::BanditTuple AggregateTuple(const std::string& decision_id,
                                           const ScoreTable& scores,
                                           bool with_ids) {
  log::v1::BanditTuple tuple;
  log::v1::Decision* decision = tuple.mutable_decision();
  decision->set_decision_id(decision_id);
  decision->set_model("aggregate");
  decision->set_action_kind(log::v1::RANK);
  decision->mutable_aggregation();
  decision->set_num_candidates(static_cast<uint32_t>(scores.size()));
  decision->set_num_features(static_cast<uint32_t>(scores[0].size()));
  for (size_t i = 0; i < scores.size(); ++i) {
    for (const double score : scores[i]) {
      decision->add_dense_values(static_cast<float>(score));
    }
    decision->add_action(static_cast<int>(i));
    if (with_ids) decision->add_candidate_ids(absl::StrCat("c", i));
  }
  decision->set_top_k(decision->num_candidates());
  tuple.set_has_feedback(true);
  return tuple;
}

// Returns decisions on 3 to 6 candidates without ids. Source s sees, with
// noise, direction[s] times their quality (1 or -1), or another quality (2).
inline std::vector<log::v1::BanditTuple> SourceTuples(
    size_t decisions, const std::vector<int>& directions, double noise) {
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t q = 0; q < decisions; ++q) {
    const std::string id = absl::StrCat("d", q);
    RandomSequence random(StableHash(HashDomain::kSimulation, {"s", id}));
    ScoreTable scores(3 + random.Below(4));
    for (auto& row : scores) {
      const double quality = random.Normal();
      const double other = random.Normal();
      for (const int direction : directions) {
        row.push_back((direction == 2 ? other : direction * quality) +
                      noise * random.Normal());
      }
    }
    tuples.push_back(AggregateTuple(id, scores, false));
  }
  return tuples;
}

// Returns decisions on the same candidates, with ids. The q-th has `sources`
// lists around prototypes[q % prototypes.size()].
inline std::vector<log::v1::BanditTuple> QueryTuples(
    size_t decisions, size_t sources,
    const std::vector<std::vector<double>>& prototypes, double noise) {
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t q = 0; q < decisions; ++q) {
    const std::string id = absl::StrCat("d", q);
    RandomSequence random(StableHash(HashDomain::kSimulation, {"q", id}));
    ScoreTable scores;
    for (const double score : prototypes[q % prototypes.size()]) {
      scores.emplace_back();
      for (size_t s = 0; s < sources; ++s) {
        scores.back().push_back(score + noise * random.Normal());
      }
    }
    tuples.push_back(AggregateTuple(id, scores, true));
    tuples.back().set_reward(static_cast<double>(q % prototypes.size()));
  }
  return tuples;
}

inline const std::vector<std::vector<double>> kPrototypes = {
    {0.9, 0.7, 0.5, 0.3, 0.1},
    {0.1, 0.3, 0.5, 0.7, 0.9},
    {0.5, 0.1, 0.9, 0.3, 0.7}};

}  // namespace sortition
