// Aggregate: one order from several score lists.
#include "server/decisions/aggregate_service.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/aggregation/aggregate.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::DoubleEq;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class AggregateServiceTest : public testing::Test {
 protected:
  AggregateServiceTest() {
    spool_options_.set_dir(directory_ / "spool");
    spool_options_.set_segment_bytes(1 << 22);
  }

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(spool_options_, ""));
    service_ =
        std::make_unique<AggregateService>(limits_, spool_.get(), &metrics_);
  }

  // Three candidates by two sources; scaled to [0, 1] they are (0, 1), (1, 0)
  // and (1/2, 3/4).
  static v1::AggregateRequest Request() {
    v1::AggregateRequest request;
    request.mutable_context()->set_decision_id("d");
    SetDense(2, {0, 4, 2, 0, 1, 3}, request.mutable_context());
    return request;
  }

  absl::Status Aggregate(const v1::AggregateRequest& request) {
    return service_->Aggregate(request, &scratch_, &response_);
  }

  std::vector<log::v1::LogRecord> Logged() {
    EXPECT_OK(spool_->Close());
    return ReadSpool(spool_options_.dir());
  }

  TempDir directory_;
  config::v1::RequestLimits limits_;
  config::v1::SpoolOptions spool_options_;
  Metrics metrics_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<AggregateService> service_;
  DecisionScratch scratch_;
  v1::AggregateResponse response_;
};

// The means are 1/2, 1/2 and 5/8; ties go to the first candidate.
TEST_F(AggregateServiceTest, AnswersTheOrderOfTheMeanAndLogsIt) {
  v1::AggregateRequest request = Request();
  request.mutable_context()->set_return_scores(true);
  ASSERT_OK(Aggregate(request));
  EXPECT_THAT(response_.order(), ElementsAre(2, 0, 1));
  EXPECT_EQ(response_.result().log_propensity(), 0);
  EXPECT_EQ(response_.result().model().name(), "aggregate");
  EXPECT_EQ(response_.result().model().version(), 0u);
  EXPECT_THAT(response_.result().scores(),
              ElementsAre(DoubleEq(0.5), DoubleEq(0.5), DoubleEq(0.625)));
  // The differences of the three pairs are 1/8, 1/8 and 0.
  EXPECT_DOUBLE_EQ(response_.total_variation(), 0.25 / 3);
  // For DCG, source 0 has the scores 1, 1/2, 0 in its best order and 1/2, 0, 1
  // in the answered one; source 1 has 1, 3/4, 0 and 3/4, 1, 0.
  const double second = 1 / std::log2(3.0);
  EXPECT_THAT(response_.divergences(),
              ElementsAre(DoubleEq(0.5 + second / 2 - 0.5),
                          testing::DoubleNear(0.25 - second / 4, 1e-15)));
  EXPECT_THAT(response_.pairs(), SizeIs(0));
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(1));
  const log::v1::Decision& decision = records[0].decision();
  EXPECT_EQ(decision.decision_id(), "d");
  EXPECT_EQ(decision.model(), "aggregate");
  EXPECT_EQ(decision.action_kind(), log::v1::RANK);
  EXPECT_TRUE(decision.has_aggregation());
  EXPECT_FALSE(decision.has_policy());
  EXPECT_THAT(decision.action(), ElementsAre(2, 0, 1));
  EXPECT_THAT(decision.dense_values(), ElementsAre(0, 4, 2, 0, 1, 3));
  EXPECT_EQ(decision.num_features(), 2u);
}

// With all weight on source 1 the order is 0, 2, 1.
TEST_F(AggregateServiceTest, WeightsAndMaskDecideWhatCounts) {
  v1::AggregateRequest request = Request();
  request.mutable_aggregation()->add_weights(0);
  request.mutable_aggregation()->add_weights(7);
  ASSERT_OK(Aggregate(request));
  EXPECT_THAT(response_.order(), ElementsAre(0, 2, 1));
  for (const bool eligible : {false, true, true}) {
    request.mutable_context()->add_eligible(eligible);
  }
  request.set_top_k(3);
  ASSERT_OK(Aggregate(request));
  EXPECT_THAT(response_.order(), ElementsAre(2, 1));
  EXPECT_THAT(response_.result().degraded(), HasSubstr("top_k = 3 cut to 2"));
}

TEST_F(AggregateServiceTest, UnitIsLoggedAndChangesNoDraw) {
  v1::AggregateRequest request = Request();
  request.set_concentration(2);
  for (int i = 0; i < 20; ++i) {
    request.mutable_context()->set_decision_id(absl::StrCat("unit-", i));
    request.mutable_context()->clear_unit_id();
    ASSERT_OK(Aggregate(request));
    const std::string answer = response_.SerializeAsString();
    request.mutable_context()->set_unit_id("user-1");
    ASSERT_OK(Aggregate(request));
    EXPECT_EQ(response_.SerializeAsString(), answer);
  }
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(40));
  EXPECT_EQ(records[0].decision().unit_id(), "");
  EXPECT_EQ(records[1].decision().unit_id(), "user-1");
}

TEST_F(AggregateServiceTest, DrawsByItsIdWithTheProbabilityThatItSays) {
  v1::AggregateRequest request = Request();
  request.set_concentration(2);
  request.set_divergence(v1::AggregateRequest::ALL_PAIRS);
  request.set_uniform_mixture(0.1);
  // The six orders have p(σ) ∝ exp(2 Σ_r (2 - 2 r) mean), mixed with 0.1 / 6.
  const double mean[] = {0.5, 0.5, 0.625};
  const auto weight = [&](const auto& order) {
    return std::exp(2 * (2 * mean[order[0]] - 2 * mean[order[2]]));
  };
  std::vector<int> order = {0, 1, 2};
  double sum = 0;
  do {
    sum += weight(order);
  } while (std::next_permutation(order.begin(), order.end()));
  std::set<std::vector<uint32_t>> seen;
  for (int i = 0; i < 200; ++i) {
    request.mutable_context()->set_decision_id(absl::StrCat("d", i));
    ASSERT_OK(Aggregate(request));
    const v1::AggregateResponse first = response_;
    ASSERT_OK(Aggregate(request));
    EXPECT_EQ(first.SerializeAsString(), response_.SerializeAsString());
    EXPECT_NEAR(std::exp(first.result().log_propensity()),
                0.9 * weight(first.order()) / sum + 0.1 / 6, 1e-12);
    seen.insert({first.order().begin(), first.order().end()});
  }
  EXPECT_THAT(seen, SizeIs(6));
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(400));
  EXPECT_TRUE(records[0].decision().policy().has_boltzmann_ranking());
  EXPECT_EQ(records[0].decision().policy().uniform_mixture(), 0.1);
}

TEST_F(AggregateServiceTest, SaysHowSureTheOrderIs) {
  v1::AggregateRequest request = Request();
  request.set_bootstrap_samples(2000);
  request.set_confidence(0.5);
  ASSERT_OK(Aggregate(request));
  ASSERT_THAT(response_.pairs(), SizeIs(2));
  // Candidate 2 is above 0 by 1/2 in source 0 and by -1/4 in source 1.
  // Resamples hold both sources, or one twice: the difference is 1/8, 1/2 or
  // -1/4 with probability 1/2, 1/4 and 1/4.
  const v1::PairConfidence& pair = response_.pairs(0);
  EXPECT_EQ(pair.rank(), 0u);
  EXPECT_DOUBLE_EQ(pair.difference(), 0.125);
  EXPECT_NEAR(pair.support(), 0.75, 0.05);
  EXPECT_GE(pair.lower(), -0.25);
  EXPECT_LE(pair.upper(), 0.5);
}

TEST_F(AggregateServiceTest, RefusesBadRequestsByFieldAndLogsNothing) {
  const auto refuses =
      [this](const std::function<void(v1::AggregateRequest*)>& spoil,
             const std::string& what) {
        v1::AggregateRequest request = Request();
        spoil(&request);
        EXPECT_THAT(Aggregate(request),
                    StatusIs(StatusCode::kInvalidArgument, HasSubstr(what)));
      };
  using Spoilt = v1::AggregateRequest*;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  refuses(
      [](Spoilt r) {
        SetDense(2, {0, 1, 2}, r->mutable_context());
      },
      "context.candidates.dense: ");
  refuses(
      [&](Spoilt r) {
        SetDense(2, {0, 1, 2, kNan}, r->mutable_context());
      },
      "(row 1, column 1) is nan, must be finite");
  refuses(
      [](Spoilt r) {
        SetDense(2, {0, 1}, r->mutable_context());
      },
      "1 of 1 is eligible: must be at least 2");
  refuses([](Spoilt r) { r->mutable_context()->clear_candidates(); },
          "context.candidates is empty");
  refuses([](Spoilt r) { SetDense(2, {}, r->mutable_context()); },
          "holds 0 candidates");
  refuses(
      [](Spoilt r) {
        auto* sparse =
            r->mutable_context()->mutable_candidates()->mutable_sparse();
        for (const uint32_t offset : {0, 0, 0}) sparse->add_row_offsets(offset);
      },
      "must be dense");
  refuses([](Spoilt r) { r->mutable_aggregation()->add_weights(1); },
          "aggregation.weights has 1 entries: must have 2");
  refuses(
      [](Spoilt r) {
        r->mutable_aggregation()->add_weights(1);
        r->mutable_aggregation()->add_weights(-1);
      },
      "aggregation.weights[1] = -1: must be in [0, 1e300]");
  refuses(
      [](Spoilt r) {
        r->mutable_aggregation()->add_weights(NAN);
        r->mutable_aggregation()->add_weights(1);
      },
      "aggregation.weights[0] = nan");
  refuses(
      [](Spoilt r) {
        r->mutable_aggregation()->add_weights(0);
        r->mutable_aggregation()->add_weights(0);
      },
      "aggregation.weights are all 0");
  refuses(
      [](Spoilt r) {
        r->mutable_aggregation()->set_scale(
            static_cast<v1::Aggregation::Scale>(9));
      },
      "aggregation.scale = 9: must be MIN_MAX, RANK or NONE");
  refuses([](Spoilt r) { r->set_top_k(0); }, "top_k = 0: must be at least 1");
  refuses([](Spoilt r) { r->set_cutoff(1'000'001); },
          "cutoff = 1000001: must be in [0, 1000000]");
  refuses([](Spoilt r) { r->set_divergence(v1::AggregateRequest::TOP); },
          "cutoff = 0: must be in [1, 1000000] for divergence TOP");
  refuses(
      [](Spoilt r) {
        r->set_divergence(static_cast<v1::AggregateRequest::Divergence>(7));
      },
      "divergence = 7");
  refuses([](Spoilt r) { r->set_concentration(0); },
          "concentration = 0: must be in (0, 1e+06]");
  refuses([](Spoilt r) { r->set_uniform_mixture(0.5); },
          "concentration is unset");
  refuses(
      [](Spoilt r) {
        r->set_concentration(1);
        r->set_uniform_mixture(2);
      },
      "uniform_mixture = 2: must be in [0, 1]");
  refuses(
      [](Spoilt r) {
        r->set_concentration(1);
        r->set_head(17);
      },
      "head = 17: must be in [0, 16]");
  refuses(
      [](Spoilt r) { r->set_bootstrap_samples(100'001); },
      "bootstrap_samples = 100001: must be in [0, 100000] for 2 sources and 2 "
      "pairs of neighbours (limits.max_aggregate_work = 20000000)");
  refuses([](Spoilt r) { r->set_confidence(1); }, "confidence = 1");
  refuses([](Spoilt r) { r->mutable_context()->set_version(1); },
          "context.version = 1: must be unset");
  refuses([](Spoilt r) { r->mutable_context()->set_return_game(true); },
          "context.return_game = true");
  refuses([](Spoilt r) { r->mutable_context()->set_model("a/b"); },
          "context.model");
  refuses(
      [](Spoilt r) {
        SetDense(1, {-3e38f, 3e38f}, r->mutable_context());
        r->mutable_aggregation()->set_scale(v1::Aggregation::NONE);
        r->set_concentration(1e6);
      },
      "log-propensity = -inf: must be finite");
  EXPECT_THAT(Logged(), SizeIs(0));
}

}  // namespace
}  // namespace sortition
