// What `cluster` says about vectors that say little: constant, tied, alone, or
// grouped by chance.
#include <algorithm>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "tests/trainer/cluster/score_lists.h"
#include "trainer/cluster/cluster.h"
#include "trainer/cluster/cluster_report.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using config::v1::OrderDivergence;
using log::v1::BanditTuple;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using ClusterChanceTest = ClusterTuplesTest;

std::string Text(const ClusterReport& report) {
  return FormatClusterReport(report);
}

// Equal scores that are subject to rounding, since 0.1 is not a float. The
// other lists are orders of 0, 1/8 .. 1, which no scale changes.
TEST_F(ClusterChanceTest, ConstantListsSayNothingAtAnyScale) {
  std::vector<BanditTuple> tuples;
  for (int q = 0; q < 30; ++q) {
    RandomSequence random(
        StableHash(HashDomain::kSimulation, {absl::StrCat(q)}));
    std::vector<int> levels(9);
    std::iota(levels.begin(), levels.end(), 0);
    std::shuffle(levels.begin(), levels.end(), random);
    ScoreTable scores;
    for (const int level : levels) {
      scores.push_back({q % 3 == 0 ? level / 8.0 : 0.1});
    }
    tuples.push_back(AggregateTuple(absl::StrCat("d", q), scores, true));
  }
  Use(tuples);
  options_.set_of("lists");
  const ClusterReport expected = Run();
  EXPECT_EQ(expected.flat(), 20u);
  for (const char* scale : {"rank", "none"}) {
    options_.set_scale(scale);
    const ClusterReport report = Run();
    EXPECT_EQ(report.flat(), 20u);
    ASSERT_EQ(report.trials_size(), expected.trials_size());
    for (int t = 0; t < report.trials_size(); ++t) {
      EXPECT_EQ(report.trials(t).chosen(), expected.trials(t).chosen());
      EXPECT_NEAR(report.trials(t).silhouette(),
                  expected.trials(t).silhouette(), 1e-9);
      EXPECT_NEAR(report.trials(t).share(), expected.trials(t).share(), 1e-9);
    }
  }
}

TEST_F(ClusterChanceTest, WhereAllIsConstantThereIsNothingToShare) {
  Use(QueryTuples(30, 1, {std::vector<double>(7, 0.1)}, 0));
  options_.set_of("lists");
  options_.set_scale("none");
  const ClusterReport report = Run();
  EXPECT_EQ(report.flat(), 30u);
  EXPECT_FALSE(report.has_share_by_chance());
  for (const auto& trial : report.trials()) {
    EXPECT_EQ(trial.silhouette(), 0);
    EXPECT_FALSE(trial.has_share());
  }
}

// Short random lists have large silhouettes, as shuffled ones have; planted
// groups have larger ones.
TEST_F(ClusterChanceTest, SilhouettesAreComparedWithChance) {
  Use(QueryTuples(500, 2, {std::vector<double>(4, 0.5)}, 1));
  options_.set_of("lists");
  options_.set_restarts(3);
  const auto chosen = [](const ClusterReport& report) {
    for (const auto& trial : report.trials()) {
      if (trial.chosen()) return trial;
      EXPECT_FALSE(trial.has_silhouette_by_chance());
    }
    return ClusterReport::Trial();
  };
  ClusterReport report = Run();
  EXPECT_GT(chosen(report).silhouette(), 0.6);
  EXPECT_NEAR(chosen(report).silhouette_by_chance(),
              chosen(report).silhouette(), 0.05);
  EXPECT_THAT(Text(report), HasSubstr("may be only one"));
  Use(QueryTuples(60, 3, kPrototypes, 0.05));
  report = Run();
  EXPECT_GT(chosen(report).silhouette(),
            chosen(report).silhouette_by_chance() + 0.2);
  EXPECT_THAT(Text(report), Not(HasSubstr("may be only one")));
}

// Among 10 unrelated sources, those of one group are no nearer to each other
// than to the others, though each is part of its group's mean.
TEST_F(ClusterChanceTest, TheOwnShareIsThatWithoutTheMember) {
  Use(SourceTuples(300, std::vector<int>(10, 1), 1e6));
  options_.set_divergence(OrderDivergence::ALL_PAIRS);
  options_.add_clusters(4);
  const ClusterReport report = Run();
  int compared = 0;
  for (int c = 0; c < 4; ++c) {
    const auto& group = report.groups(c);
    if (group.size() < 2) continue;
    ++compared;
    EXPECT_LT(group.share_reversed(), 0.4);  // With the member.
    EXPECT_NEAR(group.share_reversed_from(c), 0.5, 0.07);
  }
  EXPECT_GT(compared, 0);
  EXPECT_NEAR(report.share_by_chance(), 0.5, 1e-12);  // Exact for all pairs.
}

// TOP 1 of one high score in 4: found by a random order once in 4 times.
TEST_F(ClusterChanceTest, SaysWhatAnUnrelatedOrderWouldHave) {
  Use({AggregateTuple("d", {{1, 0}, {0, 1}, {0, 0}, {0, 0}}, false)});
  options_.set_divergence(OrderDivergence::TOP);
  options_.set_cutoff(1);
  const ClusterReport report = Run();
  EXPECT_NEAR(report.share_by_chance(), 0.75, 1e-12);
  EXPECT_THAT(Text(report), HasSubstr("an unrelated order: 75 %"));
}

// Candidates are sorted by decreasing score of the first source; the second
// source has the reversed order, and the third one does not tell them apart.
TEST_F(ClusterChanceTest, TiesAreNoAgreement) {
  std::vector<BanditTuple> tuples;
  const std::vector<double> falling = {1, 0.7, 0.6, 0.2, 0};
  for (const char* id : {"a", "b"}) {
    ScoreTable scores;
    for (size_t i = 0; i < 5; ++i) {
      scores.push_back({falling[i], falling[4 - i], 0.1});
    }
    tuples.push_back(AggregateTuple(id, scores, false));
  }
  Use(tuples);
  options_.add_clusters(3);
  const ClusterReport report = Run();
  const auto& groups = report.groups();
  for (int c = 0; c < 2; ++c) {
    ASSERT_EQ(groups[c].members(0).source(), static_cast<uint32_t>(c));
    EXPECT_NEAR(groups[c].share_reversed_from(2), report.share_by_chance(),
                1e-12);
    EXPECT_EQ(groups[c].kendall_from(2), 0.5);
    EXPECT_EQ(groups[2].kendall_from(c), 0.5);
    EXPECT_EQ(groups[c].kendall_from(1 - c), 1);
    EXPECT_EQ(groups[c].kendall_from(c), 0);
  }
}

// Two groups of one: no silhouette, no advice, nothing on the diagonal.
TEST_F(ClusterChanceTest, TwoSourcesHaveNoSilhouette) {
  Use(SourceTuples(50, {1, -1}, 0));
  const ClusterReport report = Run();
  ASSERT_EQ(report.trials_size(), 1);
  EXPECT_TRUE(report.trials(0).chosen());
  EXPECT_FALSE(report.trials(0).has_silhouette());
  EXPECT_THAT(Text(report), AllOf(Not(HasSubstr("may be only one")),
                                  Not(HasSubstr("try more")),
                                  HasSubstr("   group 0        -  100.0 %"),
                                  HasSubstr("   group 0    0.0 %  100.0 %")));
}

// With 4 vectors in 3 groups there is nothing more to try.
TEST_F(ClusterChanceTest, AsksForMoreOnlyWhereThereAreMore) {
  ClusterReport report;
  report.add_trials()->set_silhouette(0.3);
  auto* best = report.add_trials();
  best->set_clusters(3);
  best->set_chosen(true);
  best->set_silhouette(0.6);
  report.set_vectors(4);
  EXPECT_THAT(Text(report), Not(HasSubstr("try more")));
  report.set_vectors(5);
  EXPECT_THAT(Text(report), HasSubstr("try more"));
}

TEST_F(ClusterChanceTest, CutoffsThatHaveAllCandidatesAreNamed) {
  options_.set_divergence(OrderDivergence::TOP);
  options_.set_cutoff(5);
  Use(QueryTuples(20, 2, kPrototypes, 0.05));
  for (const char* of : {"lists", "queries"}) {
    options_.set_of(of);
    EXPECT_EQ(Problem(),
              "cutoff is 5, must be below 5, the number of candidates");
  }
  options_.set_of("sources");
  std::vector<BanditTuple> tuples = SourceTuples(60, {1, -1, 1}, 0.1);
  Use(tuples);
  const auto small = std::count_if(
      tuples.begin(), tuples.end(),
      [](const auto& tuple) { return tuple.decision().num_candidates() <= 5; });
  const ClusterReport report = Run();
  ASSERT_GT(small, 0);
  EXPECT_EQ(report.weightless_decisions(), static_cast<uint64_t>(small));
  EXPECT_THAT(Text(report),
              HasSubstr(absl::StrCat(small, " decisions weigh nothing")));
}

}  // namespace
}  // namespace sortition
