#include <algorithm>
#include <map>

#include "absl/strings/numbers.h"
#include "google/protobuf/util/json_util.h"
#include "tests/testing/refusal_table.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/cluster/pair_file.h"
#include "trainer/report.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using config::v1::OrderDivergence;
using log::v1::BanditTuple;

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
  EXPECT_THAT(
      FormatClusterReport(report),
      HasTexts("*      3", "mean reward", "Kendall", "disagree about most"));
}

TEST_F(ClusterTuplesTest, NamesBadOptionsAndTheirRange) {
  Use(SourceTuples(5, {1, -1, 1}, 0.1));
  ExpectRefusals(
      options_, &ClusterTuples,
      {{"of: 'raters'", "of is 'raters', must be sources, lists or queries"},
       {"scale: 'log'", "scale is 'log', must be min_max, rank or none"},
       {"divergence: TOP",
        "cutoff = 0: must be in [1, 1000000] for divergence TOP"},
       {"divergence: ALL_PAIRS cutoff: 3",
        "cutoff = 3: must be 0 for divergence ALL_PAIRS"},
       {"clusters: 4",
        "clusters has 4, must be in [1, 3], the number of sources"},
       {"clusters: 0", "clusters has 0, must be"},
       {"restarts: 0", "restarts is 0"},
       {"euclidean: -1", "euclidean is -1, must be"}});
  options_.set_tuples(options_.tuples() + "/nowhere");
  EXPECT_THAT(ClusterTuples(options_), IsNotFound("nowhere"));
  Use(SourceTuples(5, {1}, 0.1));
  EXPECT_THAT(ClusterTuples(options_),
              IsFailedPrecondition("too few sources: 1, must be at least 2"));
}

// `cluster --pairs`: only some pairs of candidates count.

class ClusterPairsTest : public ClusterTuplesTest {
 protected:
  std::string File(const std::string& text) {
    const std::string path = dir_.Sub("pairs") + "/pairs.csv";
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  void UsePairs(const std::string& text) { options_.set_pairs(File(text)); }

  // Each source has one sign for c0 and c1, and another for c2 and c3, which
  // are farther apart.
  static std::vector<BanditTuple> TwoQuestions() {
    std::vector<BanditTuple> tuples;
    for (int q = 0; q < 20; ++q) {
      RandomSequence random(
          StableHash(HashDomain::kSimulation, {absl::StrCat(q)}));
      const double near = 0.5 * random.Normal();
      const double far = 3 * random.Normal();
      ScoreTable scores(4);
      for (int source = 0; source < 8; ++source) {
        const double a = (source % 2 == 0 ? 1 : -1) * near;
        const double b = (source < 4 ? 1 : -1) * far;
        scores[0].push_back(a);
        scores[1].push_back(-a);
        scores[2].push_back(b);
        scores[3].push_back(-b);
      }
      tuples.push_back(AggregateTuple(absl::StrCat("d", q), scores, true));
    }
    return tuples;
  }
};

TEST_F(ClusterPairsTest, GroupsByThePairsThatCount) {
  Use(TwoQuestions());
  options_.set_scale("none");
  options_.add_clusters(2);
  options_.set_divergence(OrderDivergence::ALL_PAIRS);
  EXPECT_THAT(Sources(Run()), ElementsAre(std::set<uint32_t>{0, 1, 2, 3},
                                          std::set<uint32_t>{4, 5, 6, 7}));
  options_.clear_divergence();
  UsePairs("c0,c1\n");
  const ClusterReport report = Run();
  EXPECT_THAT(Sources(report), ElementsAre(std::set<uint32_t>{0, 2, 4, 6},
                                           std::set<uint32_t>{1, 3, 5, 7}));
  // Nothing else counts, so that the groups are opposite.
  EXPECT_NEAR(report.groups(0).share_reversed_from(1), 1, 1e-12);
  EXPECT_NEAR(report.groups(0).share_reversed(), 0, 1e-12);
  EXPECT_NEAR(report.share_by_chance(), 0.5, 1e-12);
}

// Two sources and one decision: all values follow by hand from
// Σ weight |difference| over the inverted pairs.
TEST_F(ClusterPairsTest, WeighsDifferencesOfThePairs) {
  const std::vector<std::vector<double>> scores = {
      {1, 0}, {0, 0.5}, {0.5, 1}, {0.25, 0.125}};
  Use({AggregateTuple("d", scores, true), AggregateTuple("e", scores, true)});
  UsePairs("better\tworse\tweight\nc0\tc1\t2\n\nc2\tc1\n");
  for (const char* of : {"sources", "lists"}) {
    options_.set_of(of);
    options_.clear_clusters();
    options_.add_clusters(2);
    const ClusterReport report = Run();
    EXPECT_EQ(report.pairs(), 2u);
    ASSERT_EQ(report.groups_size(), 2);
    const bool first_is_0 = report.groups(0).members(0).source() == 0;
    const auto& of_0 = report.groups(first_is_0 ? 0 : 1);
    const auto& of_1 = report.groups(first_is_0 ? 1 : 0);
    // Source 0 loses 2 × 1 of 2 × 1 + 0.5 by c1 before c0; source 1 loses
    // 2 × 0.5 of 2 × 0.5 + 0.5 by c0 before c1.
    EXPECT_NEAR(of_0.share_reversed_from(first_is_0 ? 1 : 0), 0.8, 1e-9);
    EXPECT_NEAR(of_1.share_reversed_from(first_is_0 ? 0 : 1), 2 / 3.0, 1e-9);
    // The file has c0 before c1.
    EXPECT_NEAR(of_0.share_against_pairs(), 0, 1e-9);
    EXPECT_NEAR(of_1.share_against_pairs(), 2 / 3.0, 1e-9);
    EXPECT_NEAR(of_1.members(0).share_against_pairs(), 2 / 3.0, 1e-9);
  }
  EXPECT_THAT(FormatClusterReport(Run()),
              HasSubstr("  66.7 % against the pairs"));
}

TEST_F(ClusterPairsTest, DecisionsWithoutPairsWeighNothing) {
  std::vector<BanditTuple> tuples = TwoQuestions();
  tuples.resize(5);
  for (int q = 0; q < 2; ++q) {
    for (auto& id : *tuples[q].mutable_decision()->mutable_candidate_ids()) {
      id += "-other";
    }
  }
  tuples[2].mutable_decision()->clear_candidate_ids();
  Use(tuples);
  UsePairs("c0,c1\n");
  options_.set_scale("none");
  const ClusterReport report = Run();
  double against = 0, all = 0;  // Source 0, in the decisions with the pair.
  for (int q = 3; q < 5; ++q) {
    const log::v1::Decision& decision = tuples[q].decision();
    const double lead = static_cast<double>(decision.dense_values(0)) -
                        static_cast<double>(decision.dense_values(8));
    against += std::max(0.0, -lead);
    all += std::abs(lead);
  }
  ASSERT_GT(all, 0);
  for (const auto& group : report.groups()) {
    for (const auto& member : group.members()) {
      const bool turned = member.source() % 2 == 1;
      EXPECT_NEAR(member.share_against_pairs(),
                  (turned ? all - against : against) / all, 1e-6);
    }
  }
  EXPECT_EQ(report.decisions(), 4u);  // One has no ids.
  EXPECT_EQ(report.weightless_decisions(), 2u);
  EXPECT_EQ(report.excluded().at("no candidate ids"), 1u);
  EXPECT_THAT(FormatClusterReport(report),
              HasSubstr("2 decisions weigh nothing: none of the pairs is"));
  EXPECT_EQ(report.pairs_found(), 1u);
}

TEST_F(ClusterPairsTest, SaysHowManyPairsThereAre) {
  const std::vector<std::vector<double>> scores = {{1, 0}, {1, 1}, {0.5, 0.5}};
  Use({AggregateTuple("d", scores, true), AggregateTuple("e", scores, true)});
  options_.set_of("lists");
  options_.add_clusters(1);
  UsePairs("c0,c1\nC1,c2\nc2,x\n");
  const std::string text = FormatClusterReport(Run());
  EXPECT_THAT(text, HasSubstr("  1 of the 3 pairs are among the candidates"));
  // Source 0 has c0 and c1 alike, but not c2.
  EXPECT_THAT(text, HasSubstr("  2 of them tell none of the pairs apart"));
}

TEST_F(ClusterPairsTest, RefusesPairsThatSayNothing) {
  Use(TwoQuestions());
  UsePairs("c0,c9\n");
  EXPECT_THAT(Problem(), HasSubstr("none of the 1 pairs of "));
  UsePairs("c0,c1\n");
  options_.set_divergence(OrderDivergence::DCG);
  EXPECT_THAT(Problem(), HasSubstr("divergence is set, must be unset with"));
  options_.clear_divergence();
  options_.set_cutoff(3);
  EXPECT_THAT(Problem(), HasSubstr("cutoff is set, must be unset with pairs"));
}

TEST_F(ClusterPairsTest, ReadsPairs) {
  ASSERT_OK_AND_ASSIGN(
      CandidatePairs pairs,
      CandidatePairs::Read(File("\xef\xbb\xbf"
                                "better,worse\r\na,b\r\nb, c , 0.5\nd,a,3")));
  EXPECT_EQ(pairs.size(), 3u);
  const auto edges = pairs.Among({"c", "x", "a", "b"});
  ASSERT_EQ(edges.size(), 2u);
  EXPECT_EQ(edges[0].from, 2u);
  EXPECT_EQ(edges[0].to, 3u);
  EXPECT_EQ(edges[0].weight, 1);
  EXPECT_EQ(edges[1].from, 3u);
  EXPECT_EQ(edges[1].to, 0u);
  EXPECT_EQ(edges[1].weight, 0.5);
  EXPECT_EQ(pairs.num_found(), 2u);
}

TEST_F(ClusterPairsTest, NamesTheLineThatIsWrong) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"better,worse\n", "pairs.csv has 0 pairs, must have at least 1"},
      {"a,b\na\n", "line 2: there are 1 fields, must be 2 or 3: better"},
      {"a,b,1,2\n", "line 1: there are 4 fields, must be 2 or 3"},
      {"a,\n", "line 1: the candidates are 'a' and '', must be two different"},
      {"\ta\t2\n", "line 1: the candidates are '' and 'a', must be two"},
      {"a\tb\t\n", "line 1: weight is '', must be a number within"},
      {"\"a\",\"b\"\n", "line 1: the field \"a\" is quoted, must be an id"},
      {"a,a\n", "line 1: the candidates are 'a' and 'a', must be two"},
      {"a,b,0\n", "line 1: weight is '0', must be a number within (0, 1e+06]"},
      {"a,b,nan\n", "line 1: weight is 'nan', must be a number within"},
      {"a,b,x\n", "line 1: weight is 'x', must be a number within"},
      {"a,b\n\na,b,2\n", "line 3: the pair of 'a' and 'b' is there again"},
      {"a,b\nb,a\n", "line 2: the pair of 'b' and 'a' is there again"},
  };
  for (const Case& each : cases) {
    EXPECT_THAT(CandidatePairs::Read(File(each.text)),
                IsInvalidArgument(each.error))
        << each.text;
  }
  EXPECT_THAT(CandidatePairs::Read(dir_.Sub("pairs") + "/none"),
              IsNotFound("pairs: cannot open "));
}

}  // namespace
}  // namespace sortition
