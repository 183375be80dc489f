#include <map>

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
using log::v1::BanditTuple;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using ClusterDataTest = ClusterTuplesTest;

// The source of group 1 has no influence if its weight is 0.
TEST_F(ClusterDataTest, QueriesAreTheLoggedWeightedMeans) {
  std::vector<BanditTuple> tuples;
  for (int q = 0; q < 10; ++q) {
    tuples.push_back(AggregateTuple(absl::StrCat("d", q),
                                    {{1, 0}, {0.5, 0.6}, {0, 1}}, true));
    auto* aggregation = tuples.back().mutable_decision()->mutable_aggregation();
    aggregation->add_weights(q < 7 ? 1 : 0);
    aggregation->add_weights(q < 7 ? 0 : 1);
  }
  tuples[9].mutable_decision()->mutable_aggregation()->set_weights(0, -1);
  Use(tuples);
  options_.set_of("queries");
  options_.add_clusters(2);
  const ClusterReport report = Run();
  EXPECT_EQ(report.groups(0).size(), 7u);
  EXPECT_EQ(report.groups(1).size(), 2u);
  EXPECT_THAT(OrderOfGroup(report.groups(0)), ElementsAre("c0", "c1", "c2"));
  EXPECT_THAT(OrderOfGroup(report.groups(1)), ElementsAre("c2", "c1", "c0"));
  EXPECT_EQ(report.groups(1).order(1).mean(), static_cast<double>(0.6f));
  EXPECT_EQ(report.excluded().at("malformed weights"), 1u);
}

// Candidates that were not eligible must not matter, whatever their scores: not
// even to min-max.
TEST_F(ClusterDataTest, OnlyEligibleCandidatesCount) {
  std::vector<BanditTuple> tuples = QueryTuples(30, 2, kPrototypes, 0.05);
  options_.set_of("lists");
  options_.add_clusters(3);
  Use(tuples);
  const ClusterReport expected = Run();
  for (BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    for (const float score : {1000.0f, -1000.0f})
      decision->add_dense_values(score);
    decision->set_num_candidates(6);
    decision->add_candidate_ids("a");
    for (int i = 0; i < 6; ++i) decision->add_eligible(i < 5);
  }
  Use(tuples);
  EXPECT_EQ(Run().SerializeAsString(), expected.SerializeAsString());
}

TEST_F(ClusterDataTest, SparseListsAreDenseOnes) {
  std::vector<BanditTuple> tuples = SourceTuples(40, {1, -1, 1, -1}, 0.3);
  Use(tuples);
  const ClusterReport expected = Run();
  for (BanditTuple& tuple : tuples) {
    log::v1::Decision* decision = tuple.mutable_decision();
    auto* sparse = decision->mutable_sparse();
    sparse->add_row_offsets(0);
    for (int e = 0; e < decision->dense_values_size(); ++e) {
      sparse->add_columns(e % 4);
      sparse->add_values(decision->dense_values(e));
      if (e % 4 == 3) sparse->add_row_offsets(e + 1);
    }
    decision->clear_dense_values();
  }
  Use(tuples);
  EXPECT_EQ(Run().SerializeAsString(), expected.SerializeAsString());
}

TEST_F(ClusterDataTest, CountsWhatIsLeftOutByReason) {
  std::vector<BanditTuple> tuples = QueryTuples(20, 2, kPrototypes, 0.05);
  const auto add = [&](const std::string& id, auto change) {
    tuples.push_back(tuples[0]);
    tuples.back().mutable_decision()->set_decision_id(id);
    change(tuples.back().mutable_decision());
  };
  add("a", [](auto* d) { d->set_model("other"); });
  add("b", [](auto* d) { d->set_num_candidates(4); });
  add("c", [](auto* d) { d->clear_candidate_ids(); });
  add("d", [](auto* d) { d->set_candidate_ids(0, "c1"); });
  add("e", [](auto* d) { d->set_candidate_ids(0, "new"); });
  add("f", [](auto* d) {
    for (int i = 0; i < 5; ++i) d->add_eligible(i == 2);
  });
  // The same candidates in another order are the same set.
  add("g", [](auto* d) {
    d->mutable_candidate_ids()->SwapElements(0, 1);
    for (int s = 0; s < 2; ++s)
      d->mutable_dense_values()->SwapElements(s, 2 + s);
  });
  Use(tuples);
  options_.set_of("lists");
  options_.add_clusters(3);
  ClusterReport report = Run();
  EXPECT_EQ(report.read_tuples(), 27u);
  EXPECT_EQ(report.decisions(), 21u);
  EXPECT_THAT(report.groups(0).size(), 16u);  // "g" has the first set.
  using Counts = std::map<std::string, uint64_t>;
  EXPECT_EQ(
      Counts(report.excluded().begin(), report.excluded().end()),
      (Counts{{"other model", 1},
              {"malformed features", 1},
              {"no candidate ids", 1},
              {"candidate ids that repeat, or not one for each candidate", 1},
              {"other candidates than in most decisions", 1},
              {"fewer than 2 eligible candidates", 1}}));
  EXPECT_THAT(FormatClusterReport(report),
              AllOf(HasSubstr("27 tuples read, 21 decisions used"),
                    HasSubstr("1 left out: no candidate ids")));
  // Sources have no ids; another decision has a different number of them.
  add("h", [](auto* d) {
    d->set_num_features(1);
    d->mutable_dense_values()->Truncate(5);
  });
  Use(tuples);
  options_.set_of("sources");
  options_.clear_clusters();
  report = Run();
  EXPECT_EQ(Counts(report.excluded().begin(), report.excluded().end()),
            (Counts{{"other model", 1},
                    {"malformed features", 1},
                    {"other number of sources", 1},
                    {"fewer than 2 eligible candidates", 1}}));
}

// Decisions of an ordinary model, whose features are the sources.
TEST_F(ClusterDataTest, TakesModelsOnRequest) {
  Use(MakeTuples({.action_kind = ActionKind::kRank}, 20));
  EXPECT_THAT(Problem(),
              HasSubstr("no decisions of model 'aggregate' to group: "
                        "20 tuples read, 20 left out: other model"));
  options_.set_model("default");
  EXPECT_EQ(Run().vectors(), 5u);
}

// 400 decisions on about 4.5 candidates by 400 sources take about 12 MiB, and
// as much again for a copy.
TEST_F(ClusterDataTest, SubSamplesWithinMemoryWhateverTheOrder) {
  std::vector<int> directions(400, 1);
  for (int s = 0; s < 100; ++s) directions[s] = -1;
  std::vector<BanditTuple> tuples = SourceTuples(400, directions, 0.3);
  options_.add_clusters(2);
  Use(tuples);
  const ClusterReport all = Run();
  EXPECT_EQ(all.kept_fraction(), 1);
  options_.set_memory_mb(4);
  const ClusterReport some = Run();
  EXPECT_EQ(some.kept_fraction(), 0.25);
  EXPECT_LT(some.decisions(), 150u);
  EXPECT_GT(some.decisions(), 50u);
  EXPECT_EQ(some.groups(1).size(), 100u);
  EXPECT_THAT(FormatClusterReport(some),
              HasSubstr("sub-sampled to 25 % of the decisions"));
  std::reverse(tuples.begin(), tuples.end());
  Use(tuples);
  EXPECT_EQ(Run().SerializeAsString(), some.SerializeAsString());
}

// 3000 sets of candidates that occur once exceed the counts that fit into 1
// MiB; the smaller set of 300 decisions is found in a sample.
TEST_F(ClusterDataTest, FindsTheMostCommonCandidatesAmongVeryMany) {
  std::vector<BanditTuple> tuples = QueryTuples(300, 2, kPrototypes, 0.05);
  for (int i = 0; i < 3000; ++i) {
    tuples.push_back(AggregateTuple(absl::StrCat("x", i),
                                    {{1}, {1}, {1}, {0}, {0}, {0}}, true));
    tuples.back().mutable_decision()->set_candidate_ids(0,
                                                        absl::StrCat("y", i));
  }
  Use(tuples);
  options_.set_of("lists");
  options_.set_memory_mb(1);
  const ClusterReport report = Run();
  EXPECT_EQ(report.decisions(), 300u);
  EXPECT_EQ(report.items(), 5u);
  EXPECT_EQ(report.kept_fraction(), 1);
  EXPECT_EQ(report.excluded().at("other candidates than in most decisions"),
            3000u);
}

TEST_F(ClusterDataTest, LeavesOutWhatNoMemoryHolds) {
  std::vector<BanditTuple> tuples = SourceTuples(3, {1, -1}, 0);
  log::v1::Decision* decision = tuples[0].mutable_decision();
  decision->clear_dense_values();
  decision->set_num_candidates(2);
  decision->clear_action();
  decision->mutable_sparse()->mutable_row_offsets()->Add(0);
  decision->mutable_sparse()->mutable_row_offsets()->Add(0);
  decision->mutable_sparse()->mutable_row_offsets()->Add(0);
  decision->set_num_features(4000000000u);
  Use({tuples[0]});
  EXPECT_THAT(Problem(), HasSubstr("more scores than memory_mb holds"));
}

// 40000 candidates with 2 sources: their scores fit into 1 MiB, but not
// together with the copy that is grouped. The other decisions must not be
// affected.
TEST_F(ClusterDataTest, LeavesOutOneDecisionThatIsTooLarge) {
  std::vector<BanditTuple> tuples = SourceTuples(60, {1, -1}, 0.1);
  ScoreTable scores(40000, {0, 1});
  scores[7] = {1, 0};
  tuples.push_back(AggregateTuple("huge", scores, false));
  Use(tuples);
  options_.set_memory_mb(1);
  const ClusterReport report = Run();
  EXPECT_EQ(report.decisions(), 60u);
  EXPECT_EQ(report.kept_fraction(), 1);
  EXPECT_EQ(report.excluded().at("more scores than memory_mb holds"), 1u);
}

TEST_F(ClusterDataTest, CountsListsThatSayNothing) {
  std::vector<BanditTuple> tuples = QueryTuples(10, 1, kPrototypes, 0.05);
  for (float& score : *tuples[3].mutable_decision()->mutable_dense_values()) {
    score = 7;
  }
  Use(tuples);
  options_.set_of("lists");
  const ClusterReport report = Run();
  EXPECT_EQ(report.flat(), 1u);
  EXPECT_THAT(FormatClusterReport(report),
              HasSubstr("1 of them tell no candidates apart"));
}

}  // namespace
}  // namespace sortition
