#include "client/commands.h"

#include <fstream>
#include <sstream>

#include "absl/strings/str_split.h"
#include "client/commands/decide_input.h"
#include "process/command.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

struct CommandRun {
  int exit_code;
  std::string out;
  std::string error;
};

CommandRun Sortition(const std::vector<std::string>& arguments) {
  std::ostringstream out;
  std::ostringstream error;
  CommandOutput output{out, error};
  const int exit_code = RunCommand(SortitionProgram(), arguments, &output);
  return {exit_code, out.str(), error.str()};
}

std::string FileWith(const std::string& name, const std::string& text) {
  static const TempDir kDir;
  std::string path = kDir / name;
  std::ofstream(path) << text;
  return path;
}

TEST(CommandTest, HelpListsEveryCommand) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"help"}, {"-h"}}) {
    const CommandRun run = Sortition(arguments);
    EXPECT_EQ(run.exit_code, 0);
    for (const Command& command : AllCommands()) {
      EXPECT_THAT(run.out, HasSubstr("\n  " + command.name));
      EXPECT_THAT(run.out, HasSubstr(command.summary));
    }
  }
}

TEST(CommandTest, HelpOfAGroupListsTheGroup) {
  const CommandRun run = Sortition({"log", "--help"});
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_THAT(run.out, HasSubstr("log verify"));
  EXPECT_THAT(run.out, Not(HasSubstr("simulate")));
}

TEST(CommandTest, EveryCommandExplainsItsFlags) {
  for (const Command& command : AllCommands()) {
    std::vector<std::string> words = absl::StrSplit(command.name, ' ');
    words.push_back("--help");
    const CommandRun run = Sortition(words);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("usage: sortition " + command.name));
    EXPECT_THAT(run.out, HasSubstr("--"));
  }
}

TEST(CommandTest, WrongCallsExitWithTwo) {
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

TEST(CommandTest, FailuresExitWithOneAndNameTheServer) {
  const CommandRun run =
      Sortition({"models", "list", "--server=127.0.0.1:1", "--max_attempts=1",
                 "--deadline_seconds=5"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error,
              AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("127.0.0.1:1")));
}

TEST(CommandTest, AttributesAreNamesAndValues) {
  const CommandRun run =
      Sortition({"rank", "--features=" + FileWith("one", "1 1:0.5\n"),
                 "--attributes=device"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("'device': must be name=value"));
}

TEST(CommandTest, RankSendsLetorLinesAndPrintsTheOrder) {
  FakeServer server;
  const std::string file = FileWith("letor", "1 1:0.5 2:0.25\n0 2:2 # b\n");
  const CommandRun run = Sortition(
      {"rank", "--server", server.address(), "--features=" + file,
       "--decision_id=d1", "--unit_id=u1", "--attributes=device=phone",
       "--attributes=q=a=b", "--top_k=1", "--scores", "--version=4"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  const auto decisions = server.decisions();
  ASSERT_EQ(decisions.size(), 1u);
  EXPECT_EQ(decisions[0].decision_id(), "d1");
  EXPECT_EQ(decisions[0].unit_id(), "u1");
  EXPECT_EQ(decisions[0].attributes().at("device"), "phone");
  EXPECT_EQ(decisions[0].attributes().at("q"), "a=b");
  EXPECT_EQ(decisions[0].version(), 4u);
  EXPECT_TRUE(decisions[0].return_scores());
  EXPECT_EQ(decisions[0].candidates().num_features(), 2u);
  EXPECT_THAT(decisions[0].candidates().dense().values(),
              testing::ElementsAre(0.5f, 0.25f, 0.0f, 2.0f));
  EXPECT_THAT(run.out, HasSubstr("decision    d1\n"));
  // exp(-0.5) is the propensity of the decision and of its only rank.
  EXPECT_THAT(run.out, HasSubstr("propensity  0.606531"));
  EXPECT_THAT(run.out, HasSubstr("\n   0          0         0.606531\n"));
}

TEST(CommandTest, LabelsAndBaselinesAreSent) {
  FakeServer server;
  const std::string file = FileWith("label", "1 1:0.5 2:0.25\n0 2:2\n");
  const auto run = [&](const std::string& command,
                       std::vector<std::string> flags) {
    flags.insert(flags.begin(),
                 {command, "--server", server.address(), "--features=" + file});
    return Sortition(flags);
  };
  ASSERT_EQ(
      run("rank", {"--label=canary", "--baseline=1", "--baseline=0"}).exit_code,
      0);
  EXPECT_EQ(server.decisions().back().label(), "canary");
  EXPECT_THAT(server.decisions().back().baseline().action(),
              testing::ElementsAre(1, 0));
  ASSERT_EQ(run("select", {"--baseline=-1"}).exit_code, 0);
  EXPECT_TRUE(server.decisions().back().baseline().abstain());
  EXPECT_EQ(server.decisions().back().baseline().action_size(), 0);
  ASSERT_EQ(run("select", {}).exit_code, 0);
  EXPECT_FALSE(server.decisions().back().has_baseline());
  const CommandRun wrong = run("rank", {"--baseline=1", "--baseline=-1"});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.error, HasSubstr("baseline = -1: must be"));
}

TEST(CommandTest, SelectReadsJsonAndFlagsWin) {
  FakeServer server;
  const std::string file = FileWith("json", R"( {"context": {
      "decision_id": "from-json", "model": "m",
      "candidates": {"num_features": 1, "ids": ["x"],
                     "dense": {"values": [3]}}}})");
  CommandRun run = Sortition({"select", "--server=" + server.address(),
                              "--features=" + file, "--decision_id=from-flag"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("selected    0 (x)"));
  EXPECT_EQ(server.decisions()[0].decision_id(), "from-flag");
  EXPECT_EQ(server.decisions()[0].model(), "m");
  server.abstain = true;
  run = Sortition({"select", "--server=" + server.address(),
                   "--features=" + file, "--output=json"});
  EXPECT_THAT(run.out, AllOf(HasSubstr("\"decision_id\":\"from-json\""),
                             Not(HasSubstr("selected"))));
}

TEST(CommandTest, LabelPrintsTheSubsetAndTheGame) {
  FakeServer server;
  const std::string file = FileWith("letor", "0 1:1\n0 1:2\n0 1:3\n");
  CommandRun run =
      Sortition({"label", "--server=" + server.address(), "--features=" + file,
                 "--k=2", "--return_game", "--probabilities"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(server.sizes(), std::vector<uint32_t>{2});
  EXPECT_THAT(run.out, HasSubstr("game        [0.25, 0.5] after 3 rounds\n"));
  EXPECT_THAT(run.out,
              HasSubstr("\n        0      yes                   0.75\n"));
  EXPECT_THAT(run.out,
              HasSubstr("\n        2                            0.75\n"));
  run = Sortition({"label", "--server=" + server.address(),
                   "--features=" + file, "--output=json"});
  EXPECT_THAT(run.out, HasSubstr("\"chosen\":[0,1,2]"));
  server.abstain = true;
  run = Sortition(
      {"label", "--server=" + server.address(), "--features=" + file});
  EXPECT_THAT(run.out, HasSubstr("chosen      none\n"));
  EXPECT_THAT(run.out, Not(HasSubstr("candidate")));
}

TEST(CommandTest, AggregateReadsATableAndPrintsOrderPairsAndSources) {
  FakeServer server;
  const std::string file =
      FileWith("lists.csv", "id,bm25,neural\na,1,2\nb,3,4\nc,5,6\n");
  CommandRun run = Sortition(
      {"aggregate", "--server=" + server.address(), "--lists=" + file,
       "--scale=rank", "--weights=1,3", "--concentration=2", "--top_k=3"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  ASSERT_EQ(server.aggregates().size(), 1u);
  const v1::AggregateRequest request = server.aggregates()[0];
  EXPECT_EQ(request.context().candidates().num_features(), 2u);
  EXPECT_THAT(request.context().candidates().dense().values(),
              testing::ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(request.aggregation().scale(), v1::Aggregation::RANK);
  EXPECT_THAT(request.aggregation().weights(), testing::ElementsAre(1, 3));
  EXPECT_EQ(request.concentration(), 2);
  EXPECT_EQ(request.bootstrap_samples(), 1000u);
  EXPECT_THAT(run.out, HasSubstr("\n   0          2  c "));
  EXPECT_THAT(run.out, HasSubstr("0.875"));
  EXPECT_THAT(run.out, HasSubstr("neural       0.125"));
  // Flags override the JSON only where they are given.
  const std::string json =
      FileWith("lists.json",
               "{\"context\":{\"candidates\":{\"num_features\":1,\"dense\":{"
               "\"values\":[1,2]}}},\"divergence\":\"ALL_PAIRS\"}");
  run = Sortition({"aggregate", "--server=" + server.address(),
                   "--lists=" + json, "--scale=none", "--output=json"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_EQ(server.aggregates()[1].divergence(),
            v1::AggregateRequest::ALL_PAIRS);
  EXPECT_EQ(server.aggregates()[1].aggregation().scale(),
            v1::Aggregation::NONE);
  EXPECT_EQ(server.aggregates()[1].bootstrap_samples(), 0u);
  EXPECT_THAT(run.out, HasSubstr("\"order\":[1,0]"));
  run = Sortition({"aggregate", "--lists=" + file, "--scale=log"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.error, HasSubstr("scale"));
}

TEST(CommandTest, BadInputNamesWhatIsWrong) {
  CommandRun run = Sortition({"select", "--features=/nowhere/at/all"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("/nowhere/at/all"));
  run =
      Sortition({"select", "--features=" +
                               FileWith("two", "0 qid:1 1:1\n0 qid:2 1:1\n")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("2 queries"));
  run =
      Sortition({"select", "--features=" + FileWith("bad", "{\"contxt\":1}")});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasSubstr("contxt"));
}

TEST(CommandTest, ShownAndFeedbackAreReported) {
  FakeServer server;
  ASSERT_EQ(Sortition({"shown", "--server=" + server.address(),
                       "--decision_id=d", "--shown=2,0"})
                .exit_code,
            0);
  ASSERT_EQ(server.shown().size(), 1u);
  EXPECT_THAT(server.shown()[0].shown(), testing::ElementsAre(2, 0));
  EXPECT_EQ(server.shown()[0].first_rank(), 0u);
  EXPECT_FALSE(server.shown()[0].has_seen_ranks());
  ASSERT_EQ(
      Sortition({"shown", "--server=" + server.address(), "--decision_id=d",
                 "--shown=5,3", "--first_rank=10", "--seen_ranks=11"})
          .exit_code,
      0);
  ASSERT_EQ(Sortition({"shown", "--server=" + server.address(),
                       "--decision_id=d", "--seen_ranks=12"})
                .exit_code,
            0);
  ASSERT_EQ(server.shown().size(), 3u);
  EXPECT_THAT(server.shown()[1].shown(), testing::ElementsAre(5, 3));
  EXPECT_EQ(server.shown()[1].first_rank(), 10u);
  EXPECT_EQ(server.shown()[1].seen_ranks(), 11u);
  EXPECT_THAT(server.shown()[2].shown(), testing::IsEmpty());
  EXPECT_EQ(server.shown()[2].seen_ranks(), 12u);
  ASSERT_EQ(
      Sortition({"feedback", "--server=" + server.address(), "--decision_id=d",
                 "--reward=0.5", "--rank=1", "--feedback_id=f"})
          .exit_code,
      0);
  ASSERT_EQ(server.feedback().size(), 1u);
  EXPECT_EQ(server.feedback()[0].reward(), 0.5);
  EXPECT_EQ(server.feedback()[0].rank(), 1u);
  EXPECT_EQ(server.feedback()[0].feedback_id(), "f");
}

TEST(CommandTest, ModelsListPrintsTableAndJson) {
  FakeServer server;
  CommandRun run =
      Sortition({"models", "list", "--server=" + server.address()});
  EXPECT_THAT(run.out, HasSubstr("default        3  softmax_selection"));
  run = Sortition(
      {"models", "list", "--server=" + server.address(), "--output=json"});
  EXPECT_THAT(run.out, HasSubstr("\"name\":\"default\""));
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
