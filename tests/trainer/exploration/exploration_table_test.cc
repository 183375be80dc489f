#include "trainer/exploration/exploration_table.h"

#include "google/protobuf/util/message_differencer.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusals.h"
#include "tests/trainer/exploration/small_world.h"
#include "trainer/exploration/exploration_list.h"
#include "trainer/exploration/exploration_notation.h"
#include "trainer/exploration/exploration_text.h"

namespace sortition {
namespace {

using config::v1::ExplorationTable;
using google::protobuf::util::MessageDifferencer;
using testing::Contains;

class ExplorationTableTest : public testing::Test {
 protected:
  absl::StatusOr<ExplorationTable> Measure() {
    return MeasureExplorations({.model = model_,
                                .against = against_,
                                .validation = tuples_,
                                .test = tuples_,
                                .explorations = named_,
                                .delta = delta_});
  }

  static const ExplorationTable::Row& RowOf(const ExplorationTable& table,
                                            const std::string& name) {
    for (const auto& row : table.rows()) {
      if (row.exploration() == name) return row;
    }
    ADD_FAILURE() << "no row " << name;
    static const ExplorationTable::Row none;
    return none;
  }

  model::v1::Model model_ = WorldModel(2);
  const model::v1::Model* against_ = nullptr;
  std::vector<BanditTuple> tuples_ = UniformWorldLog(150);
  google::protobuf::RepeatedPtrField<std::string> named_;
  double delta_ = 0.05;
};

// What Var_e(f) and m of core/counterfactual/exploration/difference_variance.h
// are by enumeration.
void ExpectSpread(const ExplorationTable::Row& row,
                  const OrderProbabilities& exploration,
                  const OrderProbabilities& target,
                  const OrderProbabilities& present) {
  double mean_reward = 0;
  for (const Action& order : AllOrders()) {
    mean_reward += WorldReward(order) / 24;
  }
  double mean = 0;
  double square = 0;
  double more = 0;
  double less = 0;
  for (const auto& [order, e] : exploration) {
    const double change = target.at(order) - present.at(order);
    if (e == 0) {
      (change > 0 ? more : less) += std::fabs(change);
      continue;
    }
    const double f = change / e * (WorldReward(order) - mean_reward);
    mean += e * f;
    square += e * f * f;
  }
  EXPECT_NEAR(row.deviation() * row.deviation(), square - mean * mean, 1e-9);
  EXPECT_NEAR(row.unseen(), std::fmax(more, less), 1e-9);
}

TEST_F(ExplorationTableTest, FiguresAreThoseOfTheEnumeratedWorld) {
  for (const char* const name :
       {"pl:alpha=1:factors=3/0.5:uniform=0.1",
        "sorted:alpha=3:swap=0.4:shuffle=0.1x3:uniform=0.2", "sorted:swap=0.3",
        "sorted:shuffle=0.5x4"}) {
    named_.Add(name);
  }
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  const OrderProbabilities present = PlackettLuceOrders(2);
  const OrderProbabilities target = PlackettLuceOrders(4);
  const OrderProbabilities by_score = SortedOrderProbabilities({});
  EXPECT_EQ(table.target(), "the same at alpha = 4");
  EXPECT_EQ(table.cost_reference(), "order by score");
  const std::vector<std::pair<std::string, OrderProbabilities>> rows = {
      {"present", present},
      {"order by score", by_score},
      {"pl:alpha=4", target},
      {"pl:factors=4/2/1", PlackettLuceOrders(2, {4, 2, 1})},
      {"pl:factors=1/2/4", PlackettLuceOrders(2, {1, 2, 4})},
      {"pl:alpha=1:factors=3/0.5:uniform=0.1",
       PlackettLuceOrders(1, {3, 0.5}, 0.1)},
      {"sorted:alpha=3:swap=0.4:shuffle=0.1x3:uniform=0.2",
       SortedOrderProbabilities({3, 0.4, 0.1, 3, 0.2})},
      {"sorted:swap=0.3", SortedOrderProbabilities({2, 0.3})},
      {"sorted:shuffle=0.5x4", SortedOrderProbabilities({2, 0, 0.5, 4})},
      {"sorted:uniform=0.05", SortedOrderProbabilities({2, 0, 0, 2, 0.05})}};
  for (const auto& [name, probabilities] : rows) {
    SCOPED_TRACE(name);
    const ExplorationTable::Row& row = RowOf(table, name);
    EXPECT_FALSE(row.has_reservation()) << row.reservation();
    EXPECT_NEAR(row.snips_reward().value(), WorldValue(probabilities), 1e-9);
    EXPECT_LE(row.reward().lower(), WorldValue(probabilities));
    EXPECT_GE(row.reward().upper(), WorldValue(probabilities));
    EXPECT_NEAR(row.cost().value(),
                WorldValue(by_score) - WorldValue(probabilities), 1e-9);
    EXPECT_LE(row.cost().lower(), row.cost().value());
    double first_stays = 0;
    double squares = 0;
    for (const auto& [order, p] : probabilities) {
      if (order[0] == 0) first_stays += p;
      squares += p * p;
    }
    EXPECT_NEAR(row.first_differs(), 1 - first_stays, 1e-9);
    EXPECT_NEAR(row.order_differs(), 1 - probabilities.at(Action{0, 1, 2, 3}),
                1e-9);
    EXPECT_NEAR(row.effective_sample_size(), 150 / squares, 1e-6);
    ExpectSpread(row, probabilities, target, present);
  }
}

// (z_{0.975} + z_{0.8})² = 7.8489.
TEST_F(ExplorationTableTest, DecisionsFollowFromTheSpread) {
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_EQ(table.delta(), 0.05);
  int with_decisions = 0;
  int never = 0;
  for (const auto& row : table.rows()) {
    SCOPED_TRACE(row.exploration());
    EXPECT_EQ(row.never_tells(), row.unseen() >= 0.05);
    if (row.never_tells()) {
      ++never;
      EXPECT_FALSE(row.has_decisions());
      continue;
    }
    ++with_decisions;
    const double left = 0.05 - row.unseen();
    const double needed =
        7.8489 * row.deviation() * row.deviation() / (left * left);
    EXPECT_NEAR(static_cast<double>(row.decisions()), needed,
                1 + 1e-4 * needed);
  }
  EXPECT_GT(with_decisions, 5);
  EXPECT_GT(never, 3);
  // Of the order by score nothing is known but that order.
  EXPECT_TRUE(RowOf(table, "order by score").never_tells());
}

TEST_F(ExplorationTableTest, StarsAreOfRowsThatNoOtherBeats) {
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  int stars = 0;
  for (const auto& row : table.rows()) {
    bool beaten = !row.has_cost() || !row.has_decisions();
    for (const auto& other : table.rows()) {
      beaten = beaten || (other.has_decisions() &&
                          other.cost().value() < row.cost().value() &&
                          other.decisions() < row.decisions());
    }
    EXPECT_EQ(row.undominated(), !beaten) << row.exploration();
    if (row.undominated()) ++stars;
  }
  EXPECT_GT(stars, 0);
  EXPECT_LT(stars, table.rows_size());
}

TEST_F(ExplorationTableTest, TheDifferenceIsAShareOfThePresentReward) {
  delta_ = 0;
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_NEAR(table.delta(), 0.05 * WorldValue(PlackettLuceOrders(2)), 1e-9);
}

// The same log in other units: all but probabilities and counts scale.
TEST_F(ExplorationTableTest, RewardsHaveUnits) {
  ASSERT_OK_AND_ASSIGN(const ExplorationTable plain, Measure());
  ASSERT_OK_AND_ASSIGN(const ExplorationTable scaled,
                       MeasureExplorations({.model = model_,
                                            .validation = tuples_,
                                            .test = tuples_,
                                            .explorations = named_,
                                            .delta = 0.5,
                                            .reward_min = -2,
                                            .reward_max = 8}));
  for (int k = 0; k < plain.rows_size(); ++k) {
    const auto& row = scaled.rows(k);
    EXPECT_NEAR(row.reward().value(), -2 + 10 * plain.rows(k).reward().value(),
                1e-9);
    EXPECT_NEAR(row.cost().value(), 10 * plain.rows(k).cost().value(), 1e-9);
    EXPECT_NEAR(row.deviation(), 10 * plain.rows(k).deviation(), 1e-9);
    EXPECT_EQ(row.decisions(), plain.rows(k).decisions());
  }
}

TEST_F(ExplorationTableTest, AnotherVersionMayBeTheTarget) {
  // It has the scores the other way round.
  model::v1::Model against = WorldModel(2);
  against.set_version(9);
  against.set_weights(0, -1);
  against_ = &against;
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_EQ(table.target(), "version 9");
  ExpectSpread(RowOf(table, "pl:factors=4/2/1"),
               PlackettLuceOrders(2, {4, 2, 1}), PlackettLuceOrders(-2),
               PlackettLuceOrders(2));
}

TEST_F(ExplorationTableTest, SameTargetCannotBeTold) {
  model_.mutable_policy()->mutable_sorted_ranking();
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_THAT(table.problem(), HasSubstr("both do the same"));
  EXPECT_EQ(table.cost_reference(), "present");
  for (const auto& row : table.rows()) EXPECT_FALSE(row.has_decisions());
}

TEST_F(ExplorationTableTest, WithoutRewardsThereIsNoShareOfThem) {
  for (BanditTuple& tuple : tuples_) tuple.loss = 0;
  delta_ = 0;
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_THAT(table.problem(), HasSubstr("the present reward is 0"));
  delta_ = 0.1;
  ASSERT_OK_AND_ASSIGN(const ExplorationTable given, Measure());
  EXPECT_FALSE(given.has_problem());
  // No variance is seen, and none is claimed.
  EXPECT_EQ(RowOf(given, "present").effective_terms(), 0);
  EXPECT_FALSE(RowOf(given, "present").has_decisions());
}

// A log of Plackett-Luce that nearly never has the order by score.
TEST_F(ExplorationTableTest, CostsAreAgainstThePresentWhereTheLogCannotTell) {
  tuples_.clear();
  for (size_t copy = 0; copy < 300; ++copy) {
    for (const Action& order : AllOrders()) {
      // Of the orders that put candidate 0 first, none was logged.
      if (order[0] == 0) continue;
      tuples_.push_back(WorldTuple(order, -std::log(18.0), WorldReward(order),
                                   tuples_.size()));
    }
  }
  model_.set_weights(0, -1);  // It puts candidate 3 first: that was logged.
  ASSERT_OK_AND_ASSIGN(const ExplorationTable reversed, Measure());
  EXPECT_EQ(reversed.cost_reference(), "order by score");
  model_.set_weights(0, 1);
  model_.mutable_policy()->set_inverse_temperature(0.3);
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_EQ(table.cost_reference(), "present");
  const auto& by_score = RowOf(table, "order by score");
  EXPECT_THAT(by_score.reservation(), HasSubstr("cannot support"));
  EXPECT_FALSE(by_score.has_cost());
  EXPECT_FALSE(by_score.undominated());
  EXPECT_EQ(RowOf(table, "present").cost().value(), 0);
}

// What was shown instead says nothing of what the orders earn.
TEST_F(ExplorationTableTest, OrdersThatWereNotShownHaveNoWeight) {
  const size_t shown = tuples_.size();
  for (size_t i = 0; i < 240; ++i) {
    BanditTuple hidden = tuples_[i];
    hidden.action_shown = false;
    hidden.loss = -1;
    hidden.unit = UnitKey("", absl::StrCat(shown + i));
    tuples_.push_back(std::move(hidden));
  }
  ASSERT_OK_AND_ASSIGN(const ExplorationTable table, Measure());
  EXPECT_NEAR(RowOf(table, "present").snips_reward().value(),
              WorldValue(PlackettLuceOrders(2)), 1e-9);
}

std::vector<std::string> Names(const ExplorationList& list) {
  std::vector<std::string> names;
  for (const NamedExploration& exploration : list.explorations) {
    names.push_back(exploration.name);
  }
  return names;
}

model::v1::Policy PlackettLuce(double alpha, double uniform) {
  model::v1::Policy policy;
  policy.set_inverse_temperature(alpha);
  policy.set_uniform_mixture(uniform);
  policy.mutable_plackett_luce();
  return policy;
}

TEST(ExplorationListTest, NamesAreTheNotationOfTheirPolicies) {
  const model::v1::Policy present = PlackettLuce(1.5, 0.1);
  ASSERT_OK_AND_ASSIGN(const ExplorationList list,
                       ListExplorations(present, 7, {}));
  EXPECT_EQ(list.present, 0);
  EXPECT_EQ(list.by_score, 1);
  EXPECT_TRUE(MessageDifferencer::Equals(list.explorations[0].policy, present));
  ASSERT_OK_AND_ASSIGN(const auto sorted, ParseExploration("sorted", 1.5));
  EXPECT_TRUE(MessageDifferencer::Equals(list.explorations[1].policy, sorted));
  for (size_t k = 2; k < list.explorations.size(); ++k) {
    const NamedExploration& exploration = list.explorations[k];
    ASSERT_OK_AND_ASSIGN(const auto policy,
                         ParseExploration(exploration.name, 1.5));
    EXPECT_TRUE(MessageDifferencer::Equals(policy, exploration.policy))
        << exploration.name;
  }
  EXPECT_THAT(Names(list), Contains("pl:alpha=1.5"));
  EXPECT_THAT(Names(list), Contains("pl:alpha=6"));
  EXPECT_THAT(Names(list), Contains("sorted:shuffle=0.05x7"));
}

TEST(ExplorationListTest, HasNoPolicyTwice) {
  ASSERT_OK_AND_ASSIGN(const ExplorationList plain,
                       ListExplorations(PlackettLuce(1.5, 0), 100, {}));
  EXPECT_THAT(Names(plain), Not(Contains("pl:alpha=1.5")));
  EXPECT_THAT(Names(plain), Contains("sorted:shuffle=0.05x10"));
  ASSERT_OK_AND_ASSIGN(const auto sorted, ParseExploration("sorted", 2));
  ASSERT_OK_AND_ASSIGN(const ExplorationList by_score,
                       ListExplorations(sorted, 1, {}));
  EXPECT_EQ(by_score.by_score, by_score.present);
  EXPECT_THAT(Names(by_score), Not(Contains("order by score")));
  EXPECT_THAT(Names(by_score), Contains("sorted:shuffle=0.2x2"));
}

TEST(ExplorationListTest, OnesOwnComeLast) {
  google::protobuf::RepeatedPtrField<std::string> named;
  named.Add("pl:alpha=9, sorted:swap=0.3");
  named.Add("sorted:uniform=1");
  ASSERT_OK_AND_ASSIGN(const ExplorationList list,
                       ListExplorations(PlackettLuce(1, 0), 3, named));
  const std::vector<std::string> names = Names(list);
  const std::vector<std::string> last(names.end() - 3, names.end());
  EXPECT_THAT(last,
              ElementsAre("pl:alpha=9", "sorted:swap=0.3", "sorted:uniform=1"));
  named.Add("sorted:swap=0.1");
  ASSERT_OK_AND_ASSIGN(const ExplorationList again,
                       ListExplorations(PlackettLuce(1, 0), 3, named));
  EXPECT_EQ(Names(again).back(), "sorted:swap=0.1");
  EXPECT_EQ(again.explorations.size(), list.explorations.size());
  named.Add("pl:alpha=1,");
  EXPECT_THAT(ListExplorations(PlackettLuce(1, 0), 3, named),
              IsInvalidArgument("exploration ''"));
}

TEST(ExplorationListTest, TemperaturesStayInTheirRange) {
  ASSERT_OK_AND_ASSIGN(const ExplorationList list,
                       ListExplorations(PlackettLuce(9e5, 0), 3, {}));
  EXPECT_THAT(Names(list), Contains("pl:alpha=1e+06"));
}

TEST(ExplorationNotationTest, NamesPlackettLuce) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ParseExploration("pl", 3));
  EXPECT_TRUE(plain.has_plackett_luce());
  EXPECT_EQ(plain.inverse_temperature(), 3);
  EXPECT_EQ(plain.uniform_mixture(), 0);
  EXPECT_TRUE(plain.plackett_luce().rank_factors().empty());
  ASSERT_OK_AND_ASSIGN(
      const auto full,
      ParseExploration("pl:uniform=0.02:factors=4/2/0.5:alpha=2", 3));
  EXPECT_EQ(full.inverse_temperature(), 2);
  EXPECT_EQ(full.uniform_mixture(), 0.02);
  EXPECT_THAT(full.plackett_luce().rank_factors(), ElementsAre(4, 2, 0.5));
}

TEST(ExplorationNotationTest, NamesSortedRankings) {
  ASSERT_OK_AND_ASSIGN(const auto plain, ParseExploration("sorted", 3));
  EXPECT_TRUE(plain.has_sorted_ranking());
  EXPECT_EQ(plain.sorted_ranking().swap_probability(), 0);
  ASSERT_OK_AND_ASSIGN(
      const auto full,
      ParseExploration("sorted:alpha=2:swap=0.1:shuffle=0.05x10:uniform=0.2",
                       3));
  EXPECT_EQ(full.inverse_temperature(), 2);
  EXPECT_EQ(full.uniform_mixture(), 0.2);
  EXPECT_EQ(full.sorted_ranking().swap_probability(), 0.1);
  EXPECT_EQ(full.sorted_ranking().shuffle_probability(), 0.05);
  EXPECT_EQ(full.sorted_ranking().shuffle_ranks(), 10);
}

TEST(ExplorationNotationTest, ErrorsNameThePartThatIsWrong) {
  const std::pair<std::string, std::string> kCases[] = {
      {"softmax:alpha=1", "'softmax' must be pl or sorted"},
      {"", "'' must be pl or sorted"},
      {"pl:2", "'2' must be alpha=, factors= or "},
      {"pl:", "'' must be alpha=, factors= or "},
      {"pl:alpha=warm", "'alpha=warm' must be NAME=NUMBER"},
      {"pl:alpha", "'alpha' must be NAME=NUMBER"},
      {"pl:alpha=1:alpha=2", "'alpha=2' must be the only alpha="},
      {"pl:swap=0.1", "'swap=0.1' must be alpha="},
      {"sorted:factors=2", "'factors=2' must be alpha=, swap=, shuffle= or "},
      {"pl:factors=4//1", "'factors=4//1' must be factors=NUMBER/NUMBER"},
      {"sorted:shuffle=0.1", "'shuffle=0.1' must be shuffle=PROBABILITYxRANKS"},
      {"sorted:shuffle=0.1x-3", "must be shuffle=PROBABILITYxRANKS"},
      // Ranges are those of the policy.
      {"sorted:swap=0.7", "swap_probability is 0.7, must be in [0, 0.5]"},
      {"sorted:shuffle=0.1x1", "shuffle_ranks is 1"},
      {"pl:factors=0", "rank_factors"},
      {"pl:alpha=nan", "inverse_temperature is nan"},
  };
  for (const auto& [text, problem] : kCases) {
    EXPECT_THAT(
        ParseExploration(text, 1),
        IsInvalidArgument(absl::StrCat("exploration '", text, "': "), problem));
  }
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
  EXPECT_EQ(FormatExplorations(ParseText<ExplorationTable>(kTable)),
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
  ExplorationTable table = ParseText<ExplorationTable>(kTable);
  table.set_cost_reference("present");
  table.set_problem("both do the same");
  const std::string text = FormatExplorations(table);
  EXPECT_THAT(text, HasTexts("below that of the present policy, because the "
                             "log cannot support the order by score;",
                             "decisions: unknown, since the present policy is "
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
