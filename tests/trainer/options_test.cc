#include <algorithm>

#include "core/learners/learners.h"
#include "io/files.h"
#include "process/command.h"
#include "tests/testing/captured_log.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"
#include "trainer/train_help.h"

namespace sortition {
namespace {

// --check_config of all commands.

class CheckConfigTest : public testing::Test {
 protected:
  CheckConfigTest() {
    EXPECT_OK(ModelStore(store_).Publish(LoggingModel({}), nullptr, {}));
    WriteSegment(tuples_, 0, MakeTuples({}, 3));
    EXPECT_OK(WriteFile(data_, "not read"));
  }

  int Run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    CaptureLog();
    const int exit_code = RunTrainer(arguments);
    out_ = testing::internal::GetCapturedStdout();
    error_ = CapturedLog();
    return exit_code;
  }

  // Checks a command whose option is wrong.
  void ExpectFinding(const std::string& command, const std::string& flag,
                     const std::string& finding) {
    std::vector<std::string> arguments = {command, "--check_config"};
    for (const std::string& given : GoodFlags(command)) {
      if (given.substr(0, given.find('=')) != flag.substr(0, flag.find('='))) {
        arguments.push_back(given);
      }
    }
    arguments.push_back(flag);
    EXPECT_EQ(Run(arguments), kExitUsage) << command << " " << flag;
    EXPECT_THAT(out_, HasSubstr(finding));
    EXPECT_THAT(error_, IsEmpty());
  }

  // With these a command could begin.
  std::vector<std::string> GoodFlags(const std::string& command) const {
    const std::string store = "--model_store=" + store_;
    const std::string tuples = "--tuples=" + tuples_;
    const std::string data = "--data=" + data_;
    if (command == "train") return {store, tuples};
    if (command == "evaluate" || command == "fit" || command == "score") {
      return {store, data};
    }
    if (command == "publish")
      return {store, "--reason=why", "--from_version=1"};
    if (command == "describe" || command == "prune") return {store};
    if (command == "cluster" || command == "suggest-features") return {tuples};
    if (command == "convert") return {data, "--output=" + dir_.path() + "/new"};
    return {store, tuples};
  }

  // Returns all there is.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(dir_.path())) {
      files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TempDir dir_;
  const std::string store_ = dir_.Sub("models");
  const std::string tuples_ = dir_.Sub("tuples");
  const std::string data_ = dir_.path() + "/data.letor";
  std::string out_;
  std::string error_;
};

TEST_F(CheckConfigTest, EveryCommandHasItAndSaysSo) {
  const std::vector<std::string> before = Files();
  for (const Command& command : TrainerProgram().commands) {
    std::vector<std::string> arguments = {command.name, "--check_config"};
    for (const std::string& flag : GoodFlags(command.name)) {
      arguments.push_back(flag);
    }
    EXPECT_EQ(Run(arguments), kExitOk) << command.name;
    EXPECT_THAT(out_, IsEmpty()) << command.name;
    EXPECT_THAT(error_, IsEmpty()) << command.name;
    EXPECT_EQ(Run({command.name, "--help"}), kExitOk);
    EXPECT_THAT(out_, HasSubstr("\n  --check_config  ")) << command.name;
  }
  for (const char* const help : {"--help=all", "--help=ranksvm"}) {
    EXPECT_EQ(Run({"train", help}), kExitOk);
    EXPECT_THAT(out_, HasSubstr("\n  --check_config  ")) << help;
  }
  EXPECT_EQ(Files(), before);
}

TEST_F(CheckConfigTest, NamesAllThatIsWrongAndMakesNothing) {
  const std::vector<std::string> before = Files();
  const std::string none = dir_.path() + "/none";
  EXPECT_EQ(Run({"train", "--tuples=" + none, "--model_store=" + store_,
                 "--report=" + none + "/report.json", "--features=" + none,
                 "--since=yesterday", "--check_config"}),
            kExitUsage);
  EXPECT_THAT(out_, HasTexts("note: tuples = \"" + none, "report = \"" + none,
                             "features = \"" + none, "yesterday"));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 4) << out_;
  EXPECT_EQ(Run({"train", "--tuples=" + tuples_, "--model_store=" + none,
                 "--check_config"}),
            kExitOk);
  EXPECT_EQ(Files(), before);
}

TEST_F(CheckConfigTest, AScheduleMayBeSetUpBeforeTheFirstTuples) {
  const std::string none = dir_.path() + "/none";
  const std::string empty = dir_.Sub("empty");
  for (const std::string& tuples : {none, empty}) {
    for (const char* const command : {"train", "rollout"}) {
      EXPECT_EQ(Run({command, "--check_config", "--tuples=" + tuples,
                     "--model_store=" + store_}),
                kExitOk);
      EXPECT_THAT(out_,
                  HasTexts("note: tuples = \"" + tuples, "no tuples yet"));
    }
    EXPECT_EQ(Run({"train", "--check_config", "--tuples=" + tuples,
                   "--model_store=" + store_, "--confidence=2"}),
              kExitUsage);
  }
  // Commands that somebody runs by hand need their log.
  EXPECT_EQ(Run({"cluster", "--check_config", "--tuples=" + none}), kExitUsage);
}

TEST_F(CheckConfigTest, WrongOptionsAreAFinding) {
  EXPECT_EQ(Run({"train", "--check_config", "--tuples=" + tuples_,
                 "--model_store=" + store_, "--confidence=2"}),
            kExitUsage);
  EXPECT_THAT(out_, HasSubstr("[0.5, 0.9999]"));
  EXPECT_THAT(error_, IsEmpty());
  EXPECT_EQ(Run({"train", "--check_config", "--confidenze=0.9"}), kExitUsage);
  EXPECT_THAT(out_, HasSubstr("did you mean --confidence?"));
  // Behind two dashes it is no flag.
  EXPECT_EQ(
      Run({"describe", "--model_store=" + store_, "--", "--check_config"}),
      kExitUsage);
  EXPECT_THAT(error_, HasSubstr("unexpected argument \"--check_config\""));
}

TEST_F(CheckConfigTest, KnowsTheOptionsOfEachCommand) {
  const std::string none = dir_.path() + "/none";
  ExpectFinding("train", "--learner=magic", "magic");
  ExpectFinding("train", "--test_fraction=0.8", "must be below 1");
  ExpectFinding("train", "--rewards=clicks=" + none + "@horizon=1d",
                "rewards = \"" + none);
  ExpectFinding("evaluate", "--data=" + none, "data = \"" + none);
  ExpectFinding("evaluate", "--output=xml", "must be text or json");
  ExpectFinding("evaluate", "--format=csv", "must be data or trec");
  ExpectFinding("evaluate", "--qrels=" + none, "qrels = \"" + none);
  ExpectFinding("score", "--data=" + none, "data = \"" + none);
  ExpectFinding("score", "--output=xml", "must be tsv or json or trec");
  ExpectFinding("score", "--run_tag=x", "must be unset without --output=trec");
  ExpectFinding("score", "--qrels=" + none + "/qrels", "qrels = \"" + none);
  ExpectFinding("fit", "--action=label", "must be select or rank");
  ExpectFinding("fit", "--data=" + none, "data = \"" + none);
  ExpectFinding("describe", "--model_store=" + none, "model_store = \"" + none);
  ExpectFinding("calibrate", "--publish", "--force");
  ExpectFinding("ope", "--units=old", "must be new or same");
  ExpectFinding("ope", "--page=" + none + "/page.html", "page = \"" + none);
  ExpectFinding("clicks", "--draws=5", "must be 0 or at least 20");
  ExpectFinding("clicks", "--write=" + none + "/bias", "write = \"" + none);
  ExpectFinding("cluster", "--scale=large", "must be min_max, rank or none");
  ExpectFinding("publish", "--output=xml", "must be text or json");
  ExpectFinding("prune", "--versions=x", "must be numbers of versions");
  ExpectFinding("prune", "--log=" + none, "log: ");
  ExpectFinding("rollout", "--model=other", "which has default");
  ExpectFinding("rollout", "--metrics=there", "metrics = \"there\"");
  ExpectFinding("rollout", "--stop", "must say why, with stop");
  ExpectFinding("convert", "--output=" + tuples_, "output = \"" + tuples_);
}

// `train --help` shows what a learner uses, and nothing else.

std::string Help(const std::vector<std::string>& arguments) {
  const auto help = TrainHelpFor(arguments);
  EXPECT_OK(help);
  EXPECT_TRUE(help.ok() && help->has_value());
  return help.ok() ? help->value_or("") : "";
}

auto HasFlag(const std::string& name) {
  return testing::ContainsRegex(
      absl::StrCat("\n  --(\\[no-\\])?", name, "[= \n]"));
}

TEST(TrainHelpTest, AloneItIsShortAndSaysHowToSeeMore) {
  const std::string help = Help({"--help"});
  // Two screens.
  EXPECT_LE(std::count(help.begin(), help.end(), '\n'), 90);
  EXPECT_THAT(help, AllOf(HasFlag("tuples"), HasFlag("data"),
                          HasFlag("model_store"), HasFlag("dry_run")));
  EXPECT_THAT(help, HasTexts("--help=LEARNER", "--help=all",
                             "3 the log has enough data"));
  EXPECT_THAT(help, Not(HasFlag("poem.objective")));
  for (const LearnerInfo& learner : ListLearners()) {
    if (learner.options == config::v1::TrainOptions::LEARNER_OPTIONS_NOT_SET) {
      continue;
    }
    EXPECT_THAT(help, HasSubstr(std::string(learner.help)));
  }
  EXPECT_EQ(Help({"-h"}), help);
}

TEST(TrainHelpTest, OfPoemItHasTheOptionsOfTuplesAndNoOther) {
  const std::string help = Help({"--help=poem"});
  EXPECT_THAT(help, AllOf(HasFlag("poem.objective"), HasFlag("tuples"),
                          HasFlag("guardrails"), HasFlag("hidden_units"),
                          HasFlag("plan.shares"), HasFlag("model_store")));
  EXPECT_THAT(help, AllOf(Not(HasFlag("data")), Not(HasFlag("game.measure")),
                          Not(HasFlag("inverse_temperature")),
                          Not(HasFlag("trusted_order.weight"))));
  EXPECT_EQ(Help({"--learner=poem", "--help"}), help);
  EXPECT_EQ(Help({"--help", "--learner", "poem"}), help);
}

TEST(TrainHelpTest, OfALearnerOfLabelsItHasNoOptionOfTuples) {
  const std::string svm = Help({"--help=ranksvm"});
  EXPECT_THAT(svm, AllOf(HasFlag("rank_svm.lambda"), HasFlag("data"),
                         HasFlag("trusted_order.weight"),
                         HasFlag("inverse_temperature")));
  for (const char* other : {"tuples", "guardrails", "plan.shares", "mix_joins",
                            "poem.objective", "game.measure"}) {
    EXPECT_THAT(svm, Not(HasFlag(other))) << other;
  }
  const std::string mpg = Help({"--help=mpg"});
  EXPECT_THAT(mpg, HasFlag("game.measure"));
  EXPECT_THAT(mpg, AllOf(Not(HasFlag("inverse_temperature")),
                         Not(HasFlag("trusted_order.weight"))));
}

TEST(TrainHelpTest, OfAllItHasTheOptionsOfEveryLearner) {
  const std::string all = Help({"--help=all"});
  for (const char* name : {"poem.objective", "game.measure", "rank_svm.lambda",
                           "tuples", "data", "plan.shares"}) {
    EXPECT_THAT(all, HasFlag(name)) << name;
  }
}

TEST(TrainHelpTest, NamesTheLearnersWhereThereIsNoneOfThatName) {
  const auto help = TrainHelpFor({"--help=poetry"});
  EXPECT_TRUE(IsUsageError(help.status()));
  EXPECT_THAT(std::string(help.status().message()),
              HasTexts("--help is 'poetry'", "poem, mpg", "all"));
  EXPECT_THAT(
      std::string(TrainHelpFor({"--learner=x", "-h"}).status().message()),
      HasSubstr("--learner is 'x'"));
}

TEST(TrainHelpTest, IsNotPrintedUnlessItIsAskedFor) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"--learner=poem"}, {"--", "--help"}}) {
    const auto help = TrainHelpFor(arguments);
    ASSERT_OK(help);
    EXPECT_FALSE(help->has_value());
  }
}

}  // namespace
}  // namespace sortition
