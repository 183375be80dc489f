#include "core/learners/rankings/exposure_terms.h"

#include <cmath>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/exposure_cases.h"
#include "tests/core/learners/rankings/term_checks.h"

namespace sortition {
namespace {

using absl::StatusCode::kInvalidArgument;
using testing::HasSubstr;

TEST(ExposureTermsTest, ValuesAreThoseOfEnumeration) {
  RandomSequence random(SeedKey(1));
  for (const double epsilon : {0.0, 0.2}) {
    const ExposureData data(epsilon, 30, 2);
    ASSERT_OK_AND_ASSIGN(ExposureTerms terms,
                         ExposureTerms::Create(data.Problem(), data.gains));
    ASSERT_OK_AND_ASSIGN(
        ExposureDivergenceTerms divergence,
        ExposureDivergenceTerms::Create(data.Problem(), data.logged));
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    const std::vector<double> values = AllValues(w, &terms);
    const std::vector<double> divergences = AllValues(w, &divergence);
    for (size_t i = 0; i < values.size(); ++i) {
      const std::vector<double> exposures = EnumeratedExposures(
          data.family, ScoresOf(data.tuples[i], w), {1, 0.6, 0.3});
      double gain = 0, moment = 0;
      for (size_t d = 0; d < exposures.size(); ++d) {
        gain += data.gains[i][d] * exposures[d];
        moment += exposures[d] * exposures[d] / data.logged[i][d];
      }
      EXPECT_NEAR(values[i], -gain, 1e-12);
      EXPECT_NEAR(divergences[i], moment, 1e-11);
    }
  }
}

TEST(ExposureTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(3));
  for (const double epsilon : {0.0, 0.2}) {
    const ExposureData data(epsilon, 150, 4);
    ASSERT_OK_AND_ASSIGN(ExposureTerms terms,
                         ExposureTerms::Create(data.Problem(), data.gains));
    ASSERT_OK_AND_ASSIGN(
        ExposureDivergenceTerms divergence,
        ExposureDivergenceTerms::Create(data.Problem(), data.logged));
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    CheckTerms(&terms, w);
    CheckTerms(&divergence, w);
  }
}

// Σ e²/e₀ >= (Σ e)² / Σ e₀ = Z, with equality for e = e₀.
TEST(ExposureDivergenceTermsTest, IsLeastAtThePolicyThatLogged) {
  ExposureData data(0.1, 20, 5);
  RandomSequence random(SeedKey(6));
  const Eigen::VectorXd logging = RandomPoint(data.family, &random);
  for (size_t i = 0; i < data.tuples.size(); ++i) {
    data.logged[i] = EnumeratedExposures(
        data.family, ScoresOf(data.tuples[i], logging), {1, 0.6, 0.3});
  }
  ASSERT_OK_AND_ASSIGN(
      ExposureDivergenceTerms terms,
      ExposureDivergenceTerms::Create(data.Problem(), data.logged));
  const std::vector<double> at_logging = AllValues(logging, &terms);
  const std::vector<double> elsewhere =
      AllValues(RandomPoint(data.family, &random), &terms);
  const double total[] = {0, 1, 1.6, 1.9};
  for (size_t i = 0; i < at_logging.size(); ++i) {
    const double z =
        total[std::min<size_t>(3, data.tuples[i].num_candidates())];
    EXPECT_NEAR(at_logging[i], z, 1e-11);
    EXPECT_GT(elsewhere[i], z);
  }
}

TEST(ExposureTermsTest, NamesWhatIsOutOfRange) {
  ExposureData data(0, 5, 7);
  data.gains[3][0] = NAN;
  EXPECT_THAT(
      ExposureTerms::Create(data.Problem(), data.gains),
      StatusIs(kInvalidArgument, HasSubstr("gains of tuple 3 has nan")));
  data.gains[3].clear();
  EXPECT_THAT(
      ExposureTerms::Create(data.Problem(), data.gains),
      StatusIs(kInvalidArgument, HasSubstr("gains of tuple 3 has 0 entries")));
  data.logged[1][0] = 0;
  EXPECT_THAT(
      ExposureDivergenceTerms::Create(data.Problem(), data.logged),
      StatusIs(kInvalidArgument, HasSubstr("must be finite and positive")));
  ExposureProblem problem = data.Problem();
  problem.discounts = {1, -1};
  EXPECT_THAT(Exposures::Create(problem),
              StatusIs(kInvalidArgument, HasSubstr("discounts has -1")));
  problem.discounts.clear();
  EXPECT_THAT(Exposures::Create(problem),
              StatusIs(kInvalidArgument, HasSubstr("discounts: there are 0")));
}

}  // namespace
}  // namespace sortition
