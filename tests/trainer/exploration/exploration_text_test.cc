#include "trainer/exploration/exploration_text.h"

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace sortition {
namespace {

using config::v1::ExplorationTable;
using testing::HasSubstr;

ExplorationTable ReadTable(const std::string& text) {
  ExplorationTable table;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &table));
  return table;
}

constexpr char kTable[] = R"(
  rows { exploration: "present"
         reward { value: 0.5 lower: 0.48 upper: 0.52 }
         effective_sample_size: 750
         cost { value: 0.0312 lower: 0.0212 upper: 0.0412 }
         first_differs: 0.25 order_differs: 0.75
         decisions: 12345 never_tells: false undominated: true }
  rows { exploration: "order by score"
         reward { value: 0.5312 lower: 0.4 upper: 0.6 }
         effective_sample_size: 120
         cost { value: 0 lower: 0 upper: 0 }
         first_differs: 0 order_differs: 0 never_tells: true }
  rows { exploration: "sorted:uniform=0.02"
         reward { value: 0.4 lower: 0.1 upper: 0.9 }
         effective_sample_size: 12.5 reservation: "too few"
         first_differs: 0.018 order_differs: 0.0199 never_tells: false }
  cost_reference: "order by score"
  target: "the same at alpha = 2"
  delta: 0.025 confidence: 0.95 power: 0.8 test_tuples: 750)";

TEST(ExplorationTextTest, ItsFormIsThis) {
  EXPECT_EQ(FormatExplorations(ReadTable(kTable)),
            R"(
Explorations of the same scores, on 750 test tuples:
  exploration            reward      95 % interval              cost eff. sample  1st moved  any moved   decisions
* present                0.5000   [0.4800, 0.5200]   0.0312 ± 0.0100       750.0    25.00 %    75.00 %       12345
  order by score         0.5312   [0.4000, 0.6000]   0.0000 ± 0.0000       120.0     0.00 %     0.00 %       never
  sorted:uniform=0.02    0.4000   [0.1000, 0.9000]                 ?        12.5     1.80 %     1.99 %           ?
Choose among the rows with a '*', by the largest cost that you accept: no other row both costs less and needs fewer decisions.
cost: reward below that of the order by score; self-normalised, paired by decision, ± 95 % by unit. ?: the log cannot support the row.
1st moved, any moved: expected share of decisions whose first rank, or any rank that counts, is not as in the order by score.
decisions: so many logged under this exploration tell a difference of 0.025 between the present policy and the same at alpha = 2 (confidence 95 %, power 80 %). never: it does too little of what they do differently. ?: too few tuples say.
)");
}

TEST(ExplorationTextTest, SaysWhatIsUnknown) {
  ExplorationTable table = ReadTable(kTable);
  table.set_cost_reference("present");
  table.set_problem("both do the same");
  const std::string text = FormatExplorations(table);
  EXPECT_THAT(text, HasSubstr("below that of the present policy, because the "
                              "log cannot support the order by score;"));
  EXPECT_THAT(text, HasSubstr("decisions: unknown, since the present policy is "
                              "compared with the same at alpha = 2: both do "
                              "the same\n"));
  table.mutable_rows()->DeleteSubrange(1, 1);
  EXPECT_THAT(FormatExplorations(table),
              HasSubstr("below that of the present policy; self-normalised"));
  table.clear_cost_reference();
  EXPECT_THAT(FormatExplorations(table), HasSubstr("cost: unknown, since"));
}

}  // namespace
}  // namespace sortition
