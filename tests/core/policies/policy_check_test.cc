// Bad policies of subsets, most rankings and chains are refused; for the other
// kinds see tests/io/models/model_store_test.cc.
#include "core/policies/policy_check.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/boltzmann_orders.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"
#include "core/policies/distributions/game_subset_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;
using model::v1::GameSubset;
using model::v1::IndependentSubset;
using testing::HasSubstr;

model::v1::Policy Pairs() {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  policy.mutable_game_subset()->set_measure(GameSubset::PRECISION);
  policy.mutable_game_subset()->set_k(2);
  return policy;
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithAGame) {
  const std::vector<
      std::pair<std::string, std::function<void(GameSubset * game)>>>
      wrong = {
          {"measure is 0, must be PRECISION (1) or F_BETA (2)",
           [](GameSubset* game) { game->clear_measure(); }},
          {"k is 0, must be in [1, 1000000]",
           [](GameSubset* game) { game->set_k(0); }},
          {"k is 1000001", [](GameSubset* game) { game->set_k(1000001); }},
          {"beta is 1000.5, must be in [0.001, 1000], or 0 for 1",
           [](GameSubset* game) { game->set_beta(1000.5); }},
          {"beta is -1", [](GameSubset* game) { game->set_beta(-1); }},
          {"threshold is -1000001",
           [](GameSubset* game) { game->set_threshold(-1000001); }},
          {"threshold is nan",
           [](GameSubset* game) { game->set_threshold(std::nan("")); }},
          {"block_mixing is 1.1, must be in [0, 1]",
           [](GameSubset* game) { game->set_block_mixing(1.1); }},
          {"tolerance is 2, must be in [1e-09, 1]",
           [](GameSubset* game) { game->set_tolerance(2); }},
          {"max_rounds is 1000001",
           [](GameSubset* game) { game->set_max_rounds(1000001); }},
      };
  EXPECT_OK(ValidatePolicy(Pairs()));
  for (const auto& [message, break_it] : wrong) {
    model::v1::Policy policy = Pairs();
    break_it(policy.mutable_game_subset());
    EXPECT_THAT(ValidatePolicy(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("policy.game_subset." + message)));
  }
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithABoltzmannRanking) {
  using Change = std::function<void(BoltzmannRanking*)>;
  const auto custom = [](std::vector<double> weights) {
    return [weights](BoltzmannRanking* b) {
      b->set_rank_weights(BoltzmannRanking::CUSTOM);
      b->mutable_weights()->Assign(weights.begin(), weights.end());
    };
  };
  const std::vector<std::pair<std::string, Change>> wrong = {
      {"rank_weights is 0, must be DCG (1), LINEAR (2) or CUSTOM (3)",
       [](BoltzmannRanking* b) { b->clear_rank_weights(); }},
      {"cutoff is 1000001, must be in [0, 1000000]",
       [](BoltzmannRanking* b) { b->set_cutoff(1000001); }},
      {"head is 17, must be in [1, 16], or 0 for 12",
       [](BoltzmannRanking* b) { b->set_head(17); }},
      {"tail_scale is -1, must be in (0, 1000000], or 0 for 1",
       [](BoltzmannRanking* b) { b->set_tail_scale(-1); }},
      {"plackett_luce_mixture is 1.1, must be in [0, 1]",
       [](BoltzmannRanking* b) { b->set_plackett_luce_mixture(1.1); }},
      {"plackett_luce_scale is nan",
       [](BoltzmannRanking* b) { b->set_plackett_luce_scale(std::nan("")); }},
      {"weights has 1 values, must have none",
       [](BoltzmannRanking* b) { b->add_weights(1); }},
      {"weights has 0 values, must have 1 to 1000000", custom({})},
      {"weights[0] is inf, must be finite", custom({HUGE_VAL})},
      {"weights[1] is 2, must be at most the weight before it, 1",
       custom({1, 2})},
      {"weights[1] is nan", custom({1, std::nan("")})},
  };
  model::v1::Policy sound = Pairs();
  sound.mutable_boltzmann_ranking()->set_rank_weights(BoltzmannRanking::LINEAR);
  EXPECT_OK(ValidatePolicy(sound));
  EXPECT_OK(MakeActionDistribution(sound).status());
  for (const auto& [message, break_it] : wrong) {
    model::v1::Policy policy = sound;
    break_it(policy.mutable_boltzmann_ranking());
    EXPECT_THAT(ValidatePolicy(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("policy.boltzmann_ranking." + message)));
    EXPECT_EQ(MakeActionDistribution(policy).status(), ValidatePolicy(policy));
  }
  custom({3, 3, -1e308})(sound.mutable_boltzmann_ranking());
  EXPECT_OK(ValidatePolicy(sound));
  EXPECT_OK(MakeActionDistribution(sound).status());
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithRankFactors) {
  model::v1::Policy policy = Pairs();
  auto* factors = policy.mutable_plackett_luce()->mutable_rank_factors();
  for (int r = 0; r < 100; ++r) factors->Add(r + 0.5);
  EXPECT_OK(ValidatePolicy(policy));
  EXPECT_OK(MakeActionDistribution(policy).status());
  for (const double factor : {0.0, -1.0, 1.1e6, std::nan(""), HUGE_VAL}) {
    factors->Set(7, factor);
    EXPECT_THAT(ValidatePolicy(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("policy.plackett_luce.rank_factors[7] is")))
        << factor;
    EXPECT_EQ(MakeActionDistribution(policy).status(), ValidatePolicy(policy));
  }
  factors->Set(7, 1e6);
  factors->Add(1);
  EXPECT_THAT(ValidatePolicy(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "policy.plackett_luce.rank_factors has 101 values, must "
                       "have at most 100"));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithASortedRanking) {
  using model::v1::SortedRanking;
  const std::vector<std::pair<std::string, std::function<void(SortedRanking*)>>>
      wrong = {
          {"swap_probability is 0.6, must be in [0, 0.5]",
           [](SortedRanking* s) { s->set_swap_probability(0.6); }},
          {"swap_probability is -0.1",
           [](SortedRanking* s) { s->set_swap_probability(-0.1); }},
          {"swap_probability is nan",
           [](SortedRanking* s) { s->set_swap_probability(std::nan("")); }},
          {"shuffle_probability is 1.1, must be in [0, 1]",
           [](SortedRanking* s) { s->set_shuffle_probability(1.1); }},
          {"shuffle_ranks is 1, must be in [2, 1000000], or 0 for no shuffle",
           [](SortedRanking* s) { s->set_shuffle_ranks(1); }},
          {"shuffle_ranks is 1000001",
           [](SortedRanking* s) { s->set_shuffle_ranks(1000001); }},
          {"shuffle_ranks is 0, must be at least 2 where shuffle_probability "
           "is above 0, it is 0.25",
           [](SortedRanking* s) { s->clear_shuffle_ranks(); }},
      };
  model::v1::Policy sound = Pairs();
  sound.mutable_sorted_ranking();
  EXPECT_OK(ValidatePolicy(sound)) << "the order by score alone";
  sound.mutable_sorted_ranking()->set_swap_probability(0.5);
  sound.mutable_sorted_ranking()->set_shuffle_probability(0.25);
  sound.mutable_sorted_ranking()->set_shuffle_ranks(2);
  EXPECT_OK(ValidatePolicy(sound));
  EXPECT_OK(MakeActionDistribution(sound).status());
  for (const auto& [message, break_it] : wrong) {
    model::v1::Policy policy = sound;
    break_it(policy.mutable_sorted_ranking());
    EXPECT_THAT(ValidatePolicy(policy),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("policy.sorted_ranking." + message)));
    EXPECT_EQ(MakeActionDistribution(policy).status(), ValidatePolicy(policy));
  }
}

// A field that is added without a range would be checked by nobody.
void ExpectRanges(const google::protobuf::Descriptor& message) {
  for (int i = 0; i < message.field_count(); ++i) {
    const google::protobuf::FieldDescriptor& field = *message.field(i);
    if (field.message_type() != nullptr) {
      ExpectRanges(*field.message_type());
      continue;
    }
    const FieldRange range = PolicyRange(message, field.number());
    EXPECT_EQ(range.specified, field.enum_type()) << field.full_name();
    EXPECT_FALSE(range.Contains(std::nan(""))) << field.full_name();
  }
}

TEST(PolicyCheckTest, EveryFieldOfAPolicyHasARange) {
  ExpectRanges(*model::v1::Policy::descriptor());
}

// The texts of model.proto repeat some numbers of the code.
TEST(PolicyCheckTest, AnnotationsKnowLimitsAndDefaultsOfTheCode) {
  const FieldRange head = PolicyRange(*BoltzmannRanking::descriptor(),
                                      BoltzmannRanking::kHeadFieldNumber);
  EXPECT_EQ(head.max, static_cast<double>(BoltzmannOrders::kMaxItems));
  EXPECT_EQ(head.zero, absl::StrCat(HeadOf(BoltzmannRanking())));
  const auto zero = [](int field) {
    return std::string(PolicyRange(*GameSubset::descriptor(), field).zero);
  };
  const FBetaOptions defaults = FBetaOptionsOf(GameSubset());
  EXPECT_EQ(zero(GameSubset::kBetaFieldNumber), NumberText(defaults.beta));
  EXPECT_EQ(zero(GameSubset::kToleranceFieldNumber),
            NumberText(defaults.tolerance));
  EXPECT_EQ(zero(GameSubset::kMaxRoundsFieldNumber),
            NumberText(defaults.max_rounds));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithTheKind) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(1);
  EXPECT_THAT(ValidatePolicy(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "policy.kind is not set, must be softmax_selection, "
                       "plackett_luce, independent_labels, game_ranking, "
                       "game_subset, independent_subset, boltzmann_ranking, "
                       "label_chain or sorted_ranking"));
  EXPECT_EQ(PolicyKindName(policy), "");
  policy.mutable_independent_labels()->set_num_labels(2);
  EXPECT_EQ(PolicyKindName(policy), "independent_labels");
  EXPECT_OK(ValidatePolicy(policy));
  EXPECT_THAT(MakeActionDistribution(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "policy.kind is independent_labels, which cannot be "
                       "served, must be one of softmax_selection, "
                       "plackett_luce, game_ranking, game_subset, "
                       "independent_subset, boltzmann_ranking, "
                       "sorted_ranking"));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithALabelChain) {
  model::v1::Policy policy = Pairs();
  auto* chain = policy.mutable_label_chain();
  chain->set_num_labels(2);
  EXPECT_OK(ValidatePolicy(policy));
  for (const double t : {0.5, -1.0, 0.0, 2.0}) chain->add_transitions(t);
  EXPECT_OK(ValidatePolicy(policy));
  EXPECT_THAT(MakeActionDistribution(policy).status().message(),
              HasSubstr("policy.kind is label_chain, which cannot be served"));
  const auto expect_wrong = [&](const std::string& message) {
    EXPECT_THAT(
        ValidatePolicy(policy),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(message)));
  };
  chain->set_transitions(2, HUGE_VAL);
  expect_wrong("policy.label_chain.transitions[2] is inf, must be finite");
  chain->set_transitions(2, 0);
  chain->mutable_transitions()->RemoveLast();
  expect_wrong("label_chain.transitions has 3 values, must have 4 or none");
  chain->clear_transitions();
  for (const uint32_t q : {0u, 1u, 1001u}) {
    chain->set_num_labels(q);
    expect_wrong(absl::StrCat("policy.label_chain.num_labels is ", q,
                              ", must be in [2, 1000]"));
  }
  chain->set_num_labels(1000);
  EXPECT_OK(ValidatePolicy(policy));
  policy.set_uniform_mixture(0.1);
  expect_wrong("policy.uniform_mixture is 0.1, must be 0 for label_chain");
  policy.mutable_independent_labels()->set_num_labels(4);
  expect_wrong(
      "policy.uniform_mixture is 0.1, must be 0 for independent_labels");
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithIndependentSubsets) {
  model::v1::Policy policy = Pairs();
  IndependentSubset* subset = policy.mutable_independent_subset();
  subset->set_threshold(-1e6);
  subset->set_k(1000000);
  EXPECT_OK(ValidatePolicy(policy));
  subset->set_k(1000001);
  EXPECT_THAT(ValidatePolicy(policy),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("policy.independent_subset.k is 1000001, "
                                 "must be in [1, 1000000], or 0 for any")));
  subset->set_k(0);
  subset->set_threshold(std::nan(""));
  EXPECT_THAT(
      ValidatePolicy(policy),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("policy.independent_subset.threshold is nan")));
}

}  // namespace
}  // namespace sortition
