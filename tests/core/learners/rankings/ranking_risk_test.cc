#include "core/learners/rankings/ranking_risk.h"

#include <cmath>
#include <memory>
#include <vector>

#include "core/learners/rankings/cascade_terms.h"
#include "core/learners/rankings/exposure_terms.h"
#include "core/learners/rankings/item_position_terms.h"
#include "core/learners/rankings/linear_rank_loss_model.h"
#include "core/learners/rankings/prefix_terms.h"
#include "core/learners/rankings/safe_exposure_objective.h"
#include "core/learners/rankings/sampled_exposure_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranking_grid_data.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using config::v1::PoemOptions;
using testing::HasSubstr;

constexpr double kClip = 2;
constexpr double kLambda = 0.6;

PoemOptions MakeOptions(PoemOptions::Objective objective,
                        PoemOptions::RankWeights weights) {
  PoemOptions options;
  options.set_objective(objective);
  options.set_rank_weights(weights);
  return options;
}

PoemOptions RiskOptionsOfExposures(PoemOptions::Optimiser optimiser) {
  PoemOptions options = MakeOptions(PoemOptions::EXPOSURE, PoemOptions::ORDER);
  options.set_optimiser(optimiser);
  for (const double value : {1.0, 0.6, 0.3}) options.add_examination(value);
  return options;
}

std::unique_ptr<GridRisk> MakeRisk(const RankingRiskData& data,
                                   const PoemOptions& options,
                                   double clip = kClip) {
  return *(*PrepareRankingRisk(data, options))(clip, kLambda);
}

// Compares values and gradients, to the last bit: those of the same terms, in
// the same sequence of calls.
void ExpectSame(TupleTerms* terms, TupleTerms* expected) {
  RandomSequence random(SeedKey(9));
  Eigen::VectorXd w(3), one(3), other(3);
  for (double& entry : w) entry = random.Normal();
  const TermObjective objective = *TermObjective::Create(terms, 0.5, 0);
  const TermObjective other_objective =
      *TermObjective::Create(expected, 0.5, 0);
  EXPECT_EQ(objective.Evaluate(w, &one), other_objective.Evaluate(w, &other));
  EXPECT_EQ(one, other);
  EXPECT_GT(one.norm(), 0);
  EXPECT_EQ(AllValues(w, terms), AllValues(w, expected));
  ASSERT_EQ(terms->weights().size(), expected->weights().size());
}

TEST(RankingRiskTest, WeightsOfRanksAreWhatTheOptionsName) {
  const RankedTuples data(0.1, 80, 1);
  struct Case {
    PoemOptions::Objective objective;
    double clip;
    TermFunction function;
  };
  for (const Case& c :
       {Case{PoemOptions::CRM, kClip, ClippedTerm(kClip)},
        Case{PoemOptions::CLIPPED_IPS, kClip, ClippedTerm(kClip)},
        Case{PoemOptions::IPS, HUGE_VAL, ClippedTerm(HUGE_VAL)},
        Case{PoemOptions::LOG_SMOOTHING, HUGE_VAL, LogSmoothedTerm(kLambda)}}) {
    SCOPED_TRACE(PoemOptions::Objective_Name(c.objective));
    PrefixTerms prefixes = *PrefixTerms::Create(
        data.Log(), PrefixWeights::kPrefixes, {c.function});
    ExpectSame(MakeRisk({.log = data.Log()},
                        MakeOptions(c.objective, PoemOptions::PREFIXES), c.clip)
                   ->terms(),
               &prefixes);
    ItemPositionTerms items =
        *ItemPositionTerms::Create(data.Log(), c.function);
    ExpectSame(
        MakeRisk({.log = data.Log()},
                 MakeOptions(c.objective, PoemOptions::ITEM_POSITION), c.clip)
            ->terms(),
        &items);
  }
}

TEST(RankingRiskTest, DoublyRobustPrefixesAreACascadeWithAFittedModel) {
  const RankedTuples data(0.1, 80, 2);
  PoemOptions options =
      MakeOptions(PoemOptions::DOUBLY_ROBUST, PoemOptions::PREFIXES);
  options.set_loss_model_l2(3);
  options.set_loss_model_folds(2);
  ASSERT_OK_AND_ASSIGN(const LinearRankLossModel model,
                       LinearRankLossModel::Fit(data.Log(), 3, 2));
  CascadeTerms terms = *CascadeTerms::Create(data.Log(), {kClip}, &model);
  const auto risk = MakeRisk({.log = data.Log()}, options);
  ExpectSame(risk->terms(), &terms);
  EXPECT_EQ(risk->objective(), nullptr);
}

TEST(RankingRiskTest, ExposuresAreExactOrDrawn) {
  const ExposureData data(0.1, 60, 3);
  const std::vector<ExposedTuple> exposed = ExposedOf(data);
  const RankingRiskData given{.log = {.family = data.family,
                                      .tuples = data.tuples,
                                      .weights = data.weights},
                              .exposed = exposed};
  ExposureProblem problem = data.Problem();
  problem.tolerance = ExposureProblem().tolerance;
  ExposureTerms exact = *ExposureTerms::Create(problem, data.gains);
  PoemOptions options = RiskOptionsOfExposures(PoemOptions::STOCHASTIC);
  ExpectSame(MakeRisk(given, options)->terms(), &exact);
  options.set_sampled_orders(7);
  options.set_seed(5);
  SampledExposureTerms drawn =
      *SampledExposureTerms::Create(problem, data.gains, 7, 5);
  ExpectSame(MakeRisk(given, options)->terms(), &drawn);
}

TEST(RankingRiskTest, SafetyIsTheObjectiveOfABatch) {
  const ExposureData data(0.1, 60, 4);
  const std::vector<ExposedTuple> exposed = ExposedOf(data);
  const RankingRiskData given{.log = {.family = data.family,
                                      .tuples = data.tuples,
                                      .weights = data.weights},
                              .exposed = exposed};
  ExposureProblem problem = data.Problem();
  problem.tolerance = ExposureProblem().tolerance;
  ExposureTerms terms = *ExposureTerms::Create(problem, data.gains);
  ExposureDivergenceTerms divergence =
      *ExposureDivergenceTerms::Create(problem, data.logged);
  PoemOptions options = RiskOptionsOfExposures(PoemOptions::BATCH);
  EXPECT_EQ(MakeRisk(given, options)->objective(), nullptr);
  options.set_failure_probability(0.2);
  // As many as ranks, unless the options say otherwise.
  for (const double most_clicks : {0.0, 2.0}) {
    options.set_most_clicks(most_clicks);
    const SafeExposureObjective safe = *SafeExposureObjective::Create(
        &terms, &divergence,
        {.failure_probability = 0.2,
         .max_clicks = most_clicks > 0 ? most_clicks : 3});
    const auto risk = MakeRisk(given, options);
    ASSERT_NE(risk->objective(), nullptr);
    const Eigen::VectorXd w = Eigen::Vector3d(0.3, -1, 0.5);
    Eigen::VectorXd one(3), other(3);
    EXPECT_EQ(risk->objective()->Evaluate(w, &one), safe.Evaluate(w, &other));
    EXPECT_EQ(one, other);
  }
}

TEST(RankingRiskTest, TheUnitIsTheSizeOfWhatALogEarns) {
  RankedTuples ranked(0.1, 2, 5);
  ranked.tuples[0].action_shown = ranked.tuples[1].action_shown = true;
  ranked.ranks[0].losses.assign(ranked.ranks[0].num_shown(), 0);
  ranked.ranks[1].losses.assign(ranked.ranks[1].num_shown(), 0);
  ranked.ranks[0].losses[0] = -0.5;
  ranked.ranks[1].losses[0] = -1;
  ranked.weights = {3, 1};
  const PoemOptions prefixes =
      MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES);
  EXPECT_NEAR(MakeRisk({.log = ranked.Log()}, prefixes)->loss_unit(),
              std::sqrt((3 * 0.25 + 1) / 4), 1e-15);
  // Nothing that was shown earned anything.
  ranked.tuples[0].action_shown = ranked.tuples[1].action_shown = false;
  EXPECT_EQ(MakeRisk({.log = ranked.Log()}, prefixes)->loss_unit(), 1);
  const ExposureData data(0.1, 20, 6);
  std::vector<ExposedTuple> exposed = ExposedOf(data);
  // One click on the first candidate of every tuple.
  for (ExposedTuple& tuple : exposed) {
    tuple.gains.assign(tuple.gains.size(), 0);
    tuple.gains[0] = 1 / tuple.exposures[0];
  }
  const auto risk =
      MakeRisk({.log = {.family = data.family, .tuples = data.tuples},
                .exposed = exposed},
               RiskOptionsOfExposures(PoemOptions::BATCH));
  EXPECT_NEAR(risk->loss_unit(), 1, 1e-12);
}

TEST(RankingRiskTest, NeedsAreThoseOfTheOptions) {
  const auto needs = [](const PoemOptions& options) {
    const RankingNeeds n = NeedsOf(options);
    return std::vector<bool>{n.ranks, n.marginals, n.exposures};
  };
  using Needs = std::vector<bool>;
  EXPECT_EQ(needs(PoemOptions()), (Needs{false, false, false}));
  EXPECT_EQ(needs(MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES)),
            (Needs{true, false, false}));
  EXPECT_EQ(needs(MakeOptions(PoemOptions::IPS, PoemOptions::ITEM_POSITION)),
            (Needs{true, true, false}));
  EXPECT_EQ(needs(RiskOptionsOfExposures(PoemOptions::BATCH)),
            (Needs{false, false, true}));
  // What needs nothing gets nothing, whatever the data.
  ASSERT_OK_AND_ASSIGN(const MakeGridRisk none,
                       PrepareRankingRisk({}, PoemOptions()));
  EXPECT_FALSE(none);
}

TEST(RankingRiskTest, NamesWhatIsMissing) {
  RankedTuples data(0.1, 10, 7);
  RankedLog log = data.Log();
  log.ranks = {};
  EXPECT_THAT(
      PrepareRankingRisk({.log = log},
                         MakeOptions(PoemOptions::CRM, PoemOptions::PREFIXES)),
      StatusIs(kInvalidArgument,
               HasSubstr("ranks: there are those of 0 tuples")));
  EXPECT_THAT(PrepareRankingRisk({.log = data.Log()},
                                 MakeOptions(PoemOptions::SELF_NORMALISED,
                                             PoemOptions::PREFIXES)),
              StatusIs(kInvalidArgument, HasSubstr("must be BATCH")));
  for (RankedTuple& tuple : data.ranks) tuple.log_marginals.clear();
  ASSERT_OK_AND_ASSIGN(
      const MakeGridRisk make,
      PrepareRankingRisk(
          {.log = data.Log()},
          MakeOptions(PoemOptions::CRM, PoemOptions::ITEM_POSITION)));
  EXPECT_THAT(
      make(2, 0).status(),
      StatusIs(kInvalidArgument, HasSubstr("log_marginals of tuple 0")));

  const ExposureData exposure(0.1, 5, 8);
  std::vector<ExposedTuple> exposed = ExposedOf(exposure);
  const PoemOptions options = RiskOptionsOfExposures(PoemOptions::BATCH);
  const auto prepared = [&] {
    return PrepareRankingRisk(
               {.log = {.family = exposure.family, .tuples = exposure.tuples},
                .exposed = exposed},
               options)
        .status();
  };
  EXPECT_OK(prepared());
  exposed[2].exposures[1] = 0;
  EXPECT_THAT(prepared(),
              StatusIs(kInvalidArgument, HasSubstr("exposures of tuple 2 "
                                                   "has 0, must be")));
  exposed[2].exposures[1] = 1;
  exposed[3].gains[0] = HUGE_VAL;
  EXPECT_THAT(prepared(),
              StatusIs(kInvalidArgument, HasSubstr("gains of tuple 3")));
  exposed[3].gains.pop_back();
  EXPECT_THAT(prepared(),
              StatusIs(kInvalidArgument, HasSubstr("exposed tuple 3")));
  exposed.pop_back();
  EXPECT_THAT(prepared(),
              StatusIs(kInvalidArgument, HasSubstr("exposed: there are 4, "
                                                   "must be 5")));
}

}  // namespace
}  // namespace sortition
