#pragma once
// A joiner that tests feed record by record, with times in seconds.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sidecar/join/joiner.h"

namespace sortition {

// Feeds a joiner with window 10 s and slack 1 s; every record has a new place.
class JoinerTest : public testing::Test {
 protected:
  static constexpr int64_t kSecond = 1000000;
  // A time after the epoch from which tests count seconds.
  static constexpr int64_t kBase = 1'700'000'000 * kSecond;

  JoinerTest() {
    options_.set_reward_wait_time_seconds(10);
    options_.set_slack_seconds(1);
    options_.set_default_reward(-7);
  }

  Joiner& joiner() {
    if (!joiner_.has_value()) joiner_.emplace(options_);
    return *joiner_;
  }
  SpoolPlace NextPlace() { return {segment_, offset_++}; }
  static int64_t At(double seconds) {
    return kBase + static_cast<int64_t>(seconds * kSecond);
  }

  void Decide(const std::string& id, double seconds, uint64_t answer = 1) {
    joiner().AddDecision(NextPlace(), id, At(seconds),
                         {.answer = answer, .num_candidates = num_candidates_});
    Collect();
  }
  void Feed(const std::string& feedback_id, const std::string& id,
            double seconds, double reward,
            std::optional<uint32_t> rank = std::nullopt) {
    log::v1::Feedback feedback;
    feedback.set_feedback_id(feedback_id);
    feedback.set_decision_id(id);
    feedback.set_time_us(At(seconds));
    feedback.set_reward(reward);
    if (rank.has_value()) feedback.set_rank(*rank);
    joiner().AddFeedback(NextPlace(), feedback);
    Collect();
  }
  // Decides to abstain.
  void Abstain(const std::string& id, double seconds) {
    joiner().AddDecision(
        NextPlace(), id, At(seconds),
        {.answer = 1, .num_candidates = num_candidates_, .is_empty = true});
    Collect();
  }
  void FeedIndex(const std::string& feedback_id, const std::string& id,
                 double seconds, double reward, uint32_t index) {
    log::v1::Feedback feedback;
    feedback.set_feedback_id(feedback_id);
    feedback.set_decision_id(id);
    feedback.set_time_us(At(seconds));
    feedback.set_reward(reward);
    feedback.set_index(index);
    joiner().AddFeedback(NextPlace(), feedback);
    Collect();
  }
  void Show(const std::string& id, double seconds, bool not_shown = false) {
    log::v1::Shown shown;
    shown.set_decision_id(id);
    shown.set_time_us(At(seconds));
    shown.set_not_shown(not_shown);
    joiner().AddShown(NextPlace(), shown);
    Collect();
  }
  void View(const std::string& id, double seconds, uint64_t version) {
    joiner().AddView(NextPlace(), id, At(seconds), version);
    Collect();
  }
  void Advance(double seconds) {
    joiner().AdvanceTo(At(seconds));
    Collect();
  }
  void Collect() {
    while (auto late = joiner().PopLate()) {
      log::v1::Feedback feedback;
      ASSERT_TRUE(feedback.ParseFromString(late->feedback));
      late_.push_back(feedback.feedback_id() + Suffix(late->reason));
    }
    while (auto closed = joiner().PopClosed()) {
      closed_.push_back(*std::move(closed));
    }
  }
  static std::string Suffix(log::v1::LateFeedback::Reason reason) {
    switch (reason) {
      case log::v1::LateFeedback::AFTER_WINDOW:
        return ":late";
      case log::v1::LateFeedback::OUT_OF_RANGE:
        return ":range";
      case log::v1::LateFeedback::NO_SUCH_CANDIDATE:
        return ":candidate";
      case log::v1::LateFeedback::TOO_MANY:
        return ":many";
      default:
        return ":unknown";
    }
  }
  std::vector<double> Rewards() const {
    std::vector<double> rewards;
    for (const ClosedDecision& closed : closed_) {
      rewards.push_back(closed.reward);
    }
    return rewards;
  }

  config::v1::JoinOptions options_;
  std::optional<Joiner> joiner_;
  uint32_t num_candidates_ = 20;  // Of Decide().
  uint32_t segment_ = 1;
  uint64_t offset_ = 100;
  std::vector<ClosedDecision> closed_;
  std::vector<std::string> late_;
};

}  // namespace sortition
