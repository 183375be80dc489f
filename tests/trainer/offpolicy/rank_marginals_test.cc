#include "trainer/offpolicy/rank_marginals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/rank_tuples.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::HasSubstr;
using testing::Pointwise;

// Three of five candidates, of which document 1 is not eligible, are ranked.
class RankMarginalsTest : public testing::Test {
 protected:
  RankMarginalsTest() {
    options_.set_model_store(dir_.Sub("models"));
    log_ = {.action_kind = ActionKind::kRank,
            .num_features = 2,
            .num_candidates = 5,
            .top_k = 3};
  }

  // Publishes what logged as version 1.
  void Publish(const SyntheticLog& log) {
    ASSERT_OK(store_.Publish(LoggingModel(log), nullptr, {}));
  }

  static LinearPolicy PolicyOf(const SyntheticLog& log) {
    const model::v1::Model model = LoggingModel(log);
    return *LinearPolicy::Create(
        model.policy(), {model.weights().begin(), model.weights().end()});
  }

  // Returns a decision of version 1.
  log::v1::Decision Decide(const SyntheticLog& log, const std::string& id) {
    log::v1::Decision decision;
    decision.set_decision_id(id);
    decision.set_version(1);
    decision.set_action_kind(log::v1::RANK);
    decision.set_num_candidates(5);
    decision.set_num_features(2);
    decision.set_top_k(3);
    *decision.mutable_policy() = LoggingModel(log).policy();
    RandomSequence random(StableHash(HashDomain::kSimulation, {id}));
    for (int i = 0; i < 10; ++i) {
      decision.add_dense_values(static_cast<float>(random.Normal()));
    }
    for (int i = 0; i < 5; ++i) decision.add_eligible(i != 1);
    Draw draw;
    PolicyWorkspace workspace;
    PolicyOf(log).Decide(Masked(decision), DecisionKey("default", 1, id),
                         &workspace, &draw);
    decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision.set_log_propensity(draw.log_propensity);
    decision.mutable_conditional_log_propensities()->Assign(
        draw.conditional_log_propensities.begin(),
        draw.conditional_log_propensities.end());
    return decision;
  }

  static PolicyQuery Masked(const log::v1::Decision& decision) {
    PolicyQuery query = QueryOf(decision);
    query.eligible = {decision.eligible().data(),
                      static_cast<size_t>(decision.eligible_size())};
    return query;
  }

  const TempDir dir_;
  const ModelStore store_{dir_.Sub("models")};
  config::v1::TrainOptions options_;
  SyntheticLog log_;
};

TEST_F(RankMarginalsTest, AreThoseOfAllOrders) {
  Publish(log_);
  const RankMarginals marginals = MakeRankMarginals(options_);
  const LinearPolicy policy = PolicyOf(log_);
  PolicyWorkspace workspace;
  for (const char* const id : {"a", "b"}) {
    const log::v1::Decision decision = Decide(log_, id);
    std::vector<double> expected(8, 0);
    std::vector<int32_t> documents = {0, 2, 3, 4};
    do {  // Each order of three comes once, with what is left behind it.
      const double p = std::exp(policy.LogPropensity(
          Masked(decision), std::span(documents).first(3), &workspace));
      for (size_t k = 0; k < 2; ++k) {
        const int32_t document = documents[k];
        expected[k * 4 + static_cast<size_t>(document > 1 ? document - 1
                                                          : document)] += p;
      }
    } while (std::next_permutation(documents.begin(), documents.end()));
    std::vector<double> computed;
    ASSERT_OK(marginals(decision, 2, &computed));
    EXPECT_THAT(computed, Pointwise(DoubleNear(1e-8), expected));
  }
}

TEST_F(RankMarginalsTest, WithoutAVersionOrdersAreUniform) {
  log::v1::Decision decision = Decide(log_, "a");
  decision.set_version(0);
  decision.clear_policy();
  decision.clear_conditional_log_propensities();
  for (const double left : {4, 3, 2}) {
    decision.add_conditional_log_propensities(-std::log(left));
  }
  std::vector<double> computed;
  ASSERT_OK(MakeRankMarginals(options_)(decision, 3, &computed));
  EXPECT_EQ(computed.size(), 12);
  EXPECT_THAT(computed, Each(DoubleNear(0.25, 1e-12)));
}

TEST_F(RankMarginalsTest, SayWhichVersionTheyDoNotKnow) {
  const log::v1::Decision decision = Decide(log_, "a");
  std::vector<double> computed;
  const auto is_unknown = [](const char* why) {
    return StatusIs(absl::StatusCode::kFailedPrecondition,
                    AllOf(HasSubstr("version 1 of model 'default', decision "
                                    "'a': "),
                          HasSubstr(why), HasSubstr("take PREFIXES")));
  };
  EXPECT_THAT(MakeRankMarginals(options_)(decision, 3, &computed),
              is_unknown("version 1"));
  Publish(log_);
  const RankMarginals marginals = MakeRankMarginals(options_);
  EXPECT_OK(marginals(decision, 3, &computed));

  log::v1::Decision wrong = decision;
  wrong.set_conditional_log_propensities(
      1, wrong.conditional_log_propensities(1) - 1e-4);
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("conditional_log_propensities[1] is "));
  wrong = decision;
  wrong.mutable_interleaving();
  EXPECT_THAT(marginals(wrong, 3, &computed), is_unknown("another version"));
  wrong = decision;
  wrong.clear_conditional_log_propensities();
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("no propensity of each rank"));
  wrong = decision;
  wrong.set_num_features(1);
  wrong.set_num_candidates(10);
  wrong.clear_eligible();
  EXPECT_THAT(marginals(wrong, 3, &computed),
              is_unknown("num_features is 1, in the store 2"));
}

TEST_F(RankMarginalsTest, AreExactOrNotThere) {
  log_.sorted.emplace().set_swap_probability(0.5);
  Publish(log_);
  std::vector<double> computed;
  EXPECT_THAT(MakeRankMarginals(options_)(Decide(log_, "a"), 3, &computed),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("is no plackett_luce without rank_factors")));
}

}  // namespace
}  // namespace sortition
