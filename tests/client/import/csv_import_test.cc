// CSV files of other systems: their columns, rows for decisions, lost lines.
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "gmock/gmock.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class CsvImportTest : public ExchangeFixture {
 protected:
  absl::StatusOr<std::vector<log::v1::BanditTuple>> Read(
      const std::string& text, std::vector<std::string> flags) {
    flags.push_back("--format=csv");
    std::filesystem::remove_all(imported());
    RETURN_IF_ERROR(ImportText(text, flags));
    return ReadAllTuples(imported());
  }
};

TEST_F(CsvImportTest, ColumnsHaveTheNamesThatAreGiven) {
  ASSERT_OK_AND_ASSIGN(
      const auto tuples,
      Read("\xef\xbb\xbfquery,click,prob,won,x_a,x_b,other\r\n"
           "\"q,1\",1,0.25,0,1,2,9\r\n"
           "\"q,1\",1,0.25,1,3,4,9\r\n",
           {"--columns=id=query,action=won,p=prob,reward=click,features=x_*",
            "--cannot_abstain", "--model=m", "--version=5"}));
  ASSERT_EQ(tuples.size(), 1u);
  const log::v1::Decision& decision = tuples[0].decision();
  EXPECT_EQ(decision.decision_id(), "q,1");
  EXPECT_EQ(decision.model(), "m");
  EXPECT_EQ(decision.version(), 5u);
  EXPECT_FALSE(decision.can_abstain());
  EXPECT_THAT(decision.action(), ElementsAre(1));
  EXPECT_THAT(decision.dense_values(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(decision.log_propensity(), std::log(0.25));
  EXPECT_EQ(tuples[0].reward(), 1);
}

TEST_F(CsvImportTest, ADecisionWithoutChosenLineAbstained) {
  ASSERT_OK_AND_ASSIGN(
      const auto tuples,
      Read("decision_id,chosen,propensity,reward,f0\na,0,1,0,1\na,,1,0,2\n",
           {}));
  EXPECT_THAT(tuples[0].decision().action(), ElementsAre(kAbstain));
}

TEST_F(CsvImportTest, SparseCellsNeedTheNumberOfFeatures) {
  const std::string text =
      "decision_id,chosen,propensity,reward,s\na,1,1,0,0:1.5 7:2\na,0,1,0,\n";
  const std::string columns = "--columns=sparse=s";
  EXPECT_THAT(Read(text, {columns}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("num_features is missing")));
  EXPECT_THAT(Read(text, {columns, "--num_features=7"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("7")));
  ASSERT_OK_AND_ASSIGN(const auto tuples,
                       Read(text, {columns, "--num_features=8"}));
  const auto& sparse = tuples[0].decision().sparse();
  EXPECT_THAT(sparse.row_offsets(), ElementsAre(0, 2, 2));
  EXPECT_THAT(sparse.columns(), ElementsAre(0, 7));
  EXPECT_THAT(sparse.values(), ElementsAre(1.5, 2));
}

TEST_F(CsvImportTest, ALineForADecisionGivesEachActionColumnsOfItsOwn) {
  const std::string text =
      "time,arm,propensity,reward,f0,f1\n"
      "2026-01-31T09:30:00.5Z,2,0.5,1,7,0\n"
      "1,-1,0.5,0,0,8\n";
  const std::vector<std::string> flags = {
      "--rows=decision", "--columns=action=arm,time=time", "--num_actions=3"};
  ASSERT_OK_AND_ASSIGN(const auto tuples, Read(text, flags));
  ASSERT_EQ(tuples.size(), 2u);
  const log::v1::Decision& first = tuples[0].decision();
  EXPECT_EQ(first.time_us(), 1769851800500000);
  EXPECT_EQ(first.decision_id(), "row-1");
  EXPECT_EQ(first.num_candidates(), 3u);
  EXPECT_EQ(first.num_features(), 6u);
  EXPECT_THAT(first.action(), ElementsAre(2));
  EXPECT_THAT(first.sparse().columns(), ElementsAre(0, 2, 4));
  EXPECT_THAT(first.sparse().values(), ElementsAre(7, 7, 7));
  EXPECT_THAT(tuples[1].decision().action(), ElementsAre(kAbstain));
  EXPECT_THAT(tuples[1].decision().sparse().columns(), ElementsAre(1, 3, 5));
  EXPECT_FALSE(Read(text, {flags[0], flags[1]}).ok());
  EXPECT_FALSE(Read(text, {flags[0], flags[1], "--num_actions=2"}).ok());
}

TEST_F(CsvImportTest, TheIndexTellsDecisionsOfOneIdApart) {
  const std::string head =
      "decision_id,document_index,chosen,propensity,reward,f0\n";
  const std::string twice = "a,0,1,0.5,1,7\na,1,0,0.5,1,8\n";
  ASSERT_OK_AND_ASSIGN(const auto tuples, Read(head + twice, {}));
  EXPECT_EQ(tuples[0].decision().num_candidates(), 2u);
  EXPECT_THAT(Read(head + twice + twice, {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(":4: "), HasSubstr("'a'"),
                             HasSubstr("given before"))));
  // A line is missing.
  EXPECT_THAT(Read(head + "a,0,1,0.5,1,7\na,2,0,0.5,1,8\n", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(":3: column 'document_index' is '2'"),
                             HasSubstr("must be 1"))));
  EXPECT_THAT(Read(head + "a,x,1,0.5,1,7\n", {}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr(":2: column 'document_index' is 'x'")));
}

TEST_F(CsvImportTest, LinesOfADecisionMayNotContradictEachOther) {
  const std::vector<std::string> columns = {
      "time_us",      "unit_id",      "model",       "version",
      "action_kind",  "propensity",   "reward",      "log_propensity",
      "has_feedback", "action_shown", "censored",    "keep_probability",
      "can_abstain",  "num_features", "attribute.x", "seen_ranks"};
  const std::vector<std::string> first = {
      "1", "u", "m", "2", "SELECT", "0.5", "1", "-0.6931471805599453",
      "1", "1", "0", "1", "0",      "3",   "y", "1"};
  ASSERT_EQ(columns.size(), first.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    std::vector<std::string> other = first;
    other[i] = "0.75";
    const std::string text = absl::StrCat(
        absl::StrJoin(columns, ","), ",decision_id,chosen,features\n",
        absl::StrJoin(first, ","), ",a,1,0:1\n",  //
        absl::StrJoin(first, ","), ",a,0,1:1\n");
    EXPECT_OK(Read(text, {}));
    EXPECT_THAT(
        Read(text + absl::StrJoin(other, ",") + ",a,0,2:1\n", {}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr(absl::StrCat(
                     ":4: column '", columns[i], "' is '0.75', must be '",
                     first[i], "', as in line 2 of the same decision"))));
  }
}

TEST_F(CsvImportTest, ShownRanksMayHaveColumnsOfAnyName) {
  const std::string head = "decision_id,chosen,propensity,reward,f0,on,depth\n";
  const std::vector<std::string> flags = {"--action=rank",
                                          "--columns=rank_shown=on,seen=depth"};
  ASSERT_OK_AND_ASSIGN(
      const auto tuples,
      Read(head + "a,2,0.5,1,7,1,2\na,3,0.5,1,8,0,2\na,1,0.5,1,9,1,2\n"
                  "b,1,0.5,1,7,,\nb,2,0.5,1,7,,\n"
                  "c,1,0.5,1,7,0,\nc,2,0.5,1,7,0,\n",
           flags));
  ASSERT_EQ(tuples.size(), 3u);
  EXPECT_THAT(tuples[0].decision().action(), ElementsAre(2, 0, 1));
  EXPECT_THAT(tuples[0].shown().shown(), ElementsAre(2, 0));
  EXPECT_EQ(tuples[0].shown().seen_ranks(), 2u);
  EXPECT_FALSE(tuples[1].has_shown());  // Nothing is known.
  EXPECT_TRUE(tuples[2].shown().not_shown());
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,0,\na,2,0.5,1,8,1,\n", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("rank_shown is 0 at the rank 1 and not at "
                                 "the rank 2 behind it")));
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,1,0\n", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("seen_ranks is 0, must be at least 1")));
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,maybe,\n", flags).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'on' is 'maybe', must be 0 or 1")));
}

TEST_F(CsvImportTest, ColumnsBecomeAttributes) {
  const std::string text =
      "decision_id,chosen,propensity,reward,f0,attributes,attribute.device,os\n"
      "a,1,0.5,1,7,\"{\"\"device\"\":\"\"tv\"\",\"\"b\"\":\"\"\"\"}\",phone,x\n"
      "b,1,0.5,1,7,,,\n";
  ASSERT_OK_AND_ASSIGN(const auto tuples,
                       Read(text, {"--columns=attribute.system=os"}));
  ASSERT_EQ(tuples.size(), 2u);
  const auto& attributes = tuples[0].decision().attributes();
  EXPECT_EQ(attributes.size(), 3u);
  EXPECT_EQ(attributes.at("device"), "phone");  // Its own column counts.
  EXPECT_EQ(attributes.at("b"), "");
  EXPECT_EQ(attributes.at("system"), "x");
  // An empty cell is no attribute.
  EXPECT_TRUE(tuples[1].decision().attributes().empty());
}

TEST_F(CsvImportTest, AttributesMustBeAnObjectOfStrings) {
  const std::string head =
      "decision_id,chosen,propensity,reward,f0,attributes\n";
  for (const char* cell : {"device", "[]", "\"{\"\"a\"\":1}\""}) {
    EXPECT_THAT(
        Read(absl::StrCat(head, "a,1,0.5,1,7,", cell, "\n"), {}).status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 AllOf(HasSubstr(":2: column 'attributes' is '"),
                       HasSubstr("must be a JSON object of strings"))))
        << cell;
  }
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,\n", {"--columns=attribute.device=dev"})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("column 'dev' is missing")));
  EXPECT_THAT(Read(head, {"--columns=attribute.=dev"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("must be FIELD=COLUMN")));
}

TEST_F(CsvImportTest, ALostLineLosesEveryDecisionThatItMayBelongTo) {
  // The lost line is the second of b, or the first of c: neither may become a
  // tuple with a candidate less.
  std::string text = "decision_id,chosen,propensity,reward,f0\n";
  for (int i = 0; i < 400; ++i) absl::StrAppend(&text, "a", i, ",1,1,0,1\n");
  text += "b,1,1,0,1\nlost\nc,1,1,0,1\nd,1,1,0,1\n";
  ASSERT_OK_AND_ASSIGN(const auto tuples, Read(text, {"--skip_bad"}));
  ASSERT_EQ(tuples.size(), 401u);
  EXPECT_EQ(tuples.back().decision().decision_id(), "d");
  EXPECT_THAT(error_, HasSubstr("3 bad decisions"));
  EXPECT_THAT(error_, HasSubstr(":403: the line has 1 fields"));
}

TEST_F(CsvImportTest, LinesThatAWrongQuoteJoinsCountAsBad) {
  std::string text = "decision_id,chosen,propensity,reward,f0\n";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&text, "a", i, i == 100 || i == 200 ? "\"" : "",
                    ",1,1,0,1\n");
  }
  EXPECT_THAT(Read(text, {"--skip_bad"}).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("decisions are bad, must be at most 1 %")));
  EXPECT_TRUE(NothingImported());
}

TEST_F(CsvImportTest, ABadCandidateLosesItsDecisionOnly) {
  std::string text = "decision_id,chosen,propensity,reward,f0\n";
  for (int i = 0; i < 100; ++i) absl::StrAppend(&text, "a", i, ",1,1,0,1\n");
  text += "b,1,1,0,1\nb,0,1,0,x\nb,0,1,0,1\nc,1,1,0,1\n";
  ASSERT_OK_AND_ASSIGN(const auto tuples, Read(text, {"--skip_bad"}));
  EXPECT_EQ(tuples.size(), 101u);
  EXPECT_EQ(tuples.back().decision().decision_id(), "c");
  EXPECT_THAT(error_, HasSubstr("1 bad decisions"));
}

}  // namespace
}  // namespace sortition
