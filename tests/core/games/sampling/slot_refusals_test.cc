#include <cmath>
#include <string>

#include "core/games/sampling/slot_sampler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/core/games/sampling/slot_oracle.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;

TEST(SlotRefusalsTest, NameFieldValueAndRange) {
  const Lottery good = {{1, 0.5, 0}, {0.6, 0.6, 0.3}, {0, 1, 2}, {}};
  const auto message = [&](auto change) {
    Lottery lottery = good;
    SlotTargets extra;
    extra.num_shown = 2;
    change(&lottery, &extra);
    SlotTargets targets =
        lottery.Targets(SlotView::kList, extra.num_shown, extra.block_mixing);
    SlotSampler sampler;
    return std::string(sampler.Build(targets).message());
  };
  using L = Lottery*;
  using T = SlotTargets*;
  EXPECT_EQ(message([](L, T) {}), "");
  EXPECT_THAT(message([](L l, T) { *l = {}; }),
              HasSubstr("size of order is 0"));
  EXPECT_THAT(message([](L l, T) { l->expected.push_back(0); }),
              HasSubstr("size of expected_discounts is 4"));
  EXPECT_THAT(message([](L l, T) { l->order[1] = 0; }),
              HasSubstr("order[1] is 0"));
  EXPECT_THAT(message([](L l, T) {
                l->order = {2, 0, 1};
              }),
              HasSubstr("order[1] is 0"));
  EXPECT_THAT(message([](L l, T) { l->discounts[1] = 2; }),
              HasSubstr("discounts[1] is 2"));
  EXPECT_THAT(message([](L l, T) { l->discounts[0] = HUGE_VAL; }),
              HasSubstr("discounts[0] is inf"));
  EXPECT_THAT(message([](L l, T) { l->discounts[2] = -1; }),
              HasSubstr("discounts[2] is -1, must be in [0, 0.5]"));
  EXPECT_EQ(message([](L l, T) { l->discounts.pop_back(); }), "");
  EXPECT_THAT(message([](L l, T) { l->expected[2] = std::nan(""); }),
              HasSubstr("expected_discounts[2] is nan"));
  EXPECT_THAT(message([](L l, T) { l->expected[0] = 1.1; }),
              HasSubstr("sum of expected_discounts"));
  EXPECT_THAT(message([](L l, T) { l->expected[2] = 0.2; }),
              HasSubstr("sum of expected_discounts"));
  EXPECT_THAT(message([](L l, T) {
                l->block_begins = {0, 2};
              }),
              HasSubstr("sum of expected_discounts"));
  EXPECT_THAT(message([](L l, T) {
                l->block_begins = {0, 3};
              }),
              HasSubstr("block_begins[1] is 3"));
  EXPECT_THAT(message([](L, T t) { t->num_shown = 4; }),
              HasSubstr("num_shown is 4, must be in [1, 3]"));
  EXPECT_THAT(message([](L, T t) { t->num_shown = 0; }),
              HasSubstr("num_shown is 0"));
  EXPECT_THAT(message([](L, T t) { t->block_mixing = 1.5; }),
              HasSubstr("block_mixing is 1.5"));
}

}  // namespace
}  // namespace sortition
