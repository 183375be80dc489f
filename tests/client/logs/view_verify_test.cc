// Views of shadows, recomputed and counted.
#include <cmath>

#include "client/logs/decision_finder.h"
#include "client/logs/log_stats.h"
#include "core/choices/interleaving.h"
#include "tests/client/logs/log_fixture.h"

namespace sortition {
namespace {

using model::v1::Interleave;

class ViewVerifyTest : public LogFixture {
 protected:
  ViewVerifyTest() {
    served_ = Publish(false);
    model::v1::Policy policy;
    policy.mutable_softmax_selection();
    shadow_ = Publish(policy);
    orders_ = Publish(true);
    model::v1::Policy boltzmann;
    boltzmann.mutable_boltzmann_ranking()->set_rank_weights(
        model::v1::BoltzmannRanking::DCG);
    order_shadow_ = Publish(boltzmann);
  }

  // What `model` thinks of a decision of the fixture.
  static log::v1::ShadowView ViewOf(const model::v1::Model& model,
                                    const log::v1::Decision& decision) {
    const auto policy = model.version() == 0
                            ? LinearPolicy::Uniform(ActionKind::kSelect, false)
                            : LinearPolicy::Create(model).value();
    PolicyQuery query;
    query.candidates =
        Candidates::DenseUnchecked({decision.dense_values().data(), 8}, 2);
    query.eligible = {decision.eligible().data(), 4};
    query.top_k = decision.top_k();
    PolicyWorkspace workspace;
    log::v1::ShadowView view;
    view.set_decision_id(decision.decision_id());
    view.set_time_us(decision.time_us() + 5);
    view.set_model(decision.model());
    view.set_version(model.version());
    view.set_log_propensity(policy.LogPropensity(
        query,
        {decision.action().data(), static_cast<size_t>(decision.action_size())},
        &workspace));
    const Action mode = policy.Mode(query, &workspace);
    view.mutable_mode()->Assign(mode.begin(), mode.end());
    return view;
  }

  static log::v1::LogRecord Record(const log::v1::ShadowView& view) {
    log::v1::LogRecord record;
    *record.mutable_shadow_view() = view;
    return record;
  }

  // Returns what differs; "" where nothing does.
  std::string Difference(const log::v1::Decision& decision,
                         const log::v1::ShadowView& view) {
    return Text(
        DecisionVerifier(ModelStore(store())).ViewDifference(decision, view));
  }

  VerifyResult Verify() {
    DecisionVerifier verifier{ModelStore(store())};
    const auto result = VerifyLog({log()}, &verifier);
    EXPECT_OK(result);
    return result.value_or(VerifyResult());
  }

  model::v1::Model served_;
  model::v1::Model shadow_;
  model::v1::Model orders_;
  model::v1::Model order_shadow_;
};

TEST_F(ViewVerifyTest, AcceptsWhatShadowsThought) {
  model::v1::Model uniform;
  uniform.set_name("default");
  for (int i = 0; i < 50; ++i) {
    const std::string id = absl::StrCat("d", i);
    // The served policy abstains at times; the shadow never would.
    const log::v1::Decision picked = Decide(served_, false, id);
    for (const model::v1::Model* model : {&shadow_, &served_, &uniform}) {
      EXPECT_EQ(Difference(picked, ViewOf(*model, picked)), "");
    }
    const log::v1::Decision ordered = Decide(orders_, true, id);
    EXPECT_EQ(Difference(ordered, ViewOf(order_shadow_, ordered)), "");
  }
}

TEST_F(ViewVerifyTest, FindsOneBitAnywhere) {
  const log::v1::Decision decision = Decide(orders_, true, "a");
  const log::v1::ShadowView good = ViewOf(order_shadow_, decision);
  log::v1::ShadowView bad = good;
  bad.set_log_propensity(std::nextafter(good.log_propensity(), 0));
  EXPECT_THAT(
      Difference(decision, bad),
      HasSubstr(absl::StrCat("shadow view of version ", order_shadow_.version(),
                             ": log_propensity: expected")));
  bad = good;
  bad.mutable_mode()->SwapElements(0, 1);
  EXPECT_THAT(Difference(decision, bad), HasSubstr("mode: expected ["));
  bad = good;
  bad.mutable_mode()->RemoveLast();
  EXPECT_THAT(Difference(decision, bad), HasSubstr("mode: expected ["));
  bad = good;
  bad.set_version(orders_.version());
  EXPECT_NE(Difference(decision, bad), "");
  bad = good;
  bad.set_model("default");
  EXPECT_THAT(Difference(decision, bad), HasSubstr("model: expected orders"));
}

TEST_F(ViewVerifyTest, ViewsThatNoShadowCanHaveDiffer) {
  const log::v1::Decision decision = Decide(served_, false, "a");
  log::v1::ShadowView view = ViewOf(shadow_, decision);
  log::v1::Decision other = decision;
  other.set_model("orders");
  view.set_model("orders");
  view.set_version(order_shadow_.version());
  EXPECT_THAT(Difference(other, view), HasSubstr("another kind of action"));
}

TEST_F(ViewVerifyTest, VerifiesSpoolsAndTuples) {
  std::vector<log::v1::LogRecord> spool;
  std::vector<log::v1::LogRecord> tuples;
  for (int i = 0; i < 20; ++i) {
    const log::v1::Decision decision =
        Decide(served_, false, absl::StrCat("d", i));
    spool.push_back(Spool(decision));
    // Views come when other decisions have been made.
    if (i >= 5) {
      const log::v1::Decision before =
          Decide(served_, false, absl::StrCat("d", i - 5));
      spool.push_back(Record(ViewOf(shadow_, before)));
    }
    tuples.push_back(Tuple(decision, 1));
    *tuples.back().mutable_tuple()->add_shadow_views() =
        ViewOf(shadow_, decision);
  }
  spool.push_back(Record(ViewOf(shadow_, Decide(served_, false, "gone"))));
  const auto first = Write("1-w-0", 0, {spool.begin(), spool.begin() + 9});
  ASSERT_OK(first->Close());
  ASSERT_OK(Write("2-w-1", 9, {spool.begin() + 9, spool.end()})->Close());
  ASSERT_OK(Write("3-w-2", 100, tuples)->Close());
  const VerifyResult result = Verify();
  EXPECT_EQ(result.verified, 40u);
  EXPECT_EQ(result.views, 35u);
  EXPECT_EQ(result.lone_views, 1u);
  EXPECT_EQ(result.different, 0u);
}

TEST_F(ViewVerifyTest, NamesTheFirstThatDiffers) {
  const log::v1::Decision decision = Decide(served_, false, "a");
  log::v1::LogRecord tuple = Tuple(decision, 1);
  *tuple.mutable_tuple()->add_shadow_views() = ViewOf(served_, decision);
  *tuple.mutable_tuple()->add_shadow_views() = ViewOf(shadow_, decision);
  tuple.mutable_tuple()->mutable_shadow_views(1)->set_log_propensity(-1);
  ASSERT_OK(Write("1-w-0", 0, {tuple})->Close());
  const VerifyResult result = Verify();
  EXPECT_EQ(result.verified, 1u);
  EXPECT_EQ(result.views, 1u);
  EXPECT_EQ(result.different, 1u);
  EXPECT_EQ(result.first_decision_id, "a");
  EXPECT_THAT(result.first_difference, HasSubstr("logged -1"));
}

TEST_F(ViewVerifyTest, StatisticsCountThemByVersion) {
  std::vector<log::v1::LogRecord> records;
  double propensities = 0;
  uint64_t agreements = 0;
  for (int i = 0; i < 20; ++i) {
    const log::v1::Decision decision =
        Decide(served_, false, absl::StrCat("d", i));
    const log::v1::ShadowView view = ViewOf(shadow_, decision);
    propensities += std::exp(view.log_propensity());
    if (view.mode(0) == decision.action(0)) ++agreements;
    records.push_back(Tuple(decision, 1));
    *records.back().mutable_tuple()->add_shadow_views() = view;
  }
  records.push_back(Record(ViewOf(served_, Decide(served_, false, "d0"))));
  ASSERT_OK(Write("1-w-0", 0, records)->Close());
  ASSERT_OK_AND_ASSIGN(const LogStats stats, CollectLogStats({log()}));
  EXPECT_EQ(stats.shadow_views, 21u);
  const ShadowStats& shadow = stats.shadows.at({"default", shadow_.version()});
  EXPECT_EQ(shadow.views, 20u);
  EXPECT_EQ(shadow.in_tuples, 20u);
  EXPECT_EQ(shadow.agreements, agreements);
  EXPECT_GT(agreements, 0u);
  EXPECT_NEAR(shadow.propensity_sum, propensities, 1e-12);
  EXPECT_EQ(stats.shadows.at({"default", served_.version()}).in_tuples, 0u);
  EXPECT_THAT(LogStatsText(stats), HasSubstr("shadow of"));
  EXPECT_THAT(LogStatsJson(stats), HasSubstr("\"mode_agreement\":"));
}

TEST_F(ViewVerifyTest, TheFinderForgetsTheOldest) {
  std::vector<log::v1::LogRecord> records;
  for (int i = 0; i < 4; ++i) {
    records.push_back(Spool(Decide(served_, false, absl::StrCat("d", i))));
  }
  ASSERT_OK(Write("1-w-0", 0, records)->Close());
  DecisionFinder finder(/*most_remembered=*/3);
  const std::string path = log() + "/1-w-0.seg";
  finder.BeginSegment(path);
  auto reader = SegmentReader::Open(path);
  ASSERT_OK(reader);
  absl::string_view payload;
  uint64_t offset = 0;
  int found = -1;  // The header comes first.
  while (*(*reader)->Next(&payload, &offset) ==
         SegmentReader::Outcome::kRecord) {
    if (found >= 0 && found < 4) {
      finder.Note(absl::StrCat("d", found), offset);
    }
    ++found;
  }
  EXPECT_FALSE(finder.Find("d0").has_value());
  for (const char* id : {"d3", "d1", "d2"}) {
    const auto decision = finder.Find(id);
    ASSERT_TRUE(decision.has_value()) << id;
    EXPECT_EQ(decision->decision_id(), id);
  }
  EXPECT_FALSE(finder.Find("x").has_value());
}

// Orders that two versions made together, recomputed.

class InterleavingVerifyTest : public LogFixture {
 protected:
  InterleavingVerifyTest() {
    serving_ = Publish(true);
    other_ = serving_;
    other_.clear_version();
    other_.set_weights(0, -2);
    other_.set_weights(1, 0.75);
    other_.mutable_policy()->set_uniform_mixture(0.25);
    other_ = Publish(other_);
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
      linear.push_back(*LinearPolicy::Create(*model));
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
    SetDraw(draw, &decision);
    return decision;
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
