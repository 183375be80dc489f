#include <fstream>

#include "absl/strings/str_split.h"
#include "client/commands/decide_input.h"
#include "tests/client/command_run.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string FileWith(const std::string& name, const std::string& text) {
  static const TempDir kDir;
  std::string path = kDir / name;
  std::ofstream(path) << text;
  return path;
}

// The flags that a command needs for the server of the fixture, and others.
class CommandTest : public testing::Test {
 protected:
  CommandRun Run(std::vector<std::string> arguments,
                 const std::string& file = "") {
    arguments.push_back("--server=" + server_.address());
    if (!file.empty()) arguments.push_back("--features=" + file);
    return Sortition(arguments);
  }
  // The same for a command that succeeds. Returns its output.
  std::string Out(const std::vector<std::string>& arguments,
                  const std::string& file = "") {
    const CommandRun run = Run(arguments, file);
    EXPECT_EQ(run.exit_code, 0) << run.error;
    return run.out;
  }

  FakeServer server_;
};

TEST(CommandLineTest, HelpListsEveryCommand) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}, {"-h"}}) {
    const CommandRun run = Sortition(arguments);
    EXPECT_EQ(run.exit_code, 0);
    for (const Command& command : AllCommands()) {
      EXPECT_THAT(run.out, HasTexts("\n  " + command.name, command.summary));
    }
  }
}

TEST(CommandLineTest, HelpOfAGroupListsTheGroup) {
  const CommandRun run = Sortition({"log", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("log verify"));
  EXPECT_THAT(run.out, Not(HasSubstr("simulate")));
}

TEST(CommandLineTest, EveryCommandExplainsItsFlags) {
  for (const Command& command : AllCommands()) {
    std::vector<std::string> words = absl::StrSplit(command.name, ' ');
    words.push_back("--help");
    const CommandRun run = Sortition(words);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasTexts("usage: sortition " + command.name, "--"));
  }
}

TEST(CommandLineTest, WrongCallsExitWithTwo) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{}, "usage"},
      {{"selcet"}, "unknown command \"selcet\""},
      {{"log"}, "unknown command \"log\""},
      {{"log", "dog"}, "unknown command \"log dog\""},
      {{"simulate", "--decision=3"}, "--decisions"},
      {{"simulate", "--noise=2"}, "noise"},
      {{"simulate", "--action=shown"}, "must be select or rank or label"},
      {{"simulate", "x"}, "unexpected argument \"x\""},
      {{"log", "stats"}, "needs DIR|FILE"},
      {{"log", "prune"}, "needs DIR"},
      {{"log", "prune", "a", "b"}, "--older_than_seconds or --to_bytes"},
      {{"log", "compact", "a", "b"}, "out"},
      {{"rank", "--output=xml"}, "must be text or json"},
      {{"rank", "--format=csv"}, "must be auto or letor or json"},
      {{"select", "--top_k=1"}, "--top_k is for rank"},
      {{"label", "--top_k=1"}, "the size of a subset is --k"},
      {{"label", "--k=0"}, "k = 0: permitted range is at least 1"},
      {{"select", "--k=1"}, "--k is for label"},
      {{"rank", "--k=1"}, "--k is for label"},
      {{"feedback", "--decision_id=a"}, "reward"},
      {{"shown", "--decision_id=a"}, "needs --shown"},
      {{"shown", "--decision_id=a", "--shown=1", "--not_shown"},
       "--not_shown with --shown"},
      {{"shown", "--decision_id=a", "--seen_ranks=1", "--not_shown"},
       "--not_shown with --seen_ranks"},
      {{"shown", "--decision_id=a", "--first_rank=2", "--seen_ranks=3"},
       "--first_rank needs --shown"},
      {{"shown", "--decision_id=a", "--seen_ranks=0"},
       "seen_ranks = 0: permitted range is at least 1"}};
  for (const auto& [arguments, message] : cases) {
    const CommandRun run = Sortition(arguments);
    EXPECT_EQ(run.exit_code, 2) << message;
    EXPECT_THAT(run.error, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
}

TEST(CommandLineTest, FailuresExitWithOneAndNameTheServer) {
  const CommandRun run =
      Sortition({"models", "list", "--server=127.0.0.1:1", "--max_attempts=1",
                 "--deadline_seconds=5"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasTexts("UNAVAILABLE", "127.0.0.1:1"));
}

TEST(CommandLineTest, AttributesAreNamesAndValues) {
  const CommandRun run =
      Sortition({"rank", "--features=" + FileWith("one", "1 1:0.5\n"),
                 "--attributes=device"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("'device': must be name=value"));
}

TEST_F(CommandTest, RankSendsLetorLinesAndPrintsTheOrder) {
  const std::string file = FileWith("letor", "1 1:0.5 2:0.25\n0 2:2 # b\n");
  const std::string out = Out(
      {"rank", "--decision_id=d1", "--unit_id=u1", "--attributes=device=phone",
       "--attributes=q=a=b", "--top_k=1", "--scores", "--version=4"},
      file);
  const auto decisions = server_.decisions();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].decision_id(), "d1");
  EXPECT_EQ(decisions[0].unit_id(), "u1");
  EXPECT_EQ(decisions[0].attributes().at("device"), "phone");
  EXPECT_EQ(decisions[0].attributes().at("q"), "a=b");
  EXPECT_EQ(decisions[0].version(), 4u);
  EXPECT_TRUE(decisions[0].return_scores());
  EXPECT_EQ(decisions[0].candidates().num_features(), 2u);
  // The second line leaves feature 1 out.
  EXPECT_THAT(decisions[0].candidates().sparse().columns(),
              ElementsAre(0u, 1u, 1u));
  EXPECT_THAT(decisions[0].candidates().sparse().values(),
              ElementsAre(0.5f, 0.25f, 2.0f));
  // exp(-0.5) is the propensity of the decision and of its only rank.
  EXPECT_THAT(out, HasTexts("decision    d1\n", "propensity  0.606531",
                            "\n   0          0         0.606531\n"));
}

TEST_F(CommandTest, LabelsAndBaselinesAreSent) {
  const std::string file = FileWith("label", "1 1:0.5 2:0.25\n0 2:2\n");
  Out({"rank", "--label=canary", "--baseline=1", "--baseline=0"}, file);
  EXPECT_EQ(server_.decisions().back().label(), "canary");
  EXPECT_THAT(server_.decisions().back().baseline().action(),
              ElementsAre(1, 0));
  Out({"select", "--baseline=-1"}, file);
  EXPECT_TRUE(server_.decisions().back().baseline().abstain());
  EXPECT_EQ(server_.decisions().back().baseline().action_size(), 0);
  Out({"select"}, file);
  EXPECT_FALSE(server_.decisions().back().has_baseline());
  const CommandRun wrong = Run({"rank", "--baseline=1", "--baseline=-1"}, file);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.error, HasSubstr("baseline = -1: must be"));
}

TEST_F(CommandTest, SelectReadsJsonAndFlagsWin) {
  const std::string file = FileWith("json", R"( {"context": {
      "decision_id": "from-json", "model": "m",
      "candidates": {"num_features": 1, "ids": ["x"],
                     "dense": {"values": [3]}}}})");
  EXPECT_THAT(Out({"select", "--decision_id=from-flag"}, file),
              HasSubstr("selected    0 (x)"));
  EXPECT_EQ(server_.decisions()[0].decision_id(), "from-flag");
  EXPECT_EQ(server_.decisions()[0].model(), "m");
  server_.abstain = true;
  EXPECT_THAT(Out({"select", "--output=json"}, file),
              AllOf(HasSubstr("\"decision_id\":\"from-json\""),
                    Not(HasSubstr("selected"))));
}

TEST_F(CommandTest, LabelPrintsTheSubsetAndTheGame) {
  const std::string file = FileWith("letor", "0 1:1\n0 1:2\n0 1:3\n");
  EXPECT_THAT(Out({"label", "--k=2", "--return_game", "--probabilities"}, file),
              HasTexts("game        [0.25, 0.5] after 3 rounds\n",
                       "\n        0      yes                   0.75\n",
                       "\n        2                            0.75\n"));
  EXPECT_EQ(server_.sizes(), std::vector<uint32_t>{2});
  EXPECT_THAT(Out({"label", "--output=json"}, file),
              HasSubstr("\"chosen\":[0,1,2]"));
  server_.abstain = true;
  EXPECT_THAT(Out({"label"}, file), AllOf(HasSubstr("chosen      none\n"),
                                          Not(HasSubstr("candidate"))));
}

TEST_F(CommandTest, AggregateReadsATableAndPrintsOrderPairsAndSources) {
  const std::string file =
      FileWith("lists.csv", "id,bm25,neural\na,1,2\nb,3,4\nc,5,6\n");
  std::string out = Out({"aggregate", "--lists=" + file, "--scale=rank",
                         "--weights=1,3", "--concentration=2", "--top_k=3"});
  ASSERT_EQ(server_.aggregates().size(), 1u);
  const v1::AggregateRequest request = server_.aggregates()[0];
  EXPECT_EQ(request.context().candidates().num_features(), 2u);
  EXPECT_THAT(request.context().candidates().dense().values(),
              ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(request.aggregation().scale(), v1::Aggregation::RANK);
  EXPECT_THAT(request.aggregation().weights(), ElementsAre(1, 3));
  EXPECT_EQ(request.concentration(), 2);
  EXPECT_EQ(request.bootstrap_samples(), 1000u);
  EXPECT_THAT(out,
              HasTexts("\n   0          2  c ", "0.875", "neural       0.125"));
  // Flags override the JSON only where they are given.
  const std::string json =
      FileWith("lists.json",
               "{\"context\":{\"candidates\":{\"num_features\":1,\"dense\":{"
               "\"values\":[1,2]}}},\"divergence\":\"ALL_PAIRS\"}");
  out = Out({"aggregate", "--lists=" + json, "--scale=none", "--output=json"});
  EXPECT_EQ(server_.aggregates()[1].divergence(),
            v1::AggregateRequest::ALL_PAIRS);
  EXPECT_EQ(server_.aggregates()[1].aggregation().scale(),
            v1::Aggregation::NONE);
  EXPECT_EQ(server_.aggregates()[1].bootstrap_samples(), 0u);
  EXPECT_THAT(out, HasSubstr("\"order\":[1,0]"));
  const CommandRun run = Run({"aggregate", "--lists=" + file, "--scale=log"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("scale"));
}

TEST(CommandLineTest, BadInputNamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"/nowhere/at/all", "/nowhere/at/all"},
      {FileWith("two", "0 qid:1 1:1\n0 qid:2 1:1\n"), "2 queries"},
      {FileWith("bad", "{\"contxt\":1}"), "contxt"}};
  for (const auto& [file, message] : cases) {
    const CommandRun run = Sortition({"select", "--features=" + file});
    EXPECT_EQ(run.exit_code, 1);
    EXPECT_THAT(run.error, HasSubstr(message));
  }
}

TEST_F(CommandTest, ShownAndFeedbackAreReported) {
  Out({"shown", "--decision_id=d", "--shown=2,0"});
  ASSERT_EQ(server_.shown().size(), 1u);
  EXPECT_THAT(server_.shown()[0].shown(), ElementsAre(2, 0));
  EXPECT_EQ(server_.shown()[0].first_rank(), 0u);
  EXPECT_FALSE(server_.shown()[0].has_seen_ranks());
  Out({"shown", "--decision_id=d", "--shown=5,3", "--first_rank=10",
       "--seen_ranks=11"});
  Out({"shown", "--decision_id=d", "--seen_ranks=12"});
  ASSERT_EQ(server_.shown().size(), 3u);
  EXPECT_THAT(server_.shown()[1].shown(), ElementsAre(5, 3));
  EXPECT_EQ(server_.shown()[1].first_rank(), 10u);
  EXPECT_EQ(server_.shown()[1].seen_ranks(), 11u);
  EXPECT_THAT(server_.shown()[2].shown(), IsEmpty());
  EXPECT_EQ(server_.shown()[2].seen_ranks(), 12u);
  Out({"feedback", "--decision_id=d", "--reward=0.5", "--rank=1",
       "--feedback_id=f"});
  ASSERT_EQ(server_.feedback().size(), 1u);
  EXPECT_EQ(server_.feedback()[0].reward(), 0.5);
  EXPECT_EQ(server_.feedback()[0].rank(), 1u);
  EXPECT_EQ(server_.feedback()[0].feedback_id(), "f");
}

TEST_F(CommandTest, ModelsListPrintsTableAndJson) {
  EXPECT_THAT(Out({"models", "list"}),
              HasSubstr("default        3  softmax_selection"));
  EXPECT_THAT(Out({"models", "list", "--output=json"}),
              HasSubstr("\"name\":\"default\""));
}

TEST(AddMissingQidsTest, OnlyWhereNoneIs) {
  EXPECT_EQ(AddMissingQids("0 1:1"), "0 qid:1 1:1\n");
  EXPECT_EQ(AddMissingQids("0 1:1 # qid:3"), "0 qid:1 1:1\n");
  EXPECT_EQ(AddMissingQids("0 qid:7 1:1"), "0 qid:7 1:1\n");
  EXPECT_EQ(AddMissingQids("2"), "2 qid:1\n");
  EXPECT_EQ(AddMissingQids("# only a comment"), "# only a comment\n");
}

}  // namespace
}  // namespace sortition
