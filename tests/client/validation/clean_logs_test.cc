// Logs of every policy pass.
#include <cmath>
#include <filesystem>
#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/models/model_store.h"
#include "tests/client/validation/validate_fixture.h"

namespace sortition {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

struct Named {
  std::string name;
  Logger logger;
};

Logger Of(log::v1::ActionKind kind, uint32_t top_k, double mixture,
          const std::function<void(model::v1::Policy*)>& set) {
  Logger logger;
  logger.kind = kind;
  logger.top_k = top_k;
  logger.policy.set_inverse_temperature(1.5);
  logger.policy.set_uniform_mixture(mixture);
  set(&logger.policy);
  return logger;
}

std::vector<Named> Policies() {
  using model::v1::BoltzmannRanking;
  using model::v1::GameRanking;
  using model::v1::GameSubset;
  using model::v1::Policy;
  const auto plackett_luce = [](Policy* p) { p->mutable_plackett_luce(); };
  const auto boltzmann = [](Policy* p) {
    p->mutable_boltzmann_ranking()->set_rank_weights(BoltzmannRanking::DCG);
    p->mutable_boltzmann_ranking()->set_head(3);
    p->mutable_boltzmann_ranking()->set_plackett_luce_mixture(0.2);
  };
  const auto game_order = [](Policy* p) {
    p->mutable_game_ranking()->set_discount(GameRanking::DCG);
  };
  const auto factored = [](Policy* p) {
    for (const double factor : {2.0, 0.5}) {
      p->mutable_plackett_luce()->add_rank_factors(factor);
    }
  };
  const auto sorted = [](Policy* p) {
    p->mutable_sorted_ranking()->set_swap_probability(0.4);
    p->mutable_sorted_ranking()->set_shuffle_probability(0.2);
    p->mutable_sorted_ranking()->set_shuffle_ranks(3);
  };
  const auto precision = [](Policy* p) {
    p->mutable_game_subset()->set_measure(GameSubset::PRECISION);
    p->mutable_game_subset()->set_k(2);
  };
  const auto f_beta = [](Policy* p) {
    p->mutable_game_subset()->set_measure(GameSubset::F_BETA);
  };
  const auto subset = [](Policy* p) { p->mutable_independent_subset(); };
  return {
      {"softmax", Softmax(1, 0)},
      {"sharp_softmax", Softmax(4, 0)},
      {"softmax_mixture", Softmax(2, 0.1)},
      {"uniform_selection", {.version = 0, .kind = log::v1::SELECT}},
      {"uniform_order", {.version = 0, .kind = log::v1::RANK, .top_k = 3}},
      {"uniform_subset", {.version = 0, .kind = log::v1::SUBSET}},
      {"plackett_luce", Of(log::v1::RANK, 4, 0, plackett_luce)},
      {"plackett_luce_mixture", Of(log::v1::RANK, 2, 0.2, plackett_luce)},
      {"boltzmann", Of(log::v1::RANK, 5, 0, boltzmann)},
      {"boltzmann_mixture", Of(log::v1::RANK, 5, 0.1, boltzmann)},
      {"factored", Of(log::v1::RANK, 4, 0, factored)},
      {"factored_mixture", Of(log::v1::RANK, 2, 0.2, factored)},
      {"sorted", Of(log::v1::RANK, 5, 0, sorted)},
      {"sorted_mixture", Of(log::v1::RANK, 3, 0.1, sorted)},
      {"game_order", Of(log::v1::RANK, 5, 0, game_order)},
      {"game_order_mixture", Of(log::v1::RANK, 3, 0.1, game_order)},
      {"game_precision", Of(log::v1::SUBSET, 2, 0, precision)},
      {"game_precision_mixture", Of(log::v1::SUBSET, 2, 0.1, precision)},
      {"game_f_beta", Of(log::v1::SUBSET, 0, 0, f_beta)},
      {"game_f_beta_mixture", Of(log::v1::SUBSET, 0, 0.1, f_beta)},
      {"independent_subset", Of(log::v1::SUBSET, 0, 0, subset)},
      {"independent_subset_k", Of(log::v1::SUBSET, 2, 0.1, subset)},
  };
}

class CleanLogTest : public ValidateFixture,
                     public testing::WithParamInterface<Named> {};

TEST_P(CleanLogTest, Passes) {
  Write(Log(GetParam().logger, kDecisions));
  for (const CheckResult& result : Validate()) {
    EXPECT_EQ(result.finding.level, Level::kPass)
        << result.check << ": " << result.finding.text;
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, CleanLogTest, testing::ValuesIn(Policies()),
                         [](const testing::TestParamInfo<Named>& named) {
                           return named.param.name;
                         });

using CleanLogsTest = ValidateFixture;

TEST_F(CleanLogsTest, OfManyVersionsPass) {
  uint64_t version = 0;
  for (Named named : Policies()) {
    if (named.logger.version == 0) continue;
    named.logger.version = ++version;
    Write(Log(named.logger, 200, 200 * version));
  }
  EXPECT_THAT(Found(), IsEmpty());
}

// A set of labels, each drawn on its own with probability 0.3.
TEST_F(CleanLogsTest, OfLabelsPass) {
  Tuples tuples(kDecisions);
  for (size_t i = 0; i < tuples.size(); ++i) {
    const std::string id = absl::StrCat("l", i);
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    decision.set_decision_id(id);
    decision.set_model("labels");
    decision.set_version(1);
    decision.mutable_policy()->mutable_independent_labels()->set_num_labels(4);
    decision.set_action_kind(log::v1::LABELS);
    decision.set_num_candidates(1);
    decision.set_num_features(1);
    decision.set_num_labels(4);
    decision.add_dense_values(1);
    double log_propensity = 0;
    for (int label = 0; label < 4; ++label) {
      const bool chosen = random.Uniform() < 0.3;
      if (chosen) decision.add_action(label);
      log_propensity += std::log(chosen ? 0.3 : 0.7);
    }
    decision.set_log_propensity(log_propensity);
    tuples[i].set_has_feedback(true);
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
}

TEST_F(CleanLogsTest, OfAStoreAreRecomputed) {
  Logger logger = Softmax(1, 0.1);
  logger.draw_salt = "0123456789abcdef0123456789abcdef";
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(kColumns);
  for (const double weight : logger.weights) model.add_weights(weight);
  *model.mutable_policy() = logger.policy;
  const ModelStore store(dir_.Sub("models"));
  ASSERT_OK(store.Publish(model, nullptr, {}, {.draw_salt = logger.draw_salt}));
  Tuples tuples = Log(logger, 50);
  Write(tuples);
  options_.set_model_store(dir_ / "models");
  EXPECT_THAT(Found(), IsEmpty());
  // One bit of one propensity.
  log::v1::Decision& decision = *tuples[7].mutable_decision();
  decision.set_log_propensity(std::nextafter(decision.log_propensity(), -1e9));
  std::filesystem::remove(path_);
  Write(tuples);
  const auto found = Found();
  ASSERT_TRUE(found.contains("recompute"));
  EXPECT_EQ(found.size(), 1u);
  EXPECT_THAT(found.at("recompute").text,
              HasSubstr("1 of 50 decisions, first"));
}

// A log of another system: it could not draw candidates 3 to 5, and does not
// say when it drew.
TEST_F(CleanLogsTest, OfOtherSystemsPass) {
  Tuples tuples = Log({.version = 0, .kind = log::v1::SELECT}, kDecisions);
  for (size_t i = 0; i < tuples.size(); ++i) {
    tuples[i].clear_position();
    log::v1::Decision& decision = *tuples[i].mutable_decision();
    decision.clear_eligible();
    decision.set_action(0, static_cast<int32_t>(i % 3));
    decision.set_log_propensity(std::log(1.0 / 3));
    decision.set_time_us(1000000000 - static_cast<int64_t>(5000000 * (i % 2)));
  }
  Write(tuples);
  EXPECT_THAT(Found(), IsEmpty());
  for (log::v1::BanditTuple& tuple : tuples) {
    tuple.mutable_decision()->set_log_propensity(std::log(1.0 / 8));
  }
  std::filesystem::remove(path_);
  Write(tuples);
  EXPECT_EQ(Found().at("mean_weight").level, Level::kFail);
}

TEST_F(CleanLogsTest, ASpoolMayRepeatWhatTheJoinDrops) {
  for (const log::v1::BanditTuple& tuple : Log(Softmax(1, 0), 200)) {
    *more_.emplace_back().mutable_decision() = tuple.decision();
  }
  more_.push_back(more_.back());
  log::v1::LogRecord feedback;
  feedback.mutable_feedback()->set_feedback_id("f");
  feedback.mutable_feedback()->set_time_us(2000000);
  more_.push_back(feedback);
  more_.push_back(feedback);
  Write({});
  for (const auto& [check, finding] : Found()) {
    EXPECT_EQ(finding.level, Level::kWarn) << check << ": " << finding.text;
    EXPECT_THAT(finding.text, HasSubstr("the join drops"));
  }
  EXPECT_EQ(Found().size(), 2u);
}

}  // namespace
}  // namespace sortition
