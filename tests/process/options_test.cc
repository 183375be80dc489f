#include "process/options/options.h"

#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sortition/config/v1/client.pb.h"
#include "sortition/config/v1/fit.pb.h"
#include "sortition/config/v1/games.pb.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using config::v1::FitOptions;
using config::v1::ServerOptions;
using config::v1::ShownOptions;
using config::v1::SimulateOptions;
using config::v1::SpoolOptions;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

std::string WriteConfig(const std::string& text) {
  static const TempDir kDir;
  const std::string path = kDir / "options.textproto";
  std::ofstream(path) << text;
  return path;
}

absl::Status Parse(const std::vector<std::string>& arguments,
                   google::protobuf::Message* options) {
  CommandLine command_line;
  return ParseOptions(arguments, options, &command_line);
}

// Returns options of a server with only the required option set.
absl::Status ParseServer(std::vector<std::string> arguments,
                         ServerOptions* options) {
  arguments.push_back("--model_store=/store");
  return Parse(arguments, options);
}

TEST(OptionsTest, SharesMayBePercentages) {
  config::v1::TrainOptions options;
  const auto parse = [&](const std::string& flag) {
    options.Clear();
    return Parse({"--model_store=/s", "--tuples=t", flag}, &options);
  };
  const std::vector<std::pair<std::string, double>> cases = {
      {"20%", 0.2}, {"99.9%", 0.999}, {"0.1%", 0.001}, {"0%", 0}, {"0.2", 0.2}};
  for (const auto& [text, share] : cases) {
    ASSERT_OK(parse("--uniform_mixture=" + text));
    EXPECT_EQ(options.uniform_mixture(), share) << text;
  }
  EXPECT_THAT(parse("--uniform_mixture=101%"),
              StatusIs(kInvalid, HasSubstr("[0, 1]")));
  for (const char* const text : {"%", "x%", "20%%", "1e1%", "20 %"}) {
    EXPECT_THAT(
        parse(std::string("--uniform_mixture=") + text),
        StatusIs(kInvalid, AllOf(HasSubstr(text),
                                 HasSubstr("a percentage such as 20%"))));
  }
  ASSERT_OK(parse("--plan.margins=20%,0.1, 1%"));
  EXPECT_THAT(options.plan().margins(), ElementsAre(0.2, 0.1, 0.01));
  // Rewards are no shares.
  EXPECT_THAT(parse("--reward_max=20%"),
              StatusIs(kInvalid, HasSubstr("must be a number")));
}

// A flag that is a list may be given once for each entry: A,B is A and B.
TEST(OptionsTest, FlagsThatAreListsMayBeRepeated) {
  config::v1::TrainOptions options;
  const std::string config = WriteConfig(R"(tuples: "x" versions: "7")");
  ASSERT_OK(Parse({"--config=" + config, "--model_store=/s", "--tuples=a,b",
                   "--tuples", "logs/*"},
                  &options));
  EXPECT_EQ(options.tuples(), "a,b,logs/*");
  EXPECT_EQ(options.versions(), "7");
}

// Another text keeps its last value.
TEST(OptionsTest, OtherTextsKeepTheirLastValue) {
  config::v1::TrainOptions options;
  ASSERT_OK(Parse({"--model_store=/s", "--model=a", "--model=b"}, &options));
  EXPECT_EQ(options.model(), "b");
}

TEST(OptionsTest, TakesValuesAfterEqualsSignOrAsNextArgument) {
  ServerOptions options;
  ASSERT_OK(ParseServer({"--listen=[::]:1", "--metrics_listen", "[::]:2",
                         "--threads", "3", "--poll_seconds=0.5"},
                        &options));
  EXPECT_EQ(options.listen(), "[::]:1");
  EXPECT_EQ(options.metrics_listen(), "[::]:2");
  EXPECT_EQ(options.threads(), 3u);
  EXPECT_EQ(options.poll_seconds(), 0.5);
  EXPECT_EQ(options.model_store(), "/store");
}

TEST(OptionsTest, KeepsEqualsSignsInsideValuesAndAllowsEmptyOnes) {
  ServerOptions options;
  ASSERT_OK(ParseServer({"--port_file=a=b", "--metrics_listen="}, &options));
  EXPECT_EQ(options.port_file(), "a=b");
  EXPECT_TRUE(options.has_metrics_listen());
  EXPECT_EQ(options.metrics_listen(), "");
}

TEST(OptionsTest, NegativeNumbersMayBeTheNextArgument) {
  config::v1::FeedbackOptions options;
  ASSERT_OK(Parse({"--decision_id", "d", "--reward", "-0.5"}, &options));
  EXPECT_EQ(options.reward(), -0.5);
}

TEST(OptionsTest, BooleansStandAloneOrWithNo) {
  ServerOptions options;
  ASSERT_OK(ParseServer({"--reflection"}, &options));
  EXPECT_TRUE(options.reflection());
  ASSERT_OK(ParseServer({"--no-reflection"}, &options));
  EXPECT_FALSE(options.reflection());
  ASSERT_OK(ParseServer({"--reflection=true"}, &options));
  EXPECT_TRUE(options.reflection());
  ASSERT_OK(ParseServer({"--no_reflection"}, &options));
  EXPECT_FALSE(options.reflection());
  EXPECT_THAT(
      ParseServer({"--reflection=maybe"}, &options),
      StatusIs(kInvalid, AllOf(HasSubstr("--reflection"), HasSubstr("maybe"),
                               HasSubstr("true or false"))));
}

TEST(OptionsTest, BooleanDoesNotSwallowTheNextArgument) {
  ShownOptions options;
  CommandLine command_line;
  ASSERT_OK(ParseOptions({"--not_shown", "rest", "--decision_id=d"}, &options,
                         &command_line));
  EXPECT_TRUE(options.not_shown());
  EXPECT_THAT(command_line.positional, ElementsAre("rest"));
}

TEST(OptionsTest, NestedByPathByLastNameAndWithDashes) {
  ServerOptions options;
  ASSERT_OK(ParseServer(
      {"--spool.dir=/a", "--max_candidates=7", "--drain-grace-seconds=2"},
      &options));
  EXPECT_EQ(options.spool().dir(), "/a");
  EXPECT_EQ(options.limits().max_candidates(), 7u);
  EXPECT_EQ(options.drain_grace_seconds(), 2);
}

TEST(OptionsTest, WholePathWinsOverEqualLastNames) {
  // `seed` of the message itself, not of its `world`.
  SimulateOptions options;
  ASSERT_OK(Parse({"--seed=5", "--world.seed=6"}, &options));
  EXPECT_EQ(options.seed(), 5u);
  EXPECT_EQ(options.world().seed(), 6u);
}

TEST(OptionsTest, EnumsByName) {
  ServerOptions options;
  ASSERT_OK(ParseServer({"--when_full=COUNT"}, &options));
  EXPECT_EQ(options.spool().when_full(), SpoolOptions::COUNT);
  ASSERT_OK(ParseServer({"--when_full=refuse"}, &options));
  EXPECT_EQ(options.spool().when_full(), SpoolOptions::REFUSE);
  EXPECT_THAT(ParseServer({"--when_full=DROP"}, &options),
              StatusIs(kInvalid, AllOf(HasSubstr("--spool.when_full"),
                                       HasSubstr("\"DROP\""),
                                       HasSubstr("REFUSE, COUNT"))));
}

TEST(OptionsTest, RepeatedFlagsAppendAndNumbersMayBeLists) {
  ShownOptions options;
  ASSERT_OK(
      Parse({"--decision_id=d", "--shown=3,1", "--shown", "2"}, &options));
  EXPECT_THAT(options.shown(), ElementsAre(3, 1, 2));
  EXPECT_THAT(Parse({"--decision_id=d", "--shown=3,,1"}, &options),
              StatusIs(kInvalid, HasSubstr("--shown = \"\"")));
}

TEST(OptionsTest, FlagsOverrideTheConfigFileWhereverItStands) {
  const std::string path = WriteConfig(
      "threads: 4\nlisten: \"x:1\"\nspool { dir: \"/s\" max_bytes: 131072 }\n");
  ServerOptions options;
  ASSERT_OK(ParseServer(
      {"--threads=2", "--config=" + path, "--spool.dir", "/t"}, &options));
  EXPECT_EQ(options.threads(), 2u);
  EXPECT_EQ(options.listen(), "x:1");
  EXPECT_EQ(options.spool().dir(), "/t");
  EXPECT_EQ(options.spool().max_bytes(), 131072u);
}

TEST(OptionsTest, RepeatedFlagsReplaceWhatTheFileSays) {
  const std::string path = WriteConfig("decision_id: \"d\" shown: [9, 8]");
  ShownOptions options;
  ASSERT_OK(Parse({"--config", path, "--shown=1", "--shown=2"}, &options));
  EXPECT_THAT(options.shown(), ElementsAre(1, 2));
}

TEST(OptionsTest, BadConfigNamesFileLineAndField) {
  const std::string path = WriteConfig("threads: 4\nthreds: 5\n");
  ServerOptions options;
  EXPECT_THAT(
      ParseServer({"--config=" + path}, &options),
      StatusIs(kInvalid, AllOf(HasSubstr(path + ":2:"), HasSubstr("threds"))));
  EXPECT_THAT(
      ParseServer({"--config=/no/such/file"}, &options),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("/no/such/file")));
}

TEST(OptionsTest, UnknownFlagNamesTheNearest) {
  ServerOptions options;
  EXPECT_THAT(ParseServer({"--model_stor=/x"}, &options),
              StatusIs(kInvalid, AllOf(HasSubstr("unknown flag --model_stor;"),
                                       HasSubstr("--model_store?"))));
  EXPECT_THAT(ParseServer({"--max_candidats=1"}, &options),
              StatusIs(kInvalid, HasSubstr("--limits.max_candidates?")));
  EXPECT_THAT(ParseServer({"--no-reflexion"}, &options),
              StatusIs(kInvalid, HasSubstr("unknown flag --no-reflexion")));
  EXPECT_THAT(ParseServer({"--zzzzzzzzzzzzzzzz"}, &options),
              StatusIs(kInvalid, AllOf(HasSubstr("--help"),
                                       Not(HasSubstr("did you mean")))));
  EXPECT_THAT(ParseServer({"-v"}, &options),
              StatusIs(kInvalid, HasSubstr("unknown flag -v")));
}

TEST(OptionsTest, AmbiguousLastNameListsWhatItCouldBe) {
  config::v1::TrainOptions options;
  std::vector<std::string> arguments = {"--tuples=t", "--model_store=s",
                                        "--gradient_tolerance=0.5"};
  EXPECT_THAT(Parse(arguments, &options),
              StatusIs(kInvalid,
                       "flag --gradient_tolerance is ambiguous: it could be "
                       "--poem.adagrad.gradient_tolerance or "
                       "--poem.lbfgs.gradient_tolerance"));
  // As much of the path as tells them apart will do.
  arguments.back() = "--lbfgs.gradient-tolerance=0.5";
  ASSERT_OK(Parse(arguments, &options));
  EXPECT_EQ(options.poem().lbfgs().gradient_tolerance(), 0.5);
  EXPECT_FALSE(options.poem().has_adagrad());
}

// Groups that were added later leave the short names to those that had them.
TEST(OptionsTest, GroupsThatGiveWayAreMeantWhereNoOtherIs) {
  config::v1::TrainOptions poem;
  ASSERT_OK(Parse({"--model_store=s", "--lambda=0.5"}, &poem));
  EXPECT_THAT(poem.poem().lambda(), ElementsAre(0.5));
  config::v1::TrainOptions game;
  ASSERT_OK(
      Parse({"--model_store=s", "--measure=DCG", "--game.lambda=2"}, &game));
  EXPECT_EQ(game.game().measure(), config::v1::GameOptions::DCG);
  EXPECT_THAT(game.game().lambda(), ElementsAre(2));
}

TEST(OptionsTest, OnlyOneMemberOfAOneofMayBeSet) {
  config::v1::TrainOptions options;
  EXPECT_THAT(
      Parse({"--model_store=s", "--game.k=3", "--crf.seed=2"}, &options),
      StatusIs(kInvalid,
               "flag --crf.seed: options of game are set, must be unset for an "
               "option of crf"));
  std::string config =
      "--config=" + WriteConfig("model_store: 's' hinge { k: 5 }");
  options.Clear();
  EXPECT_THAT(Parse({config, "--crf.seed=2"}, &options),
              StatusIs(kInvalid, HasSubstr("options of hinge are set")));
  options.Clear();
  ASSERT_OK(Parse({config, "--hinge.seed=2"}, &options));
  EXPECT_EQ(options.hinge().k(), 5);
  EXPECT_EQ(options.hinge().seed(), 2);
  config = "--config=" +
           WriteConfig("model_store: 's' hinge { k: 5 } crf { seed: 2 }");
  options.Clear();
  EXPECT_THAT(Parse({config}, &options),
              StatusIs(kInvalid, AllOf(HasSubstr("crf"), HasSubstr("hinge"))));
}

TEST(OptionsTest, RangesOfRepeatedNumbersAreChecked) {
  config::v1::TrainOptions options;
  const std::vector<std::string> required = {"--tuples=t", "--model_store=s"};
  std::vector<std::string> arguments = required;
  arguments.push_back("--poem.lambda=0, 0.1,1e6");
  ASSERT_OK(Parse(arguments, &options));
  EXPECT_THAT(options.poem().lambda(), ElementsAre(0, 0.1, 1e6));
  arguments.push_back("--lambda=-1");
  EXPECT_THAT(Parse(arguments, &options),
              StatusIs(kInvalid,
                       "option poem.lambda = -1: permitted range is "
                       "[0, 1000000]"));
}

TEST(OptionsTest, MissingValueIsAnError) {
  ServerOptions options;
  EXPECT_THAT(Parse({"--model_store"}, &options),
              StatusIs(kInvalid, HasSubstr("--model_store needs a value")));
  EXPECT_THAT(Parse({"--model_store", "--reflection"}, &options),
              StatusIs(kInvalid, HasSubstr("--model_store needs a value")));
  EXPECT_THAT(Parse({"--config"}, &options),
              StatusIs(kInvalid, HasSubstr("--config needs a value")));
}

TEST(OptionsTest, BadNumbersNameFlagValueAndRange) {
  ServerOptions options;
  EXPECT_THAT(
      ParseServer({"--threads=many"}, &options),
      StatusIs(kInvalid,
               AllOf(HasSubstr("--threads"), HasSubstr("\"many\""),
                     HasSubstr("whole number"), HasSubstr("[1, 256]"))));
  EXPECT_THAT(ParseServer({"--threads=-1"}, &options),
              StatusIs(kInvalid, HasSubstr("\"-1\"")));
  EXPECT_THAT(ParseServer({"--threads=4294967297"}, &options),
              StatusIs(kInvalid, HasSubstr("4294967297")));
  EXPECT_THAT(ParseServer({"--poll_seconds=soon"}, &options),
              StatusIs(kInvalid, AllOf(HasSubstr("a number"),
                                       HasSubstr("[0.01, 3600]"))));
}

TEST(OptionsTest, RangesAreCheckedWithPathValueAndRange) {
  ServerOptions options;
  EXPECT_THAT(
      ParseServer({"--threads=0"}, &options),
      StatusIs(kInvalid, "option threads = 0: permitted range is [1, 256]"));
  options.Clear();
  EXPECT_THAT(ParseServer({"--max_candidates=10000001"}, &options),
              StatusIs(kInvalid,
                       "option limits.max_candidates = 10000001: permitted "
                       "range is [1, 10000000]"));
  options.Clear();
  EXPECT_THAT(ParseServer({"--reward_min=nan"}, &options),
              StatusIs(kInvalid, HasSubstr("reward_min = nan")));
  config::v1::FeedbackOptions feedback;  // The reward has no declared range.
  EXPECT_THAT(Parse({"--decision_id=d", "--reward=inf"}, &feedback),
              StatusIs(kInvalid,
                       "option reward = inf: permitted range is "
                       "finite"));
}

TEST(OptionsTest, EndsOfRangesAreAllowedUnlessTheMinimumIsOpen) {
  ServerOptions options;
  EXPECT_OK(ParseServer({"--threads=1"}, &options));
  EXPECT_OK(ParseServer({"--threads=256"}, &options));
  FitOptions fit;
  const std::vector<std::string> required = {"--data=d", "--model_store=s"};
  std::vector<std::string> arguments = required;
  arguments.push_back("--inverse_temperature=0");
  EXPECT_THAT(Parse(arguments, &fit),
              StatusIs(kInvalid,
                       "option inverse_temperature = 0: permitted "
                       "range is (0, 1000000]"));
  arguments = required;
  arguments.push_back("--inverse_temperature=1000000");
  EXPECT_OK(Parse(arguments, &fit));
}

TEST(OptionsTest, RangesOfTheConfigFileAreCheckedToo) {
  const std::string path = WriteConfig("spool { segment_bytes: 1 }");
  ServerOptions options;
  EXPECT_THAT(
      ParseServer({"--config=" + path}, &options),
      StatusIs(kInvalid, HasSubstr("spool.segment_bytes = 1: permitted range "
                                   "is [65536, 4294967296]")));
}

TEST(OptionsTest, RequiredMustBeSetAndNotEmpty) {
  ServerOptions options;
  EXPECT_THAT(Parse({}, &options),
              StatusIs(kInvalid, HasSubstr("option model_store is unset")));
  EXPECT_THAT(Parse({"--model_store="}, &options),
              StatusIs(kInvalid, HasSubstr("option model_store = \"\"")));
}

TEST(OptionsTest, AllRequiredOptionsThatAreMissingAreNamed) {
  FitOptions options;
  CommandLine command_line;
  EXPECT_THAT(ParseOptions({}, &options, &command_line),
              StatusIs(kInvalid, testing::AllOf(
                                     HasSubstr("option data is unset"),
                                     HasSubstr("; option model_store is unset: "
                                               "required, not empty "
                                               "(--model_store: "))));
}

TEST(OptionsTest, HelpStopsEverythingElse) {
  ServerOptions options;
  CommandLine command_line;
  ASSERT_OK(ParseOptions({"--threads=0", "--nonsense", "--help"}, &options,
                         &command_line));
  EXPECT_TRUE(command_line.help);
  CommandLine after_dashes;
  ASSERT_OK(ParseOptions({"--model_store=s", "--", "--help"}, &options,
                         &after_dashes));
  EXPECT_FALSE(after_dashes.help);
  EXPECT_THAT(after_dashes.positional, ElementsAre("--help"));
}

TEST(OptionsHelpTest, SaysTypeDefaultRangeGroupAndConfigFile) {
  const std::string help = OptionsHelp(ServerOptions::descriptor());
  EXPECT_THAT(help, HasSubstr("--listen=TEXT"));
  EXPECT_THAT(help, HasSubstr("127.0.0.1:8500"));
  EXPECT_THAT(help, HasSubstr("127.0.0.1:8501"));
  EXPECT_THAT(help, HasSubstr("--[no-]reflection"));
  EXPECT_THAT(help, HasSubstr("(default no)"));
  EXPECT_THAT(help, HasSubstr("--threads=N"));
  EXPECT_THAT(help, HasSubstr("range [1, 256]"));
  EXPECT_THAT(help, HasSubstr("\nOptions of spool:\n"));
  EXPECT_THAT(help, HasSubstr("--spool.when_full=REFUSE|COUNT"));
  EXPECT_THAT(help, HasSubstr("default 10GiB"));
  EXPECT_THAT(help, HasSubstr("(required)"));
  EXPECT_THAT(help, HasSubstr("Config file:"));
}

TEST(OptionsHelpTest, StaysWithinEightyColumns) {
  std::istringstream lines(OptionsHelp(FitOptions::descriptor()));
  for (std::string line; std::getline(lines, line);) {
    int width = 0;
    for (const char byte : line) {
      width += (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
    }
    EXPECT_LE(width, 80) << line;
  }
}

}  // namespace
}  // namespace sortition
