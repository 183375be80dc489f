#include <map>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/trec/trec_qrels.h"
#include "io/trec/trec_run.h"
#include "tests/testing/refusals.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

class TrecFilesTest : public testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = dir_ / "file";
    EXPECT_OK(WriteFile(path, text));
    return path;
  }

  TempDir dir_;
};

// Tabs and several spaces separate fields; the lines of query 2 are apart; the
// byte order mark and line ends of Windows are no part of a field.
TEST_F(TrecFilesTest, RunsAreGroupedByQuery) {
  ASSERT_OK_AND_ASSIGN(const TrecRun run,
                       ReadTrecRun(Write("\xef\xbb\xbf"
                                         "2 Q0 d-1 1 0.5 tag\r\n"
                                         "\n"
                                         "10\tQ0\td-9\t1\t-1e-3\ttag\n"
                                         "2  Q0  d-2  2  0.25  tag")));
  ASSERT_EQ(run.queries.size(), 2u);
  EXPECT_EQ(run.queries[0].id, "2");
  EXPECT_THAT(run.queries[0].documents, ElementsAre("d-1", "d-2"));
  EXPECT_THAT(run.queries[0].scores, ElementsAre(0.5, 0.25));
  EXPECT_EQ(run.queries[1].id, "10");
  EXPECT_THAT(run.queries[1].scores, ElementsAre(-1e-3));
  EXPECT_EQ(run.contradicting_ranks, 0u);
}

// Distances instead of scores: the best document has the smallest. A rank that
// is the same in all lines, or no number, contradicts nothing.
TEST_F(TrecFilesTest, CountsRanksThatContradictTheScores) {
  const auto contradictions = [this](const std::string& text) {
    const auto run = ReadTrecRun(Write(text));
    EXPECT_OK(run);
    return run.ok() ? run->contradicting_ranks : 99;
  };
  EXPECT_EQ(contradictions("1 Q0 a 1 0.1 t\n1 Q0 b 2 0.2 t\n1 Q0 c 3 0.3 t\n"
                           "2 Q0 a 1 0.9 t\n"),
            2u);
  EXPECT_EQ(contradictions("1 Q0 a 0 0.1 t\n1 Q0 b 0 0.2 t\n"), 0u);
  EXPECT_EQ(contradictions("1 Q0 a x 0.1 t\n1 Q0 b y 0.2 t\n"), 0u);
}

TEST_F(TrecFilesTest, QrelsBelowZeroCountAsZero) {
  ASSERT_OK_AND_ASSIGN(
      const TrecQrels qrels,
      ReadTrecQrels(Write("q 0 a 2\nq 0 b -2\nr 0 a 0\nq 0 c 1\n")));
  ASSERT_EQ(qrels.queries.size(), 2u);
  EXPECT_EQ(qrels.queries[0].relevances.at("a"), 2u);
  EXPECT_EQ(qrels.queries[0].relevances.at("b"), 0u);
  EXPECT_EQ(qrels.queries[0].relevances.at("c"), 1u);
  EXPECT_EQ(qrels.queries[1].relevances.size(), 1u);
  EXPECT_EQ(qrels.negative_judgements, 1u);
}

TEST_F(TrecFilesTest, ErrorsNameFileLineAndForm) {
  const std::string good = "1 Q0 a 1 0.5 t\n";
  for (const auto& [line, why] : std::map<std::string, std::string>{
           {"1 Q0 b 1 0.5\n",
            "file:2: has 5 fields, must have 6: qid Q0 docno rank score tag"},
           {"1 Q0 b 1 high t\n", "score is 'high', must be a finite number"},
           {"1 Q0 b 1 inf t\n", "score is 'inf'"},
           {"1 Q0 a 2 0.4 t\n",
            "query '1' has document 'a' twice, must have it once"}}) {
    EXPECT_THAT(ReadTrecRun(Write(good + line)), IsInvalidArgument(why));
  }
  EXPECT_THAT(ReadTrecRun(Write("\n")), IsInvalidArgument("has no line"));
  const std::string judged = "1 0 a 1\n";
  for (const auto& [line, why] : std::map<std::string, std::string>{
           {"1 0 b\n",
            "file:2: has 3 fields, must have 4: qid 0 docno relevance"},
           {"1 0 b 0.5\n", "relevance is '0.5', must be an integer up to 31"},
           {"1 0 b 32\n", "relevance is '32'"},
           {"1 0 a 1\n", "has document 'a' twice"}}) {
    EXPECT_THAT(ReadTrecQrels(Write(judged + line)), IsInvalidArgument(why));
  }
  EXPECT_THAT(ReadTrecQrels(Write("")), IsInvalidArgument("has no line"));
  EXPECT_THAT(ReadTrecQrels(dir_ / "none"), IsNotFound("none"));
}

}  // namespace
}  // namespace sortition
