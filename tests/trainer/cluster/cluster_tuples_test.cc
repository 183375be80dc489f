#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "tests/trainer/cluster/score_lists.h"
#include "tests/trainer/status_codes.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/cluster/cluster.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/report.h"

namespace sortition {
namespace {

using config::v1::ClusterOptions;
using config::v1::ClusterReport;
using config::v1::OrderDivergence;
using log::v1::BanditTuple;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// Sources 0, 2, 3 and 5 see the quality, 1 and 4 its opposite, and 6, 7 and 8
// something else. Candidates have no ids, and decisions have different numbers
// of them.
TEST_F(ClusterTuplesTest, FindsPlantedGroupsOfSources) {
  const std::vector<int> directions = {1, -1, 1, 1, -1, 1, 2, 2, 2};
  Use(SourceTuples(80, directions, 0.4));
  for (const auto divergence :
       {OrderDivergence::DCG, OrderDivergence::ALL_PAIRS,
        OrderDivergence::TOP}) {
    options_.set_divergence(divergence);
    options_.set_cutoff(divergence == OrderDivergence::TOP ? 1 : 0);
    const ClusterReport report = Run();
    EXPECT_EQ(report.vectors(), 9u);
    EXPECT_EQ(report.decisions(), 80u);
    EXPECT_THAT(Sources(report), ElementsAre(std::set<uint32_t>{0, 2, 3, 5},
                                             std::set<uint32_t>{6, 7, 8},
                                             std::set<uint32_t>{1, 4}));
    EXPECT_EQ(report.trials_size(), 5);  // 2 .. 6, not 9.
    for (const auto& trial : report.trials()) {
      EXPECT_EQ(trial.chosen(), trial.clusters() == 3);
    }
  }
}

// Long vectors that have nothing in common. Small groups must not look good
// only because members are part of their own mean. The planted groups above
// have silhouettes above 0.6.
TEST_F(ClusterTuplesTest, FindsNoStructureWhereThereIsNone) {
  for (const double noise : {0.7, 30.0}) {
    Use(SourceTuples(300, std::vector<int>(10, 1), noise));
    const ClusterReport report = Run();
    for (const auto& trial : report.trials()) {
      EXPECT_LT(trial.silhouette(), 0.1);
    }
    EXPECT_THAT(FormatClusterReport(report), HasSubstr("may be only one"));
  }
}

// Opposite groups have the largest possible distance, the others half of it.
TEST_F(ClusterTuplesTest, SaysHowFarGroupsOfSourcesAreApart) {
  Use(SourceTuples(300, {1, 1, 1, 1, -1, -1, -1, 2, 2}, 0));
  options_.set_divergence(OrderDivergence::ALL_PAIRS);
  options_.add_clusters(3);
  const ClusterReport report = Run();
  const auto& groups = report.groups();
  EXPECT_THAT(Sources(report), ElementsAre(std::set<uint32_t>{0, 1, 2, 3},
                                           std::set<uint32_t>{4, 5, 6},
                                           std::set<uint32_t>{7, 8}));
  EXPECT_NEAR(groups[0].share_reversed(), 0, 1e-12);
  EXPECT_NEAR(groups[0].share_reversed_from(1), 1, 1e-12);
  EXPECT_NEAR(groups[1].share_reversed_from(0), 1, 1e-12);
  EXPECT_NEAR(groups[0].kendall_from(0), 0, 1e-12);
  EXPECT_NEAR(groups[0].kendall_from(1), 1, 1e-12);
  // For 300 decisions with 3 to 15 pairs this is 6 standard deviations.
  EXPECT_NEAR(groups[0].share_reversed_from(2), 0.5, 0.1);
  EXPECT_NEAR(groups[2].kendall_from(0), 0.5, 0.1);
  EXPECT_TRUE(groups[0].order().empty());
  ASSERT_EQ(report.disputes_size(), 10);
  for (int d = 1; d < 10; ++d) {
    EXPECT_LE(report.disputes(d).divergence(),
              report.disputes(d - 1).divergence());
  }
  for (const auto& dispute : report.disputes()) {
    ASSERT_EQ(dispute.first_size(), 3);
    EXPECT_NE(dispute.first(0), dispute.first(1));
  }
}

// Two sources and one decision in each direction; the expected values are
// computed by hand.
TEST_F(ClusterTuplesTest, DisputesAreDivergencesBetweenTheGroups) {
  // Candidates 0, 1, 2 in two decisions; the sources agree in the second one.
  Use({AggregateTuple("far", {{1, 0}, {0.25, 0.5}, {0, 1}}, false),
       AggregateTuple("near", {{0, 0}, {0.5, 0.25}, {1, 1}}, false)});
  options_.set_divergence(OrderDivergence::TOP);
  options_.set_cutoff(1);
  const ClusterReport report = Run();
  ASSERT_EQ(report.groups_size(), 2);
  ASSERT_EQ(report.disputes_size(), 1);
  EXPECT_EQ(report.disputes(0).id(), "far");
  EXPECT_NEAR(report.disputes(0).divergence(), 1, 1e-12);
  EXPECT_THAT(report.disputes(0).first(), ElementsAre(0, 2));
  // The pairs of source 0 differ by .75, 1, .25 and .5, 1, .5; both have the
  // mean 2/3.
  EXPECT_NEAR(report.groups(0).total_variation(), 2.0 / 3, 1e-12);
  // In one of two decisions the first place of one source is the last of the
  // other; reversed orders have this in both.
  EXPECT_NEAR(report.groups(0).share_reversed_from(1), 0.5, 1e-12);
  EXPECT_NEAR(report.groups(0).kendall_from(1), 0.5, 1e-12);
}

TEST_F(ClusterTuplesTest, FindsPlantedGroupsOfLists) {
  Use(QueryTuples(60, 3, kPrototypes, 0.05));
  options_.set_of("lists");
  const ClusterReport report = Run();
  EXPECT_EQ(report.vectors(), 180u);
  ASSERT_EQ(report.groups_size(), 3);
  std::set<std::vector<std::string>> orders;
  for (const auto& group : report.groups()) {
    EXPECT_EQ(group.size(), 60u);
    EXPECT_EQ(group.members_size(), 10);
    EXPECT_FALSE(group.has_mean_reward());
    orders.insert(OrderOfGroup(group));
  }
  EXPECT_EQ(orders, (std::set<std::vector<std::string>>{
                        {"c0", "c1", "c2", "c3", "c4"},
                        {"c4", "c3", "c2", "c1", "c0"},
                        {"c2", "c4", "c0", "c3", "c1"}}));
  std::map<std::string, std::set<std::string>> prototypes_of_group;
  std::set<std::pair<std::string, std::string>> named;
  for (const auto& line : Assignments()) {
    int number = 0;
    ASSERT_TRUE(absl::SimpleAtoi(line[0].substr(1), &number));
    prototypes_of_group[line[2]].insert(absl::StrCat(number % 3));
    named.emplace(line[0], line[1]);
    double own = 0;
    double next = 0;
    ASSERT_TRUE(absl::SimpleAtod(line[3], &own));
    ASSERT_TRUE(absl::SimpleAtod(line[5], &next));
    EXPECT_LT(own, next);
    EXPECT_NE(line[2], line[4]);
  }
  EXPECT_EQ(named.size(), 180u);
  EXPECT_EQ(prototypes_of_group.size(), 3u);
  for (const auto& [group, of] : prototypes_of_group) EXPECT_EQ(of.size(), 1u);
}

// The reward of a query is the number of its prototype.
TEST_F(ClusterTuplesTest, FindsPlantedGroupsOfQueriesAndTheirRewards) {
  std::vector<BanditTuple> tuples = QueryTuples(90, 4, kPrototypes, 0.1);
  tuples[0].set_reward(0.5);
  Use(tuples);
  options_.set_of("queries");
  const ClusterReport report = Run();
  EXPECT_EQ(report.vectors(), 90u);
  ASSERT_EQ(report.groups_size(), 3);
  // Groups of equal size are in the order of their first decisions, "d0", "d1",
  // "d10" ...
  EXPECT_NEAR(report.groups(0).mean_reward(), 0.5 / 30, 1e-12);
  // One reward of 0.5 among 30: √(Σ (r - mean)² / 29 / 30) = 0.5 √(1 - 1/30) /
  // √870.
  EXPECT_NEAR(report.groups(0).reward_standard_error(), 1.0 / 60, 1e-12);
  EXPECT_NEAR(report.groups(1).mean_reward(), 1, 1e-12);
  EXPECT_NEAR(report.groups(1).reward_standard_error(), 0, 1e-12);
  EXPECT_NEAR(report.groups(2).mean_reward(), 2, 1e-12);
}

TEST_F(ClusterTuplesTest, IsAFunctionOfItsSeed) {
  Use(QueryTuples(200, 1, {{0.5, 0.5, 0.5, 0.5, 0.5}}, 1));
  options_.set_of("lists");
  options_.add_clusters(6);
  options_.set_restarts(1);
  const std::string first = Run().SerializeAsString();
  EXPECT_EQ(Run().SerializeAsString(), first);
  options_.set_seed(2);
  EXPECT_NE(Run().SerializeAsString(), first);
}

// One group is never chosen from a grid with other numbers. If it is the only
// number, it is chosen and equals the aggregate.
TEST_F(ClusterTuplesTest, OneGroupIsTakenOnlyAlone) {
  Use(QueryTuples(30, 2, {kPrototypes[0]}, 0.2));
  options_.set_of("lists");
  options_.add_clusters(1);
  ClusterReport report = Run();
  EXPECT_EQ(report.groups_size(), 1);
  EXPECT_TRUE(report.disputes().empty());
  EXPECT_FALSE(report.trials(0).has_silhouette());
  EXPECT_EQ(report.trials(0).share(), 1);
  EXPECT_EQ(Assignments()[0].size(), 6u);
  options_.add_clusters(2);
  report = Run();
  EXPECT_EQ(report.groups_size(), 2);
  EXPECT_TRUE(report.trials(1).chosen());
}

// Ids may contain anything; a line of the table must stay one line.
TEST_F(ClusterTuplesTest, IdsAreEscapedInLines) {
  EXPECT_EQ(EscapeId("a\tb\n\\\x01\x7f\"Zoë'"), "a\\tb\\n\\\\\\x01\\x7f\"Zoë'");
  std::vector<BanditTuple> tuples = QueryTuples(6, 1, kPrototypes, 0.05);
  tuples[0].mutable_decision()->set_decision_id("a\tb\n");
  Use(tuples);
  options_.set_of("lists");
  const auto lines = Assignments();
  ASSERT_EQ(lines.size(), 6u);
  EXPECT_EQ(lines[0][0], "a\\tb\\n");
  EXPECT_EQ(lines[0].size(), 6u);
}

// Seven groups, each with its own order.
TEST_F(ClusterTuplesTest, AsksForMoreWhereTheMostIsTheBest) {
  std::vector<std::vector<double>> prototypes;
  for (int p = 0; p < 7; ++p) {
    RandomSequence random(
        StableHash(HashDomain::kSimulation, {absl::StrCat(p)}));
    std::vector<double> scores = {0, 0.5, 1, 1.5, 2, 2.5, 3};
    std::shuffle(scores.begin(), scores.end(), random);
    prototypes.push_back(scores);
  }
  Use(QueryTuples(70, 1, prototypes, 0.01));
  options_.set_of("lists");
  const std::string hint = "try more with --clusters";
  EXPECT_THAT(FormatClusterReport(Run()), HasSubstr(hint));
  for (const uint32_t k : {6, 7, 8}) options_.add_clusters(k);
  const ClusterReport report = Run();
  EXPECT_EQ(report.groups_size(), 7);
  EXPECT_THAT(FormatClusterReport(report), Not(HasSubstr(hint)));
}

TEST_F(ClusterTuplesTest, TheReportIsReadByPrograms) {
  Use(QueryTuples(30, 2, kPrototypes, 0.05));
  options_.set_of("queries");
  const ClusterReport report = Run();
  ASSERT_OK_AND_ASSIGN(const std::string json, ReportToJson(report));
  ClusterReport parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok());
  EXPECT_EQ(parsed.groups_size(), 3);
  EXPECT_EQ(parsed.groups(1).order(0).id(), report.groups(1).order(0).id());
  EXPECT_THAT(FormatClusterReport(report),
              AllOf(HasSubstr("*      3"), HasSubstr("mean reward"),
                    HasSubstr("Kendall"), HasSubstr("disagree about most")));
}

TEST_F(ClusterTuplesTest, NamesBadOptionsAndTheirRange) {
  Use(SourceTuples(5, {1, -1, 1}, 0.1));
  const ClusterOptions good = options_;
  const auto refuses = [&](auto set, const std::string& why) {
    options_ = good;
    set(&options_);
    EXPECT_THAT(ClusterTuples(options_), StatusIs(kInvalid, HasSubstr(why)));
  };
  refuses([](auto* o) { o->set_of("raters"); },
          "of is 'raters', must be sources, lists or queries");
  refuses([](auto* o) { o->set_scale("log"); },
          "scale is 'log', must be min_max, rank or none");
  refuses([](auto* o) { o->set_divergence(OrderDivergence::TOP); },
          "cutoff = 0: must be in [1, 1000000] for divergence TOP");
  refuses(
      [](auto* o) {
        o->set_divergence(OrderDivergence::ALL_PAIRS);
        o->set_cutoff(3);
      },
      "cutoff = 3: must be 0 for divergence ALL_PAIRS");
  refuses([](auto* o) { o->add_clusters(4); },
          "clusters has 4, must be in [1, 3], the number of sources");
  refuses([](auto* o) { o->add_clusters(0); }, "clusters has 0, must be");
  refuses([](auto* o) { o->set_restarts(0); }, "restarts is 0");
  refuses([](auto* o) { o->set_euclidean(-1); }, "euclidean is -1, must be");
  options_ = good;
  options_.set_tuples(good.tuples() + "/nowhere");
  EXPECT_THAT(ClusterTuples(options_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  Use(SourceTuples(5, {1}, 0.1));
  EXPECT_THAT(
      ClusterTuples(options_),
      StatusIs(kFailed, HasSubstr("too few sources: 1, must be at least 2")));
}

}  // namespace
}  // namespace sortition
