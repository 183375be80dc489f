// CSV files of other systems: their columns, rows for decisions, lost lines.

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/import/dsjson_features.h"
#include "core/base/status_macros.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

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
  EXPECT_THAT(Read(text, {columns}),
              IsInvalidArgument("num_features is missing"));
  EXPECT_THAT(Read(text, {columns, "--num_features=7"}),
              IsInvalidArgument("7"));
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
  EXPECT_THAT(first.decision_id(), testing::StartsWith("row-1-"));
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
  EXPECT_THAT(Read(head + twice + twice, {}),
              IsInvalidArgument(":4: ", "'a'", "given before"));
  // A line is missing.
  EXPECT_THAT(
      Read(head + "a,0,1,0.5,1,7\na,2,0,0.5,1,8\n", {}),
      IsInvalidArgument(":3: column 'document_index' is '2'", "must be 1"));
  EXPECT_THAT(Read(head + "a,x,1,0.5,1,7\n", {}),
              IsInvalidArgument(":2: column 'document_index' is 'x'"));
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
    EXPECT_THAT(Read(text + absl::StrJoin(other, ",") + ",a,0,2:1\n", {}),
                IsInvalidArgument(absl::StrCat(
                    ":4: column '", columns[i], "' is '0.75', must be '",
                    first[i], "', as in line 2 of the same decision")));
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
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,0,\na,2,0.5,1,8,1,\n", flags),
              IsInvalidArgument("rank_shown is 0 at the rank 1 and not at "
                                "the rank 2 behind it"));
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,1,0\n", flags),
              IsInvalidArgument("seen_ranks is 0, must be at least 1"));
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,maybe,\n", flags),
              IsInvalidArgument("column 'on' is 'maybe', must be 0 or 1"));
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
    EXPECT_THAT(Read(absl::StrCat(head, "a,1,0.5,1,7,", cell, "\n"), {}),
                IsInvalidArgument(":2: column 'attributes' is '",
                                  "must be a JSON object of strings"))
        << cell;
  }
  EXPECT_THAT(Read(head + "a,1,0.5,1,7,\n", {"--columns=attribute.device=dev"})
                  .status(),
              IsInvalidArgument("column 'dev' is missing"));
  EXPECT_THAT(Read(head, {"--columns=attribute.=dev"}),
              IsInvalidArgument("must be FIELD=COLUMN"));
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
  EXPECT_THAT(error_,
              HasTexts("3 bad decisions", ":403: the line has 1 fields"));
}

TEST_F(CsvImportTest, LinesThatAWrongQuoteJoinsCountAsBad) {
  std::string text = "decision_id,chosen,propensity,reward,f0\n";
  for (int i = 0; i < 300; ++i) {
    absl::StrAppend(&text, "a", i, i == 100 || i == 200 ? "\"" : "",
                    ",1,1,0,1\n");
  }
  EXPECT_THAT(Read(text, {"--skip_bad"}),
              IsInvalidArgument("decisions are bad, must be at most 1 %"));
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

// dsjson of Vowpal Wabbit: features by name, outcomes, what is not known here.

// An event as the documentation of Vowpal Wabbit shows it.
constexpr char kEvent[] =
    R"({"_label_cost":-1.5,"_label_probability":0.8166667,"_label_Action":2,)"
    R"("_labelIndex":1,"o":[{"v":1.5,"EventId":"13118d9b"}],)"
    R"("Timestamp":"2021-02-04T16:31:29.2460000Z","Version":"1",)"
    R"("EventId":"13118d9b","a":[2,1],"c":{"GUser":{"id":"a","major":"eng",)"
    R"("age":7},"_multi":[{"TAction":{"a1":"f1"}},{"TAction":{"a2":"f2",)"
    R"("w":0.25,"on":true,"off":false}}]},"p":[0.8166667,0.1833333],)"
    R"("VWState":{"m":"ff0744c1aa494e1ab39ba0c78d048146/550c12cbd3aa47f0"}})";

class DsjsonImportTest : public ExchangeFixture {
 protected:
  log::v1::BanditTuple Read(const std::string& line,
                            const std::string& hash_bits) {
    std::filesystem::remove_all(imported());
    EXPECT_OK(
        ImportText(line, {"--format=dsjson", "--hash_bits=" + hash_bits}));
    const auto tuples = ReadAllTuples(imported());
    EXPECT_EQ(tuples.size(), 1u);
    return tuples.empty() ? log::v1::BanditTuple() : tuples[0];
  }
};

TEST_F(DsjsonImportTest, AnEventOfVowpalWabbitIsRead) {
  const log::v1::BanditTuple tuple = Read(kEvent, "20");
  const log::v1::Decision& decision = tuple.decision();
  EXPECT_EQ(decision.decision_id(), "13118d9b");
  EXPECT_EQ(decision.time_us(), 1612456289246000);
  EXPECT_EQ(decision.model(), "default");  // The name is no model/version.
  EXPECT_EQ(decision.action_kind(), log::v1::SELECT);
  EXPECT_FALSE(decision.can_abstain());
  EXPECT_THAT(decision.action(), ElementsAre(1));
  EXPECT_EQ(decision.log_propensity(), std::log(0.8166667));
  EXPECT_EQ(tuple.reward(), 1.5);
  EXPECT_TRUE(tuple.has_feedback());
  EXPECT_EQ(decision.num_features(), 1u << 20);
  // Three shared features, of which each candidate has its own copy; one, and
  // three that are not 0, of the candidates.
  EXPECT_THAT(decision.sparse().row_offsets(), ElementsAre(0, 4, 10));
}

TEST_F(DsjsonImportTest, AFeatureKeepsItsColumn) {
  const log::v1::Decision decision = Read(kEvent, "20").decision();
  std::map<uint32_t, float> second;
  for (int k = 4; k < 10; ++k) {
    second[decision.sparse().columns(k)] = decision.sparse().values(k);
  }
  EXPECT_EQ(second[HashedColumn("GUser", std::string("id\0a", 4), 20)], 1);
  EXPECT_EQ(second[HashedColumn("GUser", "age", 20)], 7);
  EXPECT_EQ(second[HashedColumn("TAction", std::string("a2\0f2", 5), 20)], 1);
  EXPECT_EQ(second[HashedColumn("TAction", "w", 20)], 0.25);
  EXPECT_EQ(second[HashedColumn("TAction", "on", 20)], 1);
  // Columns are the same in every release: models refer to them.
  EXPECT_EQ(HashedColumn("TAction", "w", 20), 326198u);
}

TEST_F(DsjsonImportTest, FeaturesThatCollideAddUp) {
  const log::v1::Decision decision = Read(kEvent, "1").decision();
  float sum = 0;
  const auto& sparse = decision.sparse();
  for (uint32_t k = sparse.row_offsets(1); k < sparse.row_offsets(2); ++k) {
    sum += sparse.values(static_cast<int>(k));
  }
  EXPECT_EQ(sum, 1 + 1 + 7 + 1 + 0.25f + 1);
}

TEST_F(DsjsonImportTest, WithoutOutcomesThereWasNoFeedback) {
  std::string line = kEvent;
  const size_t begin = line.find("\"o\":");
  line.erase(begin, line.find("\"Timestamp\"") - begin);
  EXPECT_FALSE(Read(line, "18").has_feedback());
}

TEST_F(DsjsonImportTest, CostsOfSlotsAddUp) {
  const log::v1::BanditTuple tuple = Read(
      R"({"EventId":"e","_outcomes":[{"_a":[2,0,1],"_p":[0.5,0.3,0.2],)"
      R"("_label_cost":-1},{"_a":[0,1],"_p":[0.25,0.75],"_label_cost":-2}],)"
      R"("c":{"_multi":[{"f":[1]},{"f":[2]},{"f":[3]}]}})",
      "0");
  EXPECT_EQ(tuple.reward(), 3);
  EXPECT_EQ(tuple.decision().action_kind(), log::v1::RANK);
  EXPECT_THAT(tuple.decision().action(), ElementsAre(2, 0));
  EXPECT_DOUBLE_EQ(tuple.decision().log_propensity(), std::log(0.125));
  EXPECT_THAT(tuple.decision().dense_values(), ElementsAre(1, 2, 3));
  ASSERT_EQ(tuple.rank_rewards_size(), 2);
  EXPECT_EQ(tuple.rank_rewards(1).rank(), 1u);
  EXPECT_EQ(tuple.rank_rewards(1).reward(), 2);
}

TEST_F(DsjsonImportTest, RanksShownAndSeenAreChecked) {
  const auto read = [this](const std::string& ranks) {
    std::filesystem::remove_all(imported());
    return ImportText(
        R"({"EventId":"e","_outcomes":[{"_a":[2],"_p":[0.5],"_label_cost":0},)"
        R"({"_a":[0],"_p":[0.25],"_label_cost":0}],)"
        R"("c":{"_multi":[{"f":[1]},{"f":[2]},{"f":[3]}]},)" +
            ranks + "}",
        {"--format=dsjson", "--hash_bits=0"});
  };
  EXPECT_OK(read("\"_shown_ranks\":1,\"_seen_ranks\":1"));
  EXPECT_THAT(read("\"_shown_ranks\":3"),
              IsInvalidArgument("number of ranks shown is 3, must be in "
                                "[0, 2]"));
  EXPECT_THAT(read("\"_shown_ranks\":-1"),
              IsInvalidArgument("_shown_ranks is -1, must be at least 0"));
  EXPECT_THAT(read("\"_seen_ranks\":0"),
              IsInvalidArgument("seen_ranks is 0, must be at least 1"));
}

// CSV files in the form of the Open Bandit Dataset.

constexpr char kLog[] =
    ",timestamp,item_id,position,click,propensity_score,user_feature_0,"
    "user_feature_1,user-item_affinity_0,user-item_affinity_1,"
    "user-item_affinity_2\n"
    "0,2019-11-24 00:00:16.004101+00:00,2,3,0,0.0125,81ce,2723,0.0,0.0,1.5\n"
    "1,2019-11-24 00:00:17+00:00,0,1,1,0.25,81ce,2720,0.5,0.0,0.0\n"
    "2,2019-11-24 00:00:18.5+00:00,1,2,0,0.325,81cf,2723,0.0,0.0,0.0\n";
constexpr char kItems[] =
    ",item_id,item_feature_0,item_feature_1\n"
    "0,1,-0.5,red\n1,0,0.25,blue\n2,2,0.75,red\n";

class ObdImportTest : public ExchangeFixture {
 protected:
  std::vector<log::v1::BanditTuple> Read(std::vector<std::string> flags) {
    std::filesystem::remove_all(imported());
    flags.push_back("--format=obd");
    EXPECT_OK(ImportText(kLog, flags));
    return ReadAllTuples(imported());
  }
  std::string ItemsFile(const std::string& text) {
    const std::string path = dir_ / "item_context.csv";
    EXPECT_OK(WriteFile(path, text));
    return "--item_context=" + path;
  }
};

TEST_F(ObdImportTest, WhatWasLoggedComesBack) {
  const auto tuples = Read({ItemsFile(kItems)});
  ASSERT_EQ(tuples.size(), 3u);
  const std::vector<std::string> ids = {"obd-3-1", "obd-1-2", "obd-2-3"};
  const std::vector<int> items = {2, 0, 1};
  const std::vector<double> clicks = {0, 1, 0};
  const std::vector<double> propensities = {0.0125, 0.25, 0.325};
  for (size_t i = 0; i < tuples.size(); ++i) {
    const log::v1::Decision& decision = tuples[i].decision();
    EXPECT_EQ(decision.decision_id(), ids[i]);
    EXPECT_THAT(decision.action(), ElementsAre(items[i]));
    EXPECT_EQ(tuples[i].reward(), clicks[i]);
    EXPECT_EQ(decision.log_propensity(), std::log(propensities[i]));
    EXPECT_EQ(decision.num_candidates(), 3u);
    EXPECT_FALSE(decision.can_abstain());
    EXPECT_EQ(decision.attributes().size(), 3u);
    EXPECT_EQ(decision.attributes().at("position"), ids[i].substr(4, 1));
  }
  EXPECT_EQ(tuples[0].decision().time_us(), 1574553616004101);
  EXPECT_EQ(tuples[2].decision().attributes().at("user_feature_0"), "81cf");
}

TEST_F(ObdImportTest, CandidatesHaveItemContextAndAffinity) {
  // Columns: items 0 to 2, item_feature_0, blue, red, affinity.
  const log::v1::Decision decision = Read({ItemsFile(kItems)})[0].decision();
  EXPECT_EQ(decision.num_features(), 7u);
  const auto& sparse = decision.sparse();
  EXPECT_THAT(sparse.row_offsets(), ElementsAre(0, 3, 6, 10));
  EXPECT_THAT(sparse.columns(), ElementsAre(0, 3, 4, 1, 3, 5, 2, 3, 5, 6));
  EXPECT_THAT(sparse.values(),
              ElementsAre(1, 0.25, 1, 1, -0.5, 1, 1, 0.75, 1, 1.5));
}

TEST_F(ObdImportTest, HashedUserFeaturesAreCrossedWithItems) {
  const auto tuples = Read({"--hash_bits=20"});
  const auto columns = [&](size_t tuple, uint32_t item) {
    const auto& sparse = tuples[tuple].decision().sparse();
    return std::set<uint32_t>(
        sparse.columns().begin() + static_cast<int>(sparse.row_offsets(item)) +
            1,
        sparse.columns().begin() +
            static_cast<int>(sparse.row_offsets(item + 1)));
  };
  EXPECT_EQ(tuples[0].decision().num_features(), 3 + 1 + (1u << 20));
  ASSERT_EQ(columns(2, 0).size(), 2u);  // Two user features, no affinity.
  // The same value of user_feature_0 has the same column for an item, and
  // another one for another item.
  const auto first = columns(0, 1);
  const auto second = columns(1, 1);
  std::vector<uint32_t> common;
  std::set_intersection(first.begin(), first.end(), second.begin(),
                        second.end(), std::back_inserter(common));
  EXPECT_EQ(common.size(), 1u);
  EXPECT_NE(columns(2, 0), columns(2, 1));
}

TEST_F(ObdImportTest, OnePositionAlone) {
  const auto tuples = Read({"--position=2"});
  ASSERT_EQ(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "obd-2-3");
}

TEST_F(ObdImportTest, TheLogRoundTripsThroughCsv) {
  const auto tuples = Read({ItemsFile(kItems), "--hash_bits=10"});
  ASSERT_OK(Export({"--format=csv", imported()}));
  const std::string text = out_;
  std::filesystem::remove_all(imported());
  ASSERT_OK(ImportText(text, {"--format=csv"}));
  EXPECT_EQ(Serialised(ReadAllTuples(imported())), Serialised(tuples));
}

TEST_F(ObdImportTest, BadItemContextsAreRefused) {
  for (const auto& [text, message] :
       std::vector<std::pair<std::string, std::string>>{
           {"item_id,x\n", "has no item"},
           {"item,x\n0,1\n", "'item_id' is missing"},
           {"item_id,x\n0,1\n0,2\n", ":3: item_id is '0'"},
           {"item_id,x\n0,1\n2,2\n", ":3: item_id is '2'"},
           {"item_id,x\n0\n", ":2: the line has 1 fields"}}) {
    EXPECT_THAT(ImportText(kLog, {"--format=obd", ItemsFile(text)}),
                IsInvalidArgument(message));
    EXPECT_TRUE(NothingImported());
  }
}

}  // namespace
}  // namespace sortition
