// Every policy that is refused, by kind and field.
#include "core/policies/policy_check.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/policies/distribution_factory.h"
#include "core/policies/distributions/boltzmann_orders.h"
#include "core/policies/distributions/boltzmann_ranking_distribution.h"
#include "core/policies/distributions/game_subset_distribution.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/refusal_table.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using model::v1::BoltzmannRanking;
using model::v1::GameSubset;
using testing::HasSubstr;

using model::v1::Policy;

// A refusal by the check; the factory must refuse the policy with the same
// error.
absl::Status CheckServed(const Policy& policy) {
  const absl::Status status = ValidatePolicy(policy);
  EXPECT_EQ(MakeActionDistribution(policy).status(), status);
  return status;
}

Policy PolicyOf(const std::string& kind) {
  return With(Policy(), "inverse_temperature: 1 " + kind);
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithAnyPolicy) {
  ExpectRefusals(
      PolicyOf("uniform_mixture: 1 plackett_luce {}"), &CheckServed,
      {{"inverse_temperature: 0",
        "policy.inverse_temperature is 0, must be in "
        "(0, 1000000]"},
       {"inverse_temperature: -1", "policy.inverse_temperature is -1"},
       {"inverse_temperature: 1.1e6", "policy.inverse_temperature is 1100000"},
       {"inverse_temperature: nan", "policy.inverse_temperature is nan"},
       {"inverse_temperature: inf", "policy.inverse_temperature is inf"},
       {"uniform_mixture: -0.1", "policy.uniform_mixture is -0.1"},
       {"uniform_mixture: 1.1",
        "policy.uniform_mixture is 1.1, must be in "
        "[0, 1]"},
       {"uniform_mixture: nan", "policy.uniform_mixture is nan"}});
  EXPECT_OK(CheckServed(PolicyOf("inverse_temperature: 1e6 plackett_luce {}")));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithASelection) {
  const Policy sound = PolicyOf("softmax_selection { abstain_score: -1e6 }");
  std::vector<Refusal> refusals;
  for (const std::string score : {"1.1e6", "-1.1e6", "nan", "inf", "-inf"}) {
    refusals.push_back(
        {absl::StrCat("softmax_selection { abstain_score: ", score, " }"),
         "policy.softmax_selection.abstain_score is"});
  }
  ExpectRefusals(sound, &CheckServed, refusals);
}

// Changes of the message of a kind, and the rest of the error.
void ExpectRefusalsOf(const std::string& kind, const Policy& sound,
                      const std::vector<Refusal>& refusals) {
  std::vector<Refusal> of_policy;
  for (const auto& [change, message] : refusals) {
    of_policy.push_back({absl::StrCat(kind, " { ", change, " }"),
                         absl::StrCat("policy.", kind, ".", message)});
  }
  ExpectRefusals(sound, &CheckServed, of_policy);
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithAGame) {
  const std::vector<Refusal> of_both = {
      {"block_mixing: 1.1", "block_mixing is 1.1, must be in [0, 1]"},
      {"block_mixing: -0.1", "block_mixing is -0.1"},
      {"block_mixing: nan", "block_mixing is nan"}};
  for (const std::string game : {"game_subset { measure: PRECISION k: 2 }",
                                 "game_subset { measure: F_BETA }"}) {
    ExpectRefusalsOf("game_subset", PolicyOf(game), of_both);
    ExpectRefusalsOf("game_subset", PolicyOf(game),
                     {{"threshold: -1000001", "threshold is -1000001"},
                      {"threshold: 2e6", "threshold is 2000000"},
                      {"threshold: -inf", "threshold is -inf"},
                      {"threshold: nan", "threshold is nan"}});
  }
  ExpectRefusalsOf(
      "game_subset", PolicyOf("game_subset { measure: PRECISION k: 2 }"),
      {{"measure: MEASURE_UNSPECIFIED",
        "measure is 0, must be PRECISION (1) or F_BETA (2)"},
       {"k: 0", "k is 0, must be in [1, 1000000]"},
       {"k: 1000001", "k is 1000001"},
       {"beta: 1000.5", "beta is 1000.5, must be in [0.001, 1000], or 0 for 1"},
       {"beta: -1", "beta is -1"},
       {"tolerance: 2", "tolerance is 2, must be in [1e-09, 1]"},
       {"max_rounds: 1000001", "max_rounds is 1000001"}});
  const Policy ranking = PolicyOf("game_ranking { discount: DCG }");
  ExpectRefusalsOf("game_ranking", ranking, of_both);
  ExpectRefusalsOf(
      "game_ranking", ranking,
      {{"discount: DISCOUNT_UNSPECIFIED",
        "discount is 0, must be DCG (1) or PRECISION"},
       {"discount: PRECISION", "cutoff is 0, must be in [1, 1000000]"},
       {"cutoff: 1000001", "cutoff is 1000001, must be in [0, "},
       {"plackett_luce_mixture: 1.1", "plackett_luce_mixture is 1.1"},
       {"plackett_luce_mixture: -0.1", "plackett_luce_mixture is -0.1"},
       {"plackett_luce_mixture: nan", "plackett_luce_mixture is nan"},
       {"plackett_luce_scale: -1",
        "plackett_luce_scale is -1, must be in "
        "(0, "}});
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithABoltzmannRanking) {
  ExpectRefusalsOf(
      "boltzmann_ranking", PolicyOf("boltzmann_ranking { rank_weights: DCG }"),
      {{"rank_weights: RANK_WEIGHTS_UNSPECIFIED",
        "rank_weights is 0, must be DCG (1), LINEAR (2) or CUSTOM (3)"},
       {"cutoff: 1000001", "cutoff is 1000001, must be in [0, 1000000]"},
       {"head: 17", "head is 17, must be in [1, 16], or 0 for 12"},
       {"tail_scale: -1",
        "tail_scale is -1, must be in (0, 1000000], or 0 "
        "for 1"},
       {"plackett_luce_mixture: 1.1",
        "plackett_luce_mixture is 1.1, must be "
        "in [0, 1]"},
       {"plackett_luce_scale: nan", "plackett_luce_scale is nan"},
       {"weights: 1", "weights has 1 values, must have none"},
       {"rank_weights: CUSTOM", "weights has 0 values, must have 1 to 1000000"},
       {"rank_weights: CUSTOM weights: inf",
        "weights[0] is inf, must be finite"},
       {"rank_weights: CUSTOM weights: [1, 2]",
        "weights[1] is 2, must be at most the weight before it, 1"},
       {"rank_weights: CUSTOM weights: [1, nan]", "weights[1] is nan"}});
  EXPECT_OK(CheckServed(PolicyOf(
      "boltzmann_ranking { rank_weights: CUSTOM weights: [3, 3, -1e308] }")));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithRankFactors) {
  Policy policy = PolicyOf("plackett_luce {}");
  auto* factors = policy.mutable_plackett_luce()->mutable_rank_factors();
  for (int r = 0; r < 99; ++r) factors->Add(r + 0.5);
  std::vector<Refusal> refusals;
  for (const std::string factor : {"0", "-1", "1.1e6", "nan", "inf"}) {
    refusals.push_back({"rank_factors: " + factor, "rank_factors[99] is"});
  }
  refusals.push_back({"rank_factors: [1e6, 1]",
                      "rank_factors has 101 values, must have at most 100"});
  ExpectRefusalsOf("plackett_luce", policy, refusals);
  factors->Add(1e6);
  EXPECT_OK(CheckServed(policy));
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithASortedRanking) {
  EXPECT_OK(CheckServed(PolicyOf("sorted_ranking {}"))) << "without exploring";
  ExpectRefusalsOf(
      "sorted_ranking",
      PolicyOf("sorted_ranking { swap_probability: 0.5 shuffle_ranks: 2 "
               "shuffle_probability: 0.25 }"),
      {{"swap_probability: 0.6",
        "swap_probability is 0.6, must be in [0, "
        "0.5]"},
       {"swap_probability: -0.1", "swap_probability is -0.1"},
       {"swap_probability: nan", "swap_probability is nan"},
       {"shuffle_probability: 1.1",
        "shuffle_probability is 1.1, must be in "
        "[0, 1]"},
       {"shuffle_ranks: 1",
        "shuffle_ranks is 1, must be in [2, 1000000], or 0 for no shuffle"},
       {"shuffle_ranks: 1000001", "shuffle_ranks is 1000001"},
       {"shuffle_ranks: 0",
        "shuffle_ranks is 0, must be at least 2 where shuffle_probability is "
        "above 0, it is 0.25"}});
}

TEST(PolicyCheckTest, NamesWhatIsWrongWithIndependentSubsets) {
  ExpectRefusalsOf(
      "independent_subset",
      PolicyOf("independent_subset { threshold: -1e6 k: 1000000 }"),
      {{"k: 1000001", "k is 1000001, must be in [1, 1000000], or 0 for any"},
       {"threshold: 1.1e6", "threshold is 1100000"},
       {"threshold: -1.1e6", "threshold is -1100000"},
       {"threshold: nan", "threshold is nan"},
       {"threshold: inf", "threshold is inf"}});
}

// These kinds are not served.
TEST(PolicyCheckTest, NamesWhatIsWrongWithLabels) {
  const Policy chain = PolicyOf("label_chain { num_labels: 2 }");
  EXPECT_OK(ValidatePolicy(With(chain, "label_chain { num_labels: 1000 }")));
  EXPECT_OK(ValidatePolicy(
      With(chain, "label_chain { transitions: [0.5, -1, 0, 2] }")));
  EXPECT_THAT(MakeActionDistribution(chain).status().message(),
              HasSubstr("policy.kind is label_chain, which cannot be served"));
  const std::string range = ", must be in [2, 1000]";
  ExpectRefusals(
      chain, &ValidatePolicy,
      {{"label_chain { transitions: [0.5, -1, inf, 2] }",
        "policy.label_chain.transitions[2] is inf, must be finite"},
       {"label_chain { transitions: [1, 2, 3] }",
        "label_chain.transitions has 3 values, must have 4 or none"},
       {"label_chain { num_labels: 0 }",
        "policy.label_chain.num_labels is 0" + range},
       {"label_chain { num_labels: 1 }",
        "policy.label_chain.num_labels is 1" + range},
       {"label_chain { num_labels: 1001 }",
        "policy.label_chain.num_labels is 1001" + range},
       {"uniform_mixture: 0.1",
        "policy.uniform_mixture is 0.1, must be 0 for label_chain"},
       {"independent_labels { num_labels: 0 }",
        "policy.independent_labels.num_labels is 0"},
       {"uniform_mixture: 0.1 independent_labels { num_labels: 4 }",
        "policy.uniform_mixture is 0.1, must be 0 for independent_labels"}});
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

}  // namespace
}  // namespace sortition
