#include "trainer/exploration/exploration_list.h"

#include "gmock/gmock.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "trainer/exploration/exploration_notation.h"

namespace sortition {
namespace {

using google::protobuf::util::MessageDifferencer;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(last, testing::ElementsAre("pl:alpha=9", "sorted:swap=0.3",
                                         "sorted:uniform=1"));
  named.Add("sorted:swap=0.1");
  ASSERT_OK_AND_ASSIGN(const ExplorationList again,
                       ListExplorations(PlackettLuce(1, 0), 3, named));
  EXPECT_EQ(Names(again).back(), "sorted:swap=0.1");
  EXPECT_EQ(again.explorations.size(), list.explorations.size());
  named.Add("pl:alpha=1,");
  EXPECT_THAT(ListExplorations(PlackettLuce(1, 0), 3, named),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("exploration ''")));
}

TEST(ExplorationListTest, TemperaturesStayInTheirRange) {
  ASSERT_OK_AND_ASSIGN(const ExplorationList list,
                       ListExplorations(PlackettLuce(9e5, 0), 3, {}));
  EXPECT_THAT(Names(list), Contains("pl:alpha=1e+06"));
}

}  // namespace
}  // namespace sortition
