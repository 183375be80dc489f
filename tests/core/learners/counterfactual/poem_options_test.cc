#include "core/learners/counterfactual/poem_options.h"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/learners/counterfactual/linear_tuple_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/counterfactual/random_tuples.h"
#include "tests/core/learners/counterfactual/selection_training.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::PoemOptions;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(PoemOptionsTest, OptionsThatDoNotGoTogetherAreNamed) {
  PoemOptions options =
      MakeOptions(PoemOptions::SELF_NORMALISED, PoemOptions::STOCHASTIC);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("optimiser is STOCHASTIC, must be "
                                           "BATCH for objective SELF_NORM")));
  options.set_optimiser(PoemOptions::BATCH);
  EXPECT_OK(ValidatePoemOptions(options));
  options.set_clip(10);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("clip is 10, must be 0 or unset for "
                                           "objective SELF_NORMALISED")));
  options.set_objective(PoemOptions::CRM);
  options.set_clip(0.5);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("clip is 0.5, must be 0 or at "
                                           "least 1")));
  options.clear_clip();
  options.add_lambda(0.5);
  EXPECT_OK(ValidatePoemOptions(options));
  options.set_objective(PoemOptions::IPS);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("lambda is 0.5, must be 0 or unset "
                                           "for objective IPS")));
  options.set_objective(PoemOptions::CRM);
  options.add_lambda_factor(0.25);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("lambda_factor is 0.25, must be "
                                           "unset where lambda is set")));
  options.clear_lambda();
  options.set_lambda_factor(0, 0);
  EXPECT_OK(ValidatePoemOptions(options));
  options.set_objective(PoemOptions::LOG_SMOOTHING);
  EXPECT_THAT(
      ValidatePoemOptions(options),
      StatusIs(kInvalidArgument, HasSubstr("lambda_factor is 0, must be "
                                           "positive for objective LOG_SMO")));
}

TEST(PoemOptionsTest, WeightsOfRanksAreThoseThatAnObjectiveHas) {
  using Poem = PoemOptions;
  for (int objective = Poem::CRM; objective <= Poem::EXPOSURE; ++objective) {
    PoemOptions options = MakeOptions(Poem::Objective(objective), Poem::BATCH);
    if (objective == Poem::EXPOSURE) options.add_examination(1);
    EXPECT_OK(ValidatePoemOptions(options));
    const bool by_rank = objective == Poem::CRM || objective == Poem::IPS ||
                         objective == Poem::CLIPPED_IPS ||
                         objective == Poem::LOG_SMOOTHING;
    options.set_rank_weights(Poem::PREFIXES);
    EXPECT_EQ(ValidatePoemOptions(options).ok(),
              by_rank || objective == Poem::DOUBLY_ROBUST);
    options.set_rank_weights(Poem::ITEM_POSITION);
    const absl::Status status = ValidatePoemOptions(options);
    EXPECT_EQ(status.ok(), by_rank);
    if (by_rank) continue;
    EXPECT_THAT(
        status,
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("rank_weights is ITEM_POSITION, must be ORDER")));
    EXPECT_EQ(
        std::string(status.message()).find("or PREFIXES") != std::string::npos,
        objective == Poem::DOUBLY_ROBUST);
  }
}

// Starts from options that are right, and changes one thing.
TEST(PoemOptionsTest, WhatExposuresNeedAndNothingElseTakesIsNamed) {
  PoemOptions exposure =
      MakeOptions(PoemOptions::EXPOSURE, PoemOptions::STOCHASTIC);
  exposure.add_examination(1);
  exposure.add_examination(0.5);
  exposure.set_sampled_orders(10);
  EXPECT_OK(ValidatePoemOptions(exposure));
  PoemOptions safe = exposure;
  safe.set_optimiser(PoemOptions::BATCH);
  safe.clear_sampled_orders();
  safe.set_failure_probability(0.05);
  safe.set_most_clicks(1);
  safe.add_click_offsets(0.1);
  safe.add_click_offsets(0.1);
  EXPECT_OK(ValidatePoemOptions(safe));
  const PoemOptions crm = MakeOptions(PoemOptions::CRM, PoemOptions::BATCH);
  struct Case {
    const PoemOptions& options;
    std::function<void(PoemOptions*)> change;
    std::string message;
  };
  for (const Case& c : std::vector<Case>{
           {exposure, [](auto* o) { o->clear_examination(); },
            "examination: there are 0 values above 0, must be at least 1"},
           {exposure,
            [](auto* o) {
              o->set_examination(0, 0);
              o->set_examination(1, 0);
            },
            "examination: there are 0 values above 0"},
           {exposure, [](auto* o) { o->add_click_offsets(0.1); },
            "click_offsets: there are 1, must be 2 as of examination, or none"},
           {exposure, [](auto* o) { o->set_optimiser(PoemOptions::BATCH); },
            "optimiser is BATCH, must be STOCHASTIC with sampled_orders"},
           {exposure, [](auto* o) { o->set_failure_probability(0.1); },
            "optimiser is STOCHASTIC, must be BATCH with failure_probability"},
           {exposure, [](auto* o) { o->set_most_clicks(2); },
            "most_clicks is 2, must be 0 or unset without failure_probability"},
           {exposure, [](auto* o) { o->set_clip(10); },
            "clip is 10, must be 0 or unset for objective EXPOSURE"},
           {exposure, [](auto* o) { o->add_lambda(1); },
            "lambda is 1, must be 0 or unset for objective EXPOSURE"},
           {exposure, [](auto* o) { o->add_lambda_factor(1); },
            "lambda_factor is 1, must be 0 or unset for objective EXPOSURE"},
           {safe, [](auto* o) { o->set_most_clicks(0.5); },
            "most_clicks is 0.5, must be 0 or at least 1"},
           {safe, [](auto* o) { o->set_sampled_orders(10); },
            "optimiser is BATCH, must be STOCHASTIC with sampled_orders"},
           {crm, [](auto* o) { o->add_examination(0.5); },
            "examination is 0.5, must be unset for objective CRM"},
           {crm, [](auto* o) { o->add_click_offsets(0.5); },
            "click_offsets is 0.5, must be unset for objective CRM"},
           {crm, [](auto* o) { o->set_failure_probability(0.1); },
            "failure_probability is 0.1, must be 0 or unset for objective CRM"},
           {crm, [](auto* o) { o->set_sampled_orders(3); },
            "sampled_orders is 3, must be 0 or unset for objective CRM"},
           {crm, [](auto* o) { o->set_most_clicks(3); },
            "most_clicks is 3, must be 0 or unset without"},
           {exposure, [](auto* o) { o->add_smoothing(0.7); },
            "smoothing is 0.7, must be 1 or unset for objective EXPOSURE"},
           {crm,
            [](auto* o) {
              o->set_rank_weights(PoemOptions::PREFIXES);
              o->add_smoothing(1);
              o->add_smoothing(0.7);
            },
            "smoothing is 0.7, must be 1 or unset for rank_weights PREFIXES"},
           {crm, [](auto* o) { o->add_smoothing(0); },
            "smoothing is 0, must be in (0, 1]"},
           {crm, [](auto* o) { o->add_smoothing(1.5); },
            "smoothing is 1.5, must be in (0, 1]"},
           {crm, [](auto* o) { o->add_prior_decisions(100); },
            "prior_decisions is 100, must be unset for penalty NORM"},
           {crm,
            [](auto* o) {
              o->set_penalty(PoemOptions::PROXIMAL);
              o->add_prior_decisions(100);
              o->add_l2(0.1);
            },
            "prior_decisions is 100, must be unset where l2 is set"}}) {
    PoemOptions options = c.options;
    EXPECT_OK(ValidatePoemOptions(options));
    c.change(&options);
    EXPECT_THAT(
        ValidatePoemOptions(options),
        StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(c.message)));
  }
  for (PoemOptions options : {exposure, crm}) {
    options.add_smoothing(1);
    EXPECT_OK(ValidatePoemOptions(options));
  }
}

TEST(PoemOptionsTest, PriorDecisionsAreOutOfTheDecisionsOfTheLog) {
  const LinearFamily family{ActionKind::kSelect, 4, false, 0.05};
  const std::vector<BanditTuple> tuples = RandomTuples(family, 5, 1);
  const std::vector<double> weights = {1, 0.5, 0.25, 1, 1.25};  // Sum: 4.
  const LinearTuplePolicy policy = *LinearTuplePolicy::Create(
      family, tuples, HiddenActions::kImpossible, weights);
  PoemOptions options;
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(1e-6));
  options.set_penalty(PoemOptions::PROXIMAL);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(0.01, 0.1, 1));
  options.add_prior_decisions(10);
  options.add_prior_decisions(0);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(2.5, 0));
  options.clear_prior_decisions();
  options.add_l2(7);
  EXPECT_THAT(ListL2s(options, policy), ElementsAre(7));
}

TEST(PoemOptionsTest, ExposuresHaveNoClipAndNoLambda) {
  const LinearFamily family{ActionKind::kSelect, 4, false, 0.05};
  const std::vector<BanditTuple> tuples = RandomTuples(family, 5, 1);
  const LinearTuplePolicy policy = *LinearTuplePolicy::Create(family, tuples);
  const PoemOptions options =
      MakeOptions(PoemOptions::EXPOSURE, PoemOptions::BATCH);
  EXPECT_EQ(ClipOf(options, policy), HUGE_VAL);
  ASSERT_OK_AND_ASSIGN(const auto lambdas, ListLambdas(options, policy));
  ASSERT_EQ(lambdas.size(), 1);
  EXPECT_EQ(lambdas[0].lambda, 0);
}

}  // namespace
}  // namespace sortition
