// The self-normalised objective on a log that hardly explores: it must not get
// a policy into the store that does what was never logged.
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/trainer/offpolicy/train_fixture.h"
#include "trainer/train.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;
using testing::HasSubstr;

constexpr double kEasyShare = 0.2;
constexpr double kEasyReward = 0.9;
constexpr double kHardReward = 0.3;
constexpr double kSharpness = 12;

// The first of four candidates is right for nearly one query in three, the
// others never are. Features: whether it is the first; the same if the query is
// hard. The policy that logs practically always takes the first.
model::v1::Model SharpModel() {
  model::v1::Model model;
  model.set_name("default");
  model.set_num_features(2);
  model.add_weights(kSharpness);
  model.add_weights(0);
  model.mutable_policy()->set_inverse_temperature(1);
  model.mutable_policy()->mutable_softmax_selection();
  return model;
}

std::vector<log::v1::BanditTuple> SharpTuples(size_t n) {
  RandomSequence random(SeedKey(1));
  std::vector<log::v1::BanditTuple> tuples(n);
  for (size_t i = 0; i < n; ++i) {
    const bool is_hard = random.Uniform() >= kEasyShare;
    log::v1::Decision* decision = tuples[i].mutable_decision();
    decision->set_decision_id(absl::StrCat("d", i));
    decision->set_model("default");
    decision->set_version(1);
    *decision->mutable_policy() = SharpModel().policy();
    decision->set_action_kind(log::v1::SELECT);
    decision->set_num_candidates(4);
    decision->set_num_features(2);
    decision->mutable_dense_values()->Resize(8, 0);
    decision->set_dense_values(0, 1);
    decision->set_dense_values(1, is_hard ? 1 : 0);
    decision->add_action(0);
    decision->set_log_propensity(-std::log1p(3 * std::exp(-kSharpness)));
    const double reward = is_hard ? kHardReward : kEasyReward;
    tuples[i].set_reward(random.Uniform() < reward ? 1 : 0);
    tuples[i].set_has_feedback(true);
  }
  return tuples;
}

double TrueReward(const model::v1::Model& model) {
  const double factor = model.policy().inverse_temperature();
  const auto takes_first = [&](double score) {
    const double first = 1 / (1 + 3 * std::exp(-factor * score));
    const double mixture = model.policy().uniform_mixture();
    return (1 - mixture) * first + mixture / 4;
  };
  return kEasyShare * kEasyReward * takes_first(model.weights(0)) +
         (1 - kEasyShare) * kHardReward *
             takes_first(model.weights(0) + model.weights(1));
}

class LeftLogTrainTest : public TrainFixture {
 protected:
  void SetUp() override {
    WriteSegment(dir_.Sub("tuples"), 0, SharpTuples(3000));
    ASSERT_OK(store_.Publish(SharpModel(), nullptr, {}));
    options_.set_tuples(dir_.Sub("tuples"));
    options_.set_model_store(dir_.Sub("models"));
    options_.set_uniform_mixture(0);
    options_.set_force(true);
    options_.mutable_poem()->set_objective(PoemOptions::SELF_NORMALISED);
    options_.mutable_poem()->set_optimiser(PoemOptions::BATCH);
    options_.mutable_poem()->set_start(PoemOptions::ZERO);
  }
};

// Without the guard, what is published takes the first candidate of hard
// queries with probability 0, and earns 0.18.
TEST_F(LeftLogTrainTest, WhatIsPublishedDoesNotDoWhatWasNeverLogged) {
  ASSERT_OK_AND_ASSIGN(const auto report, Train(options_));
  ASSERT_OK_AND_ASSIGN(const StoredModel learned,
                       store_.Load("default", report.version()));
  EXPECT_GT(TrueReward(learned.model), TrueReward(SharpModel()) - 0.01);
  const auto& evaluation = report.evaluation();
  ASSERT_GT(evaluation.findings_size(), 0);
  std::string kinds;
  for (const auto& finding : evaluation.findings()) {
    absl::StrAppend(&kinds, finding.kind(), "\n");
  }
  EXPECT_THAT(kinds, HasSubstr("left_the_log"));
  bool has_crm = false;
  bool has_self_normalised = false;
  for (const auto& point : evaluation.grid()) {
    has_crm |= point.objective() == "CRM";
    has_self_normalised |= point.objective() == "SELF_NORMALISED";
    if (point.chosen()) {
      EXPECT_EQ(point.objective(), "CRM");
    }
  }
  EXPECT_TRUE(has_crm);
  EXPECT_TRUE(has_self_normalised);
}

}  // namespace
}  // namespace sortition
