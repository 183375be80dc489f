#include <algorithm>
#include <map>
#include <numeric>

#include "process/drawing/colours.h"
#include "tests/process/drawing/xml_checker.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "trainer/cluster/cluster_picture.h"
#include "trainer/cluster/cluster_report.h"

namespace sortition {
namespace {

using config::v1::ClusterReport;
using config::v1::OrderDivergence;
using log::v1::BanditTuple;

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
              HasTexts("27 tuples read, 21 decisions used",
                       "1 left out: no candidate ids"));
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

// What `cluster` says about vectors that say little: constant, tied, alone, or
// grouped by chance.

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

class ClusterPictureTest : public ClusterTuplesTest {
 protected:
  std::string Draw() {
    options_.set_picture(dir_.Sub("out") + "/picture.svg");
    Run();
    const std::string text = ReadFile(options_.picture()).value();
    EXPECT_THAT(XmlChecker::Problem(text), IsEmpty());
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf")));
    return text;
  }

  static int Count(const std::string& text, const std::string& part) {
    int count = 0;
    for (size_t at = text.find(part); at != text.npos;
         at = text.find(part, at + 1)) {
      ++count;
    }
    return count;
  }
};

// Circles are 6 sources and 2 in the legend; rectangles are 6 by 2 cells and
// two frames.
TEST_F(ClusterPictureTest, DrawsSourcesAndTheirDivergences) {
  Use(SourceTuples(40, {1, 1, 1, 1, -1, -1}, 0));
  const std::string text = Draw();
  EXPECT_EQ(Count(text, "<circle"), 6 + 2);
  // The means, and one in the legend.
  EXPECT_EQ(Count(text, "<polygon"), 2 + 1);
  EXPECT_EQ(Count(text, "<rect"), 12 + 2);
  EXPECT_EQ(Count(text, ">100 %<"), 6);
  EXPECT_EQ(Count(text, ">0 %<"), 6);
  for (int s = 0; s < 6; ++s) {
    EXPECT_THAT(text, HasTexts(absl::StrCat(">source ", s, "<"),
                               absl::StrCat(">", s, "</text>")));
  }
  EXPECT_THAT(text,
              HasTexts("6 sources of &#39;aggregate&#39; in 2 groups",
                       "First principal component", ">group 0: 4 sources<"));
}

TEST_F(ClusterPictureTest, DrawsOrdersOfLists) {
  std::vector<BanditTuple> tuples = QueryTuples(
      30, 2, {{0.9, 0.7, 0.5, 0.3, 0.1}, {0.1, 0.3, 0.5, 0.7, 0.9}}, 0.05);
  for (BanditTuple& tuple : tuples) {
    tuple.mutable_decision()->set_candidate_ids(0, "a<b&\"c");
    tuple.mutable_decision()->set_candidate_ids(1, "an id of many characters");
  }
  Use(tuples);
  options_.set_of("lists");
  const std::string text = Draw();
  EXPECT_EQ(Count(text, "<circle"), 60 + 2 + 5 * 2);
  EXPECT_EQ(Count(text, "<polyline"), 5);
  EXPECT_EQ(Count(text, ">a&lt;b&amp;&quot;c</text>"), 2);
  EXPECT_EQ(Count(text, ">an id of many…</text>"), 2);
}

TEST_F(ClusterPictureTest, SaysWhatItLeavesOut) {
  Use(QueryTuples(1700, 2, {std::vector<double>(20, 0.5)}, 1));
  options_.set_of("lists");
  options_.add_clusters(12);
  options_.set_restarts(1);
  const std::string text = Draw();
  EXPECT_THAT(text, HasTexts("Drawn: 3000 of 3400 lists, 8 of 12 groups named",
                             "15 of 20 candidates", "8 of 12 groups"));
  EXPECT_EQ(Count(text, "<circle"), 3000 + 8 + 15 * 8);
}

// Two opposite sources take turns: each has about half of the points drawn.
TEST_F(ClusterPictureTest, DrawsAllSourcesOfASample) {
  std::vector<BanditTuple> tuples;
  for (int q = 0; q < 3000; ++q) {
    tuples.push_back(AggregateTuple(absl::StrCat("d", q),
                                    {{1, 0}, {0.5, 0.5}, {0, 1}}, true));
  }
  Use(tuples);
  options_.set_of("lists");
  options_.add_clusters(2);
  options_.set_restarts(1);
  const std::string text = Draw();
  for (const int group : {0, 1}) {
    // 6 standard deviations, and a few for means, legend and headings.
    EXPECT_NEAR(Count(text, absl::StrCat("fill=\"", Colour(group), "\"")), 1500,
                175);
  }
  EXPECT_EQ(Count(text, " of the variance of a sample)"), 2);
}

// Groups of one have no other member, and the last source says nothing.
TEST_F(ClusterPictureTest, CellsWithoutAShareAreMarked) {
  Use({AggregateTuple("d", {{1, 0, 5}, {0.5, 0.5, 5}, {0, 1, 5}}, false)});
  options_.add_clusters(3);
  const std::string text = Draw();
  EXPECT_EQ(Count(text, ">-<"), 2 + 3);
  EXPECT_EQ(Count(text, ">100 %<"), 2);
  EXPECT_EQ(Count(text, ">50 %<"), 2);
  EXPECT_EQ(Count(text, "an unrelated order: 50 %"), 1);
}

TEST_F(ClusterPictureTest, DrawsWhatHardlyVaries) {
  std::vector<BanditTuple> tuples;
  for (const char* id : {"a", "b"}) {
    tuples.push_back(AggregateTuple(id, {{1, 1}, {0, 0}}, true));
  }
  Use(tuples);
  for (const char* of : {"sources", "lists", "queries"}) {
    options_.set_of(of);
    for (const uint32_t k : {1, 2}) {
      options_.clear_clusters();
      options_.add_clusters(k);
      Draw();
    }
  }
}

}  // namespace
}  // namespace sortition
