#include "server/status/metric_window.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using testing::IsEmpty;

constexpr char kCompared[] = "sortition_requests_total";

MetricSamples Of(double value) {
  MetricSamples samples;
  samples[kCompared] = {
      {.labels = {}, .value = value, .bounds = {}, .counts = {}}};
  samples["another"] = samples[kCompared];
  return samples;
}

TEST(MetricWindowTest, HasNothingAtTheStart) {
  const MetricWindow window;
  EXPECT_TRUE(window.is_empty());
  EXPECT_THAT(*window.Minute(5).samples, IsEmpty());
  EXPECT_EQ(window.Minute(5).seconds, 1);
  EXPECT_THAT(*window.Last(5).samples, IsEmpty());
}

TEST(MetricWindowTest, GoesBackAMinuteAndKeepsWhatIsCompared) {
  MetricWindow window;
  for (int i = 0; i <= 100; ++i) {
    window.Add(5'000'000 * i, Of(1 + i));
    const int64_t now = 5'000'000 * i + 1'000'000;
    const MetricWindow::Before minute = window.Minute(now);
    // 60 s before the last sample is the twelfth before it.
    EXPECT_EQ(minute.samples->at(kCompared).at(0).value,
              1 + std::max(0, i - 12));
    EXPECT_DOUBLE_EQ(minute.seconds, 5 * std::min(i, 12) + 1);
    EXPECT_EQ(window.Last(now).samples->at(kCompared).at(0).value, 1 + i);
    EXPECT_DOUBLE_EQ(window.Last(now).seconds, 1);
    EXPECT_EQ(minute.samples->size(), 1u);
  }
}

TEST(MetricWindowTest, KeepsNoCounterThatIsZero) {
  MetricWindow window;
  window.Add(1, Of(0));
  EXPECT_THAT(window.Last(2).samples->at(kCompared), IsEmpty());
}

TEST(MetricWindowTest, NoTimeIsNotDividedBy) {
  MetricWindow window;
  window.Add(7, Of(1));
  EXPECT_GT(window.Last(7).seconds, 0);
}

}  // namespace
}  // namespace sortition
