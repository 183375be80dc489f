#pragma once
// Decisions of policies of every kind, as servers would have logged them, and
// what verification says of them.
#include <cmath>

#include "tests/client/logs/log_fixture.h"

namespace sortition {

class LogVerifyTest : public LogFixture {
 protected:
  LogVerifyTest() {
    uniform_.set_name("default");
    select_ = Publish(false);
    rank_ = Publish(true);
    model::v1::Policy game;
    game.mutable_game_ranking()->set_discount(model::v1::GameRanking::DCG);
    game_ = Publish(game);
    model::v1::Policy boltzmann;
    auto* orders = boltzmann.mutable_boltzmann_ranking();
    orders->set_rank_weights(model::v1::BoltzmannRanking::DCG);
    boltzmann_ = Publish(boltzmann);
    orders->set_head(2);  // Less than the three eligible candidates.
    orders->set_plackett_luce_mixture(0.3);
    head_ = Publish(boltzmann);
    model::v1::Policy factors;
    for (const double factor : {2.0, 0.5}) {
      factors.mutable_plackett_luce()->add_rank_factors(factor);
    }
    factored_ = Publish(factors);
    model::v1::Policy by_score;
    by_score.mutable_sorted_ranking()->set_swap_probability(0.4);
    by_score.mutable_sorted_ranking()->set_shuffle_probability(0.2);
    by_score.mutable_sorted_ranking()->set_shuffle_ranks(3);
    sorted_ = Publish(by_score);
    model::v1::Policy subset;
    subset.mutable_game_subset()->set_measure(model::v1::GameSubset::F_BETA);
    subset.mutable_game_subset()->set_tolerance(1e-9);
    f_score_ = Publish(subset);
    subset.mutable_game_subset()->set_measure(model::v1::GameSubset::PRECISION);
    subset.mutable_game_subset()->set_k(2);
    precision_ = Publish(subset);
    subset.mutable_independent_subset();
    independent_ = Publish(subset);
  }

  // Returns decision `id` of a model that labels 40 candidates, asked for `k`
  // of them (0: as the model has it), its game stopped after `rounds`.
  static log::v1::Decision Label(const model::v1::Model& model,
                                 const std::string& id, uint32_t k = 0,
                                 std::optional<uint32_t> rounds = {}) {
    log::v1::Decision decision;
    decision.set_decision_id(id);
    decision.set_model(model.name());
    decision.set_version(model.version());
    decision.set_action_kind(log::v1::SUBSET);
    decision.set_num_candidates(40);
    decision.set_num_features(2);
    for (int i = 0; i < 80; ++i) {
      decision.add_dense_values(0.01f * static_cast<float>((i * 37) % 80));
    }
    const bool uniform = model.version() == 0;
    const auto policy = uniform
                            ? LinearPolicy::Uniform(ActionKind::kSubset, false)
                            : LinearPolicy::Create(model).value();
    if (!uniform) *decision.mutable_policy() = model.policy();
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked({decision.dense_values().data(), 80}, 2);
    query.top_k = k;
    query.game.rounds = rounds;
    PolicyWorkspace workspace;
    Draw draw;
    policy.Decide(
        query,
        DecisionKey(decision.model(), decision.version(), id, SaltOf(model)),
        &workspace, &draw);
    SetDraw(draw, &decision);
    decision.set_top_k(k > 0 ? k : policy.subset_size());
    EXPECT_EQ(draw.game_rounds, rounds);
    if (rounds.has_value()) decision.set_game_rounds(*rounds);
    return decision;
  }

  model::v1::Model uniform_;
  model::v1::Model select_;
  model::v1::Model rank_;
  model::v1::Model game_;
  model::v1::Model boltzmann_;
  model::v1::Model head_;
  model::v1::Model factored_;
  model::v1::Model sorted_;
  model::v1::Model f_score_;
  model::v1::Model precision_;
  model::v1::Model independent_;
};

}  // namespace sortition
