// `cluster --pairs`: only some pairs of candidates count.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "tests/trainer/cluster/score_lists.h"
#include "tests/trainer/status_codes.h"
#include "trainer/cluster/cluster_report.h"
#include "trainer/cluster/pair_file.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using config::v1::OrderDivergence;
using log::v1::BanditTuple;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
                StatusIs(kInvalid, HasSubstr(each.error)))
        << each.text;
  }
  EXPECT_THAT(
      CandidatePairs::Read(dir_.Sub("pairs") + "/none"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("pairs: cannot open ")));
}

}  // namespace
}  // namespace sortition
