#include "core/learners/rankings/cascade_terms.h"

#include <cmath>
#include <vector>

#include "core/learners/rankings/prefix_terms.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/learners/rankings/ranked_tuples.h"
#include "tests/core/learners/rankings/term_checks.h"

namespace sortition {
namespace {

using testing::HasSubstr;

// Any function of tuple, rank and candidate.
class MadeUpModel : public RankLossModel {
 public:
  explicit MadeUpModel(double scale) : scale_(scale) {}
  void Losses(size_t i, size_t k, std::span<double> losses) const override {
    for (size_t a = 0; a < losses.size(); ++a) {
      losses[a] = scale_ * std::sin(static_cast<double>(7 * i + 3 * k + a));
    }
  }

 private:
  double scale_;
};

TEST(CascadeTermsTest, GradientsAreThoseOfCentralDifferences) {
  RandomSequence random(SeedKey(1));
  const MadeUpModel model(0.7);
  for (const double epsilon : {0.0, 0.2, 0.9}) {
    const RankedTuples data(epsilon, 150, 2);
    const Eigen::VectorXd w = RandomPoint(data.family, &random);
    for (const std::vector<double>& clips :
         std::vector<std::vector<double>>{{HUGE_VAL}, {3}, {2, 4, 8}}) {
      ASSERT_OK_AND_ASSIGN(CascadeTerms terms,
                           CascadeTerms::Create(data.Log(), clips, &model));
      CheckTerms(&terms, w);
    }
  }
}

TEST(CascadeTermsTest, WithoutAModelTheyAreThoseOfPrefixes) {
  const RankedTuples data(0.2, 60, 3);
  const MadeUpModel none(0);
  ASSERT_OK_AND_ASSIGN(CascadeTerms terms,
                       CascadeTerms::Create(data.Log(), {4}, &none));
  ASSERT_OK_AND_ASSIGN(PrefixTerms prefixes,
                       PrefixTerms::Create(data.Log(), PrefixWeights::kPrefixes,
                                           {ClippedTerm(4)}));
  RandomSequence random(SeedKey(4));
  const Eigen::VectorXd w = RandomPoint(data.family, &random);
  const std::vector<double> values = AllValues(w, &terms);
  const std::vector<double> expected = AllValues(w, &prefixes);
  for (size_t i = 0; i < values.size(); ++i) {
    EXPECT_NEAR(values[i], expected[i], 1e-13);
  }
}

// A cascade user, and models of what that user does.
struct Users {
  double good[4] = {0.1, 0.6, 0.3, 0.8};
  double Loss(const Action& above, size_t k, int32_t candidate) const {
    double p = -1;
    for (size_t r = 0; r < k; ++r) p *= 0.9 * (1 - good[above[r]]);
    return p * good[candidate];
  }
};

class UserModel : public RankLossModel {
 public:
  UserModel(const Users& users, const EveryOrder& orders, double error)
      : users_(users), orders_(orders), error_(error) {}
  void Losses(size_t i, size_t k, std::span<double> losses) const override {
    for (size_t a = 0; a < losses.size(); ++a) {
      losses[a] =
          users_.Loss(orders_.tuples[i].action, k, static_cast<int32_t>(a)) +
          error_ * std::cos(static_cast<double>(k + 3 * a));
    }
  }

 private:
  const Users& users_;
  const EveryOrder& orders_;
  double error_;
};

// The expectation over the log is right for every model. With the true model
// nothing is left of the variance but that of what was shown above.
TEST(CascadeTermsTest, ExpectationIsTheTrueValueForAnyModel) {
  RandomSequence random(SeedKey(5));
  const Users users;
  for (const double epsilon : {0.0, 0.3}) {
    const BanditTuple decision = RandomDecision(3, 4, &random);
    const LinearFamily family = RankFamily(3, epsilon);
    const Eigen::VectorXd logging = RandomPoint(family, &random);
    const Eigen::VectorXd w = RandomPoint(family, &random);
    const EveryOrder orders(family, decision, 3, logging,
                            [&](const Action& order, size_t k) {
                              return users.Loss(order, k, order[k]);
                            });
    std::vector<double> second_moments;
    for (const double error : {0.0, 0.2, 2.0}) {
      const UserModel model(users, orders, error);
      ASSERT_OK_AND_ASSIGN(
          CascadeTerms terms,
          CascadeTerms::Create(orders.Log(), {HUGE_VAL}, &model));
      std::vector<double> values = AllValues(w, &terms);
      EXPECT_NEAR(orders.Expectation(values), orders.TrueValue(w), 1e-12);
      for (double& value : values) value *= value;
      second_moments.push_back(orders.Expectation(values));
    }
    EXPECT_LT(second_moments[0], second_moments[2]);
  }
}

TEST(CascadeTermsTest, NamesClipsOutOfRange) {
  const RankedTuples data(0, 5, 6);
  const MadeUpModel model(1);
  EXPECT_THAT(CascadeTerms::Create(data.Log(), {2, 0.5}, &model),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("clips has 0.5, must be at least 1")));
  EXPECT_THAT(CascadeTerms::Create(data.Log(), {}, &model),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("clips: there are 0")));
}

}  // namespace
}  // namespace sortition
