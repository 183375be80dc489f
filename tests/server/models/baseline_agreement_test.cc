#include "server/models/baseline_agreement.h"

#include <cmath>

#include "gtest/gtest.h"

namespace sortition {
namespace {

constexpr int64_t kMinuteUs = 60'000'000;
constexpr int64_t kNoonUs = 1'700'000'000 * int64_t{1'000'000};

class BaselineAgreementTest : public testing::Test {
 protected:
  double Counted(const std::string& name) {
    return metrics_
        .Counter("sortition_baseline_" + name + "_total", "",
                 {{"model", "m"}, {"mode", "APPRENTICE"}})
        ->value();
  }

  Metrics metrics_;
  BaselineAgreement agreement_{&metrics_};
  const AgreementKey key_{"m", 7, model::v1::APPRENTICE};
};

TEST_F(BaselineAgreementTest, SumsTheLastHour) {
  agreement_.CountAsked(key_, std::log(0.5), true, kNoonUs);
  agreement_.CountAsked(key_, std::log(0.25), false, kNoonUs + kMinuteUs);
  agreement_.CountAsked(key_, -HUGE_VAL, std::nullopt, kNoonUs + kMinuteUs);
  AgreementSums sums = agreement_.LastHour(key_, kNoonUs + kMinuteUs);
  EXPECT_EQ(sums.asked, 3u);
  EXPECT_DOUBLE_EQ(sums.propensity_sum, 0.75);
  EXPECT_EQ(sums.modes, 2u);
  EXPECT_EQ(sums.agreements, 1u);
  // The first minute has left the window.
  sums = agreement_.LastHour(key_, kNoonUs + 60 * kMinuteUs);
  EXPECT_EQ(sums.asked, 2u);
  EXPECT_EQ(sums.agreements, 0u);
  EXPECT_EQ(agreement_.LastHour(key_, kNoonUs + 61 * kMinuteUs).asked, 0u);
  // Its place is used again.
  agreement_.CountAsked(key_, 0, true, kNoonUs + 60 * kMinuteUs);
  EXPECT_EQ(agreement_.LastHour(key_, kNoonUs + 60 * kMinuteUs).asked, 3u);
}

TEST_F(BaselineAgreementTest, TellsVersionsAndModesApart) {
  agreement_.CountAsked(key_, 0, true, kNoonUs);
  AgreementKey other = key_;
  other.version = 8;
  EXPECT_EQ(agreement_.LastHour(other, kNoonUs).asked, 0u);
  other = key_;
  other.mode = model::v1::SHADOW;
  EXPECT_EQ(agreement_.LastHour(other, kNoonUs).asked, 0u);
  EXPECT_EQ(agreement_.LastHour(key_, kNoonUs).asked, 1u);
}

TEST_F(BaselineAgreementTest, ItsCountersGiveRates) {
  agreement_.CountDecision("m", model::v1::APPRENTICE);
  agreement_.CountDecision("m", model::v1::APPRENTICE);
  agreement_.CountAsked(key_, std::log(0.5), true, kNoonUs);
  agreement_.CountAsked(key_, std::log(0.25), std::nullopt, kNoonUs);
  EXPECT_EQ(Counted("decisions"), 2);
  EXPECT_EQ(Counted("asked"), 2);
  EXPECT_DOUBLE_EQ(Counted("propensity"), 0.75);
  EXPECT_EQ(Counted("modes"), 1);
  EXPECT_EQ(Counted("agreements"), 1);
}

}  // namespace
}  // namespace sortition
