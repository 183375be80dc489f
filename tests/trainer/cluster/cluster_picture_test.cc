#include "trainer/cluster/cluster_picture.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "process/drawing/colours.h"
#include "tests/process/drawing/xml_checker.h"
#include "tests/testing/status_matchers.h"
#include "tests/trainer/cluster/cluster_fixture.h"
#include "tests/trainer/cluster/score_lists.h"

namespace sortition {
namespace {

using log::v1::BanditTuple;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

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
    EXPECT_THAT(text, HasSubstr(absl::StrCat(">source ", s, "<")));
    EXPECT_THAT(text, HasSubstr(absl::StrCat(">", s, "</text>")));
  }
  EXPECT_THAT(text, HasSubstr("6 sources of &#39;aggregate&#39; in 2 groups"));
  EXPECT_THAT(text, HasSubstr("First principal component"));
  EXPECT_THAT(text, HasSubstr(">group 0: 4 sources<"));
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
  EXPECT_THAT(text,
              HasSubstr("Drawn: 3000 of 3400 lists, 8 of 12 groups named"));
  EXPECT_THAT(text, HasSubstr("15 of 20 candidates"));
  EXPECT_THAT(text, HasSubstr("8 of 12 groups"));
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
