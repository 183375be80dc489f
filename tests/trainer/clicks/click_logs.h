#pragma once
// Logs of rankings that were drawn by a known policy and clicked by a known
// user.
#include <cstdint>

#include "core/clicks/click_model.h"
#include "sortition/config/v1/clicks.pb.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/clicks/clicks.h"

namespace sortition {

// Queries with candidates "d0", "d1" .. of two features: the number of the
// query, and z, of which attraction is 1 / (1 + e^-z).
struct ClickLogWorld {
  ClickModel user;
  uint32_t queries = 10;
  uint32_t candidates = 6;
  uint32_t ranks = 4;
  // Unset: uniform orders, as of a server without a model.
  std::optional<model::v1::Model> model = std::nullopt;
  uint32_t sessions_of_unit = 0;  // 0: no unit_id.
};

inline ClickModel PositionUser() {
  return {.kind = ClickModelKind::kPositionBased,
          .examination = {1, .95, .35, .3}};
}

inline double LogitOf(uint32_t query, uint32_t candidate) {
  return -2 + 2.5 * std::fmod(.618034 * (query * 31 + candidate + 1), 1);
}

inline log::v1::Decision MakeClickQuery(const ClickLogWorld& world,
                                        uint32_t query) {
  log::v1::Decision decision;
  decision.set_model("default");
  decision.set_action_kind(log::v1::RANK);
  decision.set_num_candidates(world.candidates);
  decision.set_num_features(2);
  decision.set_top_k(world.ranks);
  for (uint32_t i = 0; i < world.candidates; ++i) {
    decision.add_candidate_ids(absl::StrCat("d", i));
    decision.add_dense_values(static_cast<float>(query));
    decision.add_dense_values(static_cast<float>(LogitOf(query, i)));
  }
  return decision;
}

// Adds the clicks of the user: a reward of 1 for each.
inline void AddClicks(const ClickLogWorld& world, uint32_t query,
                      const CounterRandom& random,
                      log::v1::BanditTuple* tuple) {
  std::vector<double> attractions;
  for (const int32_t d : tuple->decision().action()) {
    const double z = LogitOf(query, static_cast<uint32_t>(d));
    attractions.push_back(1 / (1 + std::exp(-z)));
  }
  std::vector<uint8_t> clicks(attractions.size());
  SimulateClicks(world.user, {.attractions = attractions}, random, clicks);
  for (uint32_t r = 0; r < clicks.size(); ++r) {
    if (clicks[r] == 0) continue;
    tuple->set_has_feedback(true);
    tuple->set_reward(tuple->reward() + 1);
    log::v1::Feedback* const feedback = tuple->add_feedback();
    feedback->set_rank(r);
    feedback->set_reward(1);
    log::v1::RankReward* const reward = tuple->add_rank_rewards();
    reward->set_rank(r);
    reward->set_reward(1);
    reward->set_count(1);
  }
}

inline void DrawUniformOrder(const ClickLogWorld& world, RandomSequence* random,
                             log::v1::Decision* decision) {
  std::vector<int32_t> order;
  for (uint32_t i = 0; i < world.candidates; ++i) {
    order.push_back(static_cast<int32_t>(i));
  }
  double log_propensity = 0;
  for (size_t r = 0; r < world.ranks; ++r) {
    const size_t left = order.size() - r;
    std::swap(order[r], order[r + random->Below(left)]);
    log_propensity -= std::log(static_cast<double>(left));
    decision->add_action(order[r]);
  }
  decision->set_log_propensity(log_propensity);
}

inline std::vector<log::v1::BanditTuple> DrawClickTuples(
    const ClickLogWorld& world, size_t sessions, uint64_t seed) {
  std::optional<LinearPolicy> policy;
  if (world.model) policy = *LinearPolicy::Create(*world.model);
  RandomSequence random(SeedKey(seed));
  std::vector<log::v1::BanditTuple> tuples;
  for (size_t s = 0; s < sessions; ++s) {
    const auto query = static_cast<uint32_t>(random.Below(world.queries));
    log::v1::BanditTuple& tuple = tuples.emplace_back();
    log::v1::Decision* const decision = tuple.mutable_decision();
    *decision = MakeClickQuery(world, query);
    decision->set_decision_id(absl::StrCat("c", seed, "-", s));
    if (world.sessions_of_unit > 0) {
      decision->set_unit_id(absl::StrCat("u", s / world.sessions_of_unit));
    }
    if (policy.has_value()) {
      decision->set_version(1);
      *decision->mutable_policy() = world.model->policy();
      Redecide(*policy, decision);
    } else {
      DrawUniformOrder(world, &random, decision);
    }
    AddClicks(world, query,
              CounterRandom(SeedKey(seed), static_cast<uint32_t>(s + 1)),
              &tuple);
  }
  return tuples;
}

class ClicksFixture : public testing::Test {
 protected:
  ClicksFixture() { options_.set_draws(0); }

  void WriteLog(const std::vector<log::v1::BanditTuple>& tuples) {
    WriteSegment(dir_.Sub("tuples"), num_segments_++, tuples);
    options_.set_tuples(dir_.Sub("tuples"));
  }
  void SetModels(const std::vector<std::string>& models) {
    options_.mutable_models()->Assign(models.begin(), models.end());
  }
  config::v1::ClicksReport Learn() const {
    const auto report = LearnClicks(options_);
    EXPECT_OK(report);
    return report.ok() ? *report : config::v1::ClicksReport();
  }

  TempDir dir_;
  config::v1::ClicksOptions options_;
  uint64_t num_segments_ = 0;
};

}  // namespace sortition
