// What shadows say, and what becomes of it.
#include "server/shadows/shadow_scorer.h"

#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/clocks.h"
#include "tests/server/shadows/shadows_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr uint64_t kQueueBytes = 1 << 20;
constexpr double kLong = 600;  // Seconds: longer than any test.

class ShadowScorerTest : public testing::Test {
 protected:
  ShadowScorerTest() {
    options_.set_dir(directory_ / "spool");
    options_.set_segment_bytes(1 << 20);
    for (int i = 0; i < 10; ++i) {
      values_.push_back(0.3f * static_cast<float>(i % 4));
    }
    query_.candidates = Candidates::DenseUnchecked(values_, 2);
    query_.eligible = kEligible;
  }

  void Open(uint64_t queue_bytes = kQueueBytes) {
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(options_, ""));
    scorer_ = std::make_unique<ShadowScorer>(queue_bytes, spool_.get(),
                                             &metrics_, &agreement_);
  }

  void Offer(const std::shared_ptr<const ServingSet>& set,
             const std::string& id, ActionKind kind, const Action& action) {
    scorer_->Offer({set, id, kind, query_, action});
  }

  std::vector<log::v1::ShadowView> Views() {
    scorer_->Stop(kLong);
    EXPECT_OK(spool_->Close());
    std::vector<log::v1::ShadowView> views;
    for (const log::v1::LogRecord& record : ReadSpool(options_.dir())) {
      EXPECT_TRUE(record.has_shadow_view()) << record.ShortDebugString();
      views.push_back(record.shadow_view());
    }
    return views;
  }

  double Counted(const std::string& name, uint64_t version) {
    return metrics_
        .Counter(name, "", {{"model", "m"}, {"version", absl::StrCat(version)}})
        ->value();
  }
  double Dropped() {
    return metrics_.Counter("sortition_shadow_dropped_total", "")->value();
  }

  static constexpr bool kEligible[] = {true, true, false, true, true};
  TempDir directory_;
  config::v1::SpoolOptions options_;
  Metrics metrics_;
  BaselineAgreement agreement_{&metrics_};
  std::vector<float> values_;
  PolicyQuery query_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<ShadowScorer> scorer_;
};

// The views are those of the policy itself, also after the request is gone.
TEST_F(ShadowScorerTest, SaysWhatItsPolicyThinksOfTheAction) {
  Open();
  const auto primary = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  const auto shadow = ServedVersion(2, MakeSelectModel("m", {-1, 0.5}));
  const auto set = SetWithShadows(primary, {{shadow, 1}, {primary, 1}});
  const int64_t begin_us = NowUs();
  for (const int32_t action : {0, 1, 3, 4}) {
    Offer(set, absl::StrCat("d", action), ActionKind::kSelect, {action});
  }
  const std::vector<float> values = values_;
  values_.assign(values_.size(), -77);
  const auto views = Views();
  ASSERT_EQ(views.size(), 8u);
  PolicyQuery query = query_;
  query.candidates = Candidates::DenseUnchecked(values, 2);
  PolicyWorkspace workspace;
  for (size_t i = 0; i < views.size(); ++i) {
    const auto& view = views[i];
    const auto& model = i % 2 == 0 ? shadow : primary;
    const int32_t action = std::vector<int32_t>{0, 1, 3, 4}[i / 2];
    EXPECT_EQ(view.decision_id(), absl::StrCat("d", action));
    EXPECT_EQ(view.model(), "m");
    EXPECT_EQ(view.version(), model->version);
    EXPECT_GE(view.time_us(), begin_us);
    const double expected =
        model->select->LogPropensity(query, Action{action}, &workspace);
    EXPECT_EQ(std::bit_cast<uint64_t>(view.log_propensity()),
              std::bit_cast<uint64_t>(expected));
    EXPECT_THAT(view.mode(),
                ElementsAreArray(model->select->Mode(query, &workspace)));
  }
  EXPECT_EQ(Counted("sortition_shadow_views_total", 2), 4);
  // Each candidate was served once, and one of them is its mode.
  EXPECT_EQ(Counted("sortition_shadow_agreements_total", 2), 1);
  EXPECT_EQ(Dropped(), 0);
}

TEST_F(ShadowScorerTest, JudgesTheRanksThatWereServed) {
  Open();
  const auto primary = ServedVersion(1, MakeRankModel("m", {1, 2}));
  const auto shadow = ServedVersion(2, MakeRankModel("m", {-1, 0.5}));
  const auto set = SetWithShadows(primary, {{shadow, 1}});
  query_.top_k = 9;  // More than there are; three were filled.
  Offer(set, "d", ActionKind::kRank, {4, 0, 3});
  const auto views = Views();
  ASSERT_EQ(views.size(), 1u);
  query_.top_k = 3;
  PolicyWorkspace workspace;
  EXPECT_EQ(views[0].log_propensity(),
            shadow->rank->LogPropensity(query_, Action{4, 0, 3}, &workspace));
  EXPECT_EQ(views[0].mode_size(), 3);
}

TEST_F(ShadowScorerTest, JudgesSubsetsAndSparseFeatures) {
  Open();
  model::v1::Model model = MakeModel("m", {1, 2});
  model.mutable_policy()->mutable_independent_subset();
  const auto primary = ServedVersion(1, model);
  const auto set = SetWithShadows(primary, {{primary, 1}});
  const std::vector<uint32_t> offsets = {0, 1, 1, 3, 4, 5};
  const std::vector<uint32_t> columns = {1, 0, 1, 0, 1};
  const std::vector<float> values = {1, 2, 3, 4, 0.5};
  query_.candidates = Candidates::SparseUnchecked(offsets, columns, values, 2);
  Offer(set, "any", ActionKind::kSubset, {0, 4});
  query_.top_k = 2;
  Offer(set, "two", ActionKind::kSubset, {0, 4});
  const auto views = Views();
  ASSERT_EQ(views.size(), 2u);
  PolicyWorkspace workspace;
  EXPECT_EQ(views[1].log_propensity(),
            primary->label->LogPropensity(query_, Action{0, 4}, &workspace));
  query_.top_k = 0;
  EXPECT_EQ(views[0].log_propensity(),
            primary->label->LogPropensity(query_, Action{0, 4}, &workspace));
  EXPECT_NE(views[0].log_propensity(), views[1].log_propensity());
}

// It would never have abstained.
TEST_F(ShadowScorerTest, WhatAShadowWouldNeverDoHasMinusInfinity) {
  Open();
  model::v1::Model abstains = MakeSelectModel("m", {1, 2});
  abstains.mutable_policy()->mutable_softmax_selection()->set_abstain_score(0);
  const auto primary = ServedVersion(1, abstains);
  const auto shadow = ServedVersion(2, MakeSelectModel("m", {1, 2}));
  Offer(SetWithShadows(primary, {{shadow, 1}}), "d", ActionKind::kSelect,
        {kAbstain});
  const auto views = Views();
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].log_propensity(), -HUGE_VAL);
}

TEST_F(ShadowScorerTest, DropsAndCountsWhatHasNoRoom) {
  Open(/*queue_bytes=*/2000);
  const auto primary = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  const auto set = SetWithShadows(primary, {{primary, 1}});
  const std::vector<float> many(2000, 1.0f);
  query_.candidates = Candidates::DenseUnchecked(many, 2);
  query_.eligible = {};
  Offer(set, "too large", ActionKind::kSelect, {0});
  EXPECT_EQ(Dropped(), 1);
  query_.candidates = Candidates::DenseUnchecked(values_, 2);
  Offer(set, "small", ActionKind::kSelect, {0});
  const auto views = Views();
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].decision_id(), "small");
}

// What is offered is logged or counted, whenever the end comes.
TEST_F(ShadowScorerTest, StopsAtOnceAndCountsWhatIsLeft) {
  Open();
  const auto primary = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  const auto set = SetWithShadows(primary, {{primary, 1}});
  constexpr int kOffered = 1000;
  for (int i = 0; i < kOffered; ++i) {
    Offer(set, absl::StrCat("d", i), ActionKind::kSelect, {0});
  }
  scorer_->Stop(0);
  Offer(set, "late", ActionKind::kSelect, {0});
  EXPECT_EQ(static_cast<double>(Views().size()) + Dropped(), kOffered + 1);
  EXPECT_GE(Dropped(), 1);
}

// The log goes on without them, and says nothing of it.
TEST_F(ShadowScorerTest, AFullLogTakesNoViews) {
  options_.set_segment_bytes(65536);
  options_.set_max_bytes(131072);
  options_.set_when_full(config::v1::SpoolOptions::COUNT);
  Open();
  log::v1::Decision decision;
  decision.set_decision_id("d");
  const std::vector<float> features(20'000, 1.0f);  // 80,000 bytes.
  ASSERT_OK(spool_->AppendDecision(decision, features));
  const auto primary = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  Offer(SetWithShadows(primary, {{primary, 1}}), "d", ActionKind::kSelect, {0});
  scorer_->Stop(kLong);
  EXPECT_EQ(Dropped(), 1);
  ASSERT_OK(spool_->AppendDecision(decision, {}));
  EXPECT_EQ(spool_->stats().lost, 0u);
  ASSERT_OK(spool_->Close());
  std::map<log::v1::LogRecord::RecordCase, int> records;
  for (const auto& record : ReadSpool(options_.dir())) {
    ++records[record.record_case()];
  }
  EXPECT_THAT(records,
              ElementsAre(testing::Pair(log::v1::LogRecord::kDecision, 2)));
}

TEST_F(ShadowScorerTest, TheViewsOfAModelInShadowModeAreItsAgreement) {
  Open();
  const auto primary = ServedVersion(1, MakeSelectModel("m", {1, 2}));
  const auto other = ServedVersion(2, MakeSelectModel("m", {2, 1}));
  auto set = std::make_shared<ServingSet>(
      *SetWithShadows(primary, {{primary, 1}, {other, 1}}));
  set->serving.set_mode(model::v1::SHADOW);
  double propensities = 0;
  PolicyWorkspace workspace;
  for (const int32_t action : {0, 1, 3, 4}) {
    Offer(set, absl::StrCat("d", action), ActionKind::kSelect, {action});
    propensities += std::exp(
        primary->select->LogPropensity(query_, Action{action}, &workspace));
  }
  scorer_->Stop(kLong);
  const AgreementSums sums =
      agreement_.LastHour({"m", 1, model::v1::SHADOW}, NowUs());
  EXPECT_EQ(sums.asked, 4u);
  EXPECT_EQ(sums.modes, 4u);
  EXPECT_EQ(sums.agreements, 1u);
  // All actions that there are.
  EXPECT_NEAR(sums.propensity_sum, 1, 1e-12);
  EXPECT_NEAR(propensities, 1, 1e-12);
  EXPECT_EQ(agreement_.LastHour({"m", 2, model::v1::SHADOW}, NowUs()).asked,
            0u);
}

}  // namespace
}  // namespace sortition
