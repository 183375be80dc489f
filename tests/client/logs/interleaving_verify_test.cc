// Orders that two versions made together, recomputed.
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "client/logs/log_verify.h"
#include "core/choices/interleaving.h"
#include "gmock/gmock.h"
#include "tests/client/logs/log_fixture.h"

namespace sortition {
namespace {

using model::v1::Interleave;
using ::testing::HasSubstr;

class InterleavingVerifyTest : public LogFixture {
 protected:
  InterleavingVerifyTest() {
    serving_ = Publish(true);
    other_ = serving_;
    other_.clear_version();
    other_.set_weights(0, -2);
    other_.set_weights(1, 0.75);
    other_.mutable_policy()->set_uniform_mixture(0.25);
    const auto version = ModelStore(store()).Publish(other_, nullptr, {},
                                                     {.draw_salt = kDrawSalt});
    EXPECT_OK(version);
    other_.set_version(version.value_or(0));
    model::v1::Policy boltzmann;
    boltzmann.mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::DCG);
    boltzmann_ = Publish(boltzmann);
  }

  // Returns a decision that both versions made together, for all units.
  log::v1::Decision Interleaved(const std::string& id,
                                Interleaver::Method method,
                                bool is_seeded = false) {
    log::v1::Decision decision = Decide(serving_, true, id);
    if (is_seeded) decision.set_seed(5);
    log::v1::Interleaving& how = *decision.mutable_interleaving();
    how.set_other_version(other_.version());
    how.set_method(method);
    how.set_probability(1);
    how.set_salt(kDrawSalt);
    std::vector<LinearPolicy> linear;
    std::vector<Hash128> keys;
    for (const model::v1::Model* model : {&serving_, &other_}) {
      linear.push_back(*LinearPolicy::Create(
          model->policy(), {model->weights().begin(), model->weights().end()}));
      keys.push_back(
          is_seeded ? SeedKey(5, kDrawSalt)
                    : DecisionKey("orders", model->version(), id, kDrawSalt));
    }
    const auto interleaver =
        Interleaver::Create(method, {&linear[0], &serving_.policy()},
                            {&linear[1], &other_.policy()});
    EXPECT_OK(interleaver);
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked({decision.dense_values().data(), 8}, 2);
    query.eligible = {decision.eligible().data(), 4};
    query.top_k = decision.top_k();
    PolicyWorkspace first;
    PolicyWorkspace second;
    InterleavingScratch scratch;
    Draw draw;
    interleaver->Decide(query, InterleavingKey(keys[0], keys[1]),
                        {&first, &second}, &scratch, &draw);
    decision.mutable_action()->Assign(draw.action.begin(), draw.action.end());
    decision.set_log_propensity(draw.log_propensity);
    decision.mutable_conditional_log_propensities()->Assign(
        draw.conditional_log_propensities.begin(),
        draw.conditional_log_propensities.end());
    return decision;
  }

  std::string Difference(const log::v1::Decision& decision) {
    DecisionVerifier verifier{ModelStore(store())};
    const auto difference = verifier.Difference(decision);
    EXPECT_OK(difference);
    return difference.ok() ? difference->value_or("") : "error";
  }

  model::v1::Model serving_;
  model::v1::Model other_;
  model::v1::Model boltzmann_;
};

TEST_F(InterleavingVerifyTest, AcceptsWhatBothVersionsMade) {
  for (const auto method :
       {Interleave::TEAM_DRAFT, Interleave::PROBABILISTIC}) {
    for (int i = 0; i < 30; ++i) {
      EXPECT_EQ(Difference(Interleaved(absl::StrCat("d", i), method)), "");
    }
    EXPECT_EQ(Difference(Interleaved("seeded", method, true)), "");
  }
}

TEST_F(InterleavingVerifyTest, FindsOneBitAnywhere) {
  for (const auto method :
       {Interleave::TEAM_DRAFT, Interleave::PROBABILISTIC}) {
    const log::v1::Decision good = Interleaved("a", method);
    log::v1::Decision bad = good;
    bad.set_log_propensity(std::nextafter(good.log_propensity(), 0));
    EXPECT_THAT(Difference(bad), HasSubstr("log_propensity: expected"));
    for (int r = 0; r < 2; ++r) {
      bad = good;
      bad.set_conditional_log_propensities(
          r, std::nextafter(good.conditional_log_propensities(r), -1));
      EXPECT_THAT(Difference(bad),
                  HasSubstr(absl::StrCat("conditional_log_propensities[", r)));
    }
    bad = good;
    bad.mutable_action()->SwapElements(0, 1);
    EXPECT_THAT(Difference(bad), HasSubstr("action: expected ["));
    // That of the serving version alone is another one.
    bad = Decide(serving_, true, "a");
    *bad.mutable_interleaving() = good.interleaving();
    EXPECT_NE(Difference(bad), "");
    bad = good;
    bad.clear_interleaving();
    EXPECT_NE(Difference(bad), "");
  }
}

TEST_F(InterleavingVerifyTest, FindsWhatCannotBe) {
  const log::v1::Decision good = Interleaved("a", Interleave::TEAM_DRAFT);
  const uint32_t place = InterleavingPlace("orders", kDrawSalt, "", "a");
  const std::vector<
      std::pair<std::function<void(log::v1::Decision*)>, std::string>>
      cases = {
          {[&](auto* d) {
             d->mutable_interleaving()->set_other_version(serving_.version());
           },
           "interleaving.other_version: expected another version"},
          {[](auto* d) { d->mutable_interleaving()->set_other_version(0); },
           "interleaving.other_version: expected another version"},
          {[&](auto* d) {
             d->mutable_interleaving()->set_other_version(boltzmann_.version());
           },
           "cannot be recomputed: policy is boltzmann_ranking"},
          {[](auto* d) { d->mutable_interleaving()->clear_method(); },
           "cannot be recomputed: method is 0"},
          {[](auto* d) { d->mutable_interleaving()->set_probability(0); },
           "interleaving.probability: expected parts of 10000"},
          {[](auto* d) { d->mutable_interleaving()->set_probability(0.12345); },
           "interleaving.probability: expected parts of 10000"},
          // The share did not reach the unit's place.
          {[&](auto* d) {
             d->mutable_interleaving()->set_probability(place / 10000.0);
           },
           place == 0 ? "expected parts" : "by the unit's place"},
          {[](auto* d) { d->mutable_arm()->set_probability(1); },
           "interleaving: expected none beside arm"},
          {[](auto* d) { d->mutable_baseline()->set_mode(model::v1::OFF); },
           "interleaving: expected none beside baseline"}};
  for (const auto& [change, words] : cases) {
    log::v1::Decision bad = good;
    change(&bad);
    EXPECT_THAT(Difference(bad), HasSubstr(words));
  }
  // One place more, and the unit is among them.
  log::v1::Decision fitting = good;
  fitting.mutable_interleaving()->set_probability((place + 1) / 10000.0);
  EXPECT_EQ(Difference(fitting), "");
}

TEST_F(InterleavingVerifyTest, AMissingVersionIsAnError) {
  log::v1::Decision decision = Interleaved("a", Interleave::TEAM_DRAFT);
  decision.mutable_interleaving()->set_other_version(99);
  DecisionVerifier verifier{ModelStore(store())};
  EXPECT_FALSE(verifier.Difference(decision).ok());
}

}  // namespace
}  // namespace sortition
