#include "server/decisions/report_service.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/server/server_fixture.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class ReportServiceTest : public testing::Test {
 protected:
  ReportServiceTest() {
    spool_options_.set_dir(directory_ / "spool");
    spool_options_.set_segment_bytes(65536);
    limits_.set_max_candidates(5);
    limits_.set_max_feedback_batch(3);
  }

  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(spool_, SpoolWriter::Open(spool_options_, ""));
    service_ = std::make_unique<ReportService>(limits_, rewards_, spool_.get(),
                                               &metrics_);
  }

  std::vector<log::v1::LogRecord> Logged() {
    EXPECT_OK(spool_->Close());
    return ReadSpool(spool_options_.dir());
  }

  const TempDir directory_;
  config::v1::SpoolOptions spool_options_;
  config::v1::RequestLimits limits_;
  config::v1::FeedbackLimits rewards_;
  Metrics metrics_;
  std::unique_ptr<SpoolWriter> spool_;
  std::unique_ptr<ReportService> service_;
  DecisionScratch scratch_;
};

TEST_F(ReportServiceTest, ReportsAreLogged) {
  v1::ReportShownRequest shown;
  shown.set_decision_id("d-1");
  shown.add_shown(2);
  shown.add_shown(0);
  v1::ReportShownResponse shown_response;
  ASSERT_OK(service_->ReportShown(shown, &scratch_, &shown_response));
  v1::ReportFeedbackRequest feedback;
  v1::Feedback& first = *feedback.add_feedback();
  first.set_feedback_id("f-1");
  first.set_decision_id("d-1");
  first.set_reward(0.5);
  first.set_rank(1);
  v1::Feedback& second = *feedback.add_feedback();
  second.set_feedback_id("f-2");
  second.set_decision_id("d-1");
  second.set_loss(0.25);
  second.set_index(4);
  v1::ReportFeedbackResponse response;
  ASSERT_OK(service_->ReportFeedback(feedback, &scratch_, &response));
  EXPECT_EQ(response.accepted(), 2u);
  EXPECT_EQ(metrics_.Counter("sortition_feedback_total", "")->value(), 2);

  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(3));
  EXPECT_EQ(records[0].shown().decision_id(), "d-1");
  EXPECT_THAT(records[0].shown().shown(), ElementsAre(2, 0));
  EXPECT_EQ(records[1].feedback().feedback_id(), "f-1");
  EXPECT_EQ(records[1].feedback().reward(), 0.5);
  EXPECT_EQ(records[1].feedback().rank(), 1u);
  EXPECT_EQ(records[2].feedback().reward(), -0.25);  // reward = -loss
  EXPECT_FALSE(records[2].feedback().has_rank());
  EXPECT_FALSE(records[1].feedback().has_index());
  EXPECT_EQ(records[2].feedback().index(), 4u);
}

TEST_F(ReportServiceTest, BadReportsOfWhatWasShownAreRefused) {
  v1::ReportShownRequest good;
  good.set_decision_id("d");
  good.add_shown(1);
  const auto refused = [&](const v1::ReportShownRequest& request,
                           const std::string& words) {
    v1::ReportShownResponse response;
    EXPECT_THAT(service_->ReportShown(request, &scratch_, &response),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  auto request = good;
  request.clear_decision_id();
  refused(request, "decision_id = \"\": must have 1 to 128 bytes");
  request = good;
  request.clear_shown();
  refused(request, "shown is empty: must list the document indexes");
  request = good;
  request.set_not_shown(true);
  refused(request, "shown has 1 entries: must have none where not_shown");
  request = good;
  request.add_shown(5);
  refused(request, "shown[1] = 5: must be in [0, 4]");
  request = good;
  request.add_shown(1);
  refused(request, "document_index 1 more than once");
  for (int i = 0; i < 5; ++i) request.add_shown(0);
  refused(request, "shown has 7 entries: must have at most 5");
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(ReportServiceTest, PagesAndViewportsAreLogged) {
  v1::ReportShownRequest page;
  page.set_decision_id("d");
  for (const uint32_t i : {4, 0}) page.add_shown(i);
  page.set_first_rank(3);  // The last two of five ranks.
  page.set_seen_ranks(5);
  v1::ReportShownRequest viewport;
  viewport.set_decision_id("d");
  viewport.set_seen_ranks(1);
  v1::ReportShownResponse response;
  ASSERT_OK(service_->ReportShown(page, &scratch_, &response));
  ASSERT_OK(service_->ReportShown(viewport, &scratch_, &response));
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_THAT(records[0].shown().shown(), ElementsAre(4, 0));
  EXPECT_EQ(records[0].shown().first_rank(), 3u);
  EXPECT_EQ(records[0].shown().seen_ranks(), 5u);
  EXPECT_THAT(records[1].shown().shown(), IsEmpty());
  EXPECT_FALSE(records[1].shown().not_shown());
  EXPECT_TRUE(records[1].shown().has_seen_ranks());
  EXPECT_EQ(records[1].shown().seen_ranks(), 1u);
}

// Records of a thread are used again: what one report does not say must not be
// that of the report before.
TEST_F(ReportServiceTest, WhatIsNotKnownIsNotLogged) {
  v1::ReportShownRequest page;
  page.set_decision_id("d");
  page.add_shown(1);
  page.set_first_rank(2);
  page.set_seen_ranks(3);
  v1::ReportShownResponse response;
  ASSERT_OK(service_->ReportShown(page, &scratch_, &response));
  page.clear_first_rank();
  page.clear_seen_ranks();
  ASSERT_OK(service_->ReportShown(page, &scratch_, &response));
  const auto records = Logged();
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[1].shown().first_rank(), 0u);
  EXPECT_FALSE(records[1].shown().has_seen_ranks());
}

TEST_F(ReportServiceTest, BadPagesAndViewportsAreRefused) {
  v1::ReportShownRequest good;
  good.set_decision_id("d");
  for (const uint32_t i : {1, 2}) good.add_shown(i);
  const auto refused = [&](const v1::ReportShownRequest& request,
                           const std::string& words) {
    v1::ReportShownResponse response;
    EXPECT_THAT(service_->ReportShown(request, &scratch_, &response),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(words)));
  };
  auto request = good;
  request.set_first_rank(4);
  refused(request,
          "first_rank = 4: must be in [0, 3] where shown has 2 entries");
  request.set_first_rank(std::numeric_limits<uint32_t>::max());
  refused(request, "first_rank = 4294967295: must be in [0, 3]");
  request.clear_shown();
  request.set_first_rank(1);
  refused(request, "first_rank = 1: must be 0 where shown has no entries");
  request.set_seen_ranks(2);
  refused(request, "first_rank = 1: must be 0 where shown has no entries");
  request.set_not_shown(true);
  refused(request, "first_rank = 1: must be 0 where shown has no entries");
  request.clear_first_rank();
  refused(request, "seen_ranks = 2: must be unset where not_shown is true");
  request = good;
  request.set_seen_ranks(0);
  refused(request, "seen_ranks = 0: must be in [1, 5]");
  request.set_seen_ranks(6);
  refused(request, "seen_ranks = 6: must be in [1, 5]");
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(ReportServiceTest, BadFeedbackIsRefusedWithItsWholeBatch) {
  v1::Feedback good;
  good.set_feedback_id("f");
  good.set_decision_id("d");
  good.set_reward(1);
  const auto refused = [&](const v1::Feedback& second,
                           const std::string& words) {
    v1::ReportFeedbackRequest request;
    *request.add_feedback() = good;
    *request.add_feedback() = second;
    v1::ReportFeedbackResponse response;
    EXPECT_THAT(service_->ReportFeedback(request, &scratch_, &response),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("feedback[1]: "), HasSubstr(words))));
  };
  auto bad = good;
  bad.clear_feedback_id();
  refused(bad, "feedback_id = \"\": must have 1 to 128 bytes");
  bad = good;
  bad.set_decision_id(std::string(200, 'x'));
  refused(bad, "decision_id");
  bad = good;
  bad.clear_value();
  refused(bad, "reward and loss are unset: one of them must be");
  bad = good;
  bad.set_reward(kNan);
  refused(bad, "reward = nan: must be finite");
  bad = good;
  bad.set_loss(-kInfinity);
  refused(bad, "loss = -inf: must be finite");
  bad = good;
  bad.set_rank(5);
  refused(bad, "rank = 5: must be in [0, 4]");
  bad = good;
  bad.set_index(5);
  refused(bad, "index = 5: must be in [0, 4]");
  bad.set_index(3);
  bad.set_rank(0);
  refused(bad, "rank = 0: must be unset where index is set, which is 3");

  v1::ReportFeedbackRequest batch;
  v1::ReportFeedbackResponse response;
  EXPECT_THAT(service_->ReportFeedback(batch, &scratch_, &response),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("feedback has 0 entries: must have 1 to 3")));
  for (int i = 0; i < 4; ++i) *batch.add_feedback() = good;
  EXPECT_THAT(service_->ReportFeedback(batch, &scratch_, &response),
              StatusIs(StatusCode::kInvalidArgument,
                       HasSubstr("feedback has 4 entries: must have 1 to 3")));
  EXPECT_THAT(Logged(), IsEmpty());
}

class RewardRangeTest : public ReportServiceTest {
 protected:
  RewardRangeTest() {
    rewards_.set_reward_min(0);
    rewards_.set_reward_max(1);
  }

  absl::Status Report(const v1::Feedback& feedback) {
    v1::ReportFeedbackRequest request;
    *request.add_feedback() = feedback;
    v1::ReportFeedbackResponse response;
    return service_->ReportFeedback(request, &scratch_, &response);
  }
  absl::Status Reward(double reward) {
    v1::Feedback feedback = Good();
    feedback.set_reward(reward);
    return Report(feedback);
  }
  absl::Status Loss(double loss) {
    v1::Feedback feedback = Good();
    feedback.set_loss(loss);
    return Report(feedback);
  }

 private:
  static v1::Feedback Good() {
    v1::Feedback feedback;
    feedback.set_feedback_id("f");
    feedback.set_decision_id("d");
    return feedback;
  }
};

TEST_F(RewardRangeTest, TheEndsAreTaken) {
  EXPECT_OK(Reward(0));
  EXPECT_OK(Reward(1));
  EXPECT_OK(Loss(0));
  EXPECT_OK(Loss(-1));
  EXPECT_THAT(Logged(), SizeIs(4));
}

// Rewards of [0, 1] are losses of [-1, 0].
TEST_F(RewardRangeTest, BeyondThemIsRefusedWithFieldValueAndRange) {
  EXPECT_THAT(Reward(1.5),
              StatusIs(StatusCode::kInvalidArgument,
                       "feedback[0]: reward = 1.5: must be in [0, 1] (server "
                       "options feedback.reward_min and feedback.reward_max)"));
  EXPECT_THAT(Reward(-0.25), StatusIs(StatusCode::kInvalidArgument,
                                      HasSubstr("reward = -0.25: ")));
  EXPECT_THAT(Loss(0.5), StatusIs(StatusCode::kInvalidArgument,
                                  HasSubstr("loss = 0.5: must be in [-1, 0]")));
  EXPECT_THAT(Loss(-1.5), StatusIs(StatusCode::kInvalidArgument,
                                   HasSubstr("loss = -1.5: ")));
  EXPECT_THAT(Logged(), IsEmpty());
}

TEST_F(ReportServiceTest, AnyRewardOfUseIsTakenByDefault) {
  v1::ReportFeedbackRequest request;
  v1::Feedback& feedback = *request.add_feedback();
  feedback.set_feedback_id("f");
  feedback.set_decision_id("d");
  v1::ReportFeedbackResponse response;
  for (const double reward : {-1e300, -1e12, 1e12, 1e300}) {
    feedback.set_reward(reward);
    EXPECT_OK(service_->ReportFeedback(request, &scratch_, &response));
  }
}

TEST_F(ReportServiceTest, TakesNoReportsWithoutASpool) {
  ReportService service(limits_, rewards_, nullptr, &metrics_);
  v1::ReportShownRequest shown;
  shown.set_decision_id("d");
  shown.set_not_shown(true);
  v1::ReportShownResponse response;
  EXPECT_THAT(service.ReportShown(shown, &scratch_, &response),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("spool.dir is empty")));
}

TEST_F(ReportServiceTest, DoesNotAcceptWhatTheSpoolRefuses) {
  ASSERT_OK(spool_->Close());
  v1::ReportShownRequest shown;
  shown.set_decision_id("d");
  shown.set_not_shown(true);
  v1::ReportShownResponse response;
  EXPECT_THAT(service_->ReportShown(shown, &scratch_, &response),
              StatusIs(StatusCode::kUnavailable, HasSubstr("not logged")));
}

}  // namespace
}  // namespace sortition
