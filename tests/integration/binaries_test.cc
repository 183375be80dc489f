// Every program prints its help and refuses unknown options.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/descriptor.h"
#include "sortition/config/v1/calibrate.pb.h"
#include "sortition/config/v1/client.pb.h"
#include "sortition/config/v1/convert.pb.h"
#include "sortition/config/v1/evaluate.pb.h"
#include "sortition/config/v1/fit.pb.h"
#include "sortition/config/v1/models.pb.h"
#include "sortition/config/v1/prune.pb.h"
#include "sortition/config/v1/rollout.pb.h"
#include "sortition/config/v1/score.pb.h"
#include "sortition/config/v1/server.pb.h"
#include "sortition/config/v1/sidecar.pb.h"
#include "sortition/config/v1/train.pb.h"
#include "tests/testing/child_process.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::FieldDescriptor;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Command {
  std::vector<std::string> words;  // Program and subcommand.
  const Descriptor* options;
  std::string typo;  // A misspelled option.
  std::string hint;  // Its right name.
};

std::vector<Command> Commands() {
  using namespace config::v1;
  return {
      {{"sortition-server"}, ServerOptions::descriptor(), "listn", "listen"},
      {{"sortition-sidecar"}, SidecarOptions::descriptor(), "tuple", "tuples"},
      {{"sortition-trainer", "train"},
       TrainOptions::descriptor(),
       "confidnce",
       "confidence"},
      {{"sortition-trainer", "fit"},
       FitOptions::descriptor(),
       "max_querys",
       "max_queries"},
      {{"sortition-trainer", "calibrate"},
       CalibrateOptions::descriptor(),
       "alpha_mni",
       "alpha_min"},
      {{"sortition-trainer", "convert"},
       ConvertOptions::descriptor(),
       "replay",
       "replays"},
      {{"sortition-trainer", "evaluate"},
       EvaluateOptions::descriptor(),
       "metric",
       "metrics"},
      {{"sortition-trainer", "score"},
       ScoreOptions::descriptor(),
       "run_tga",
       "run_tag"},
      {{"sortition-trainer", "prune"},
       PruneOptions::descriptor(),
       "keeep",
       "keep"},
      {{"sortition-trainer", "rollout"},
       RolloutOptions::descriptor(),
       "statsu",
       "status"},
      {{"sortition", "aggregate"},
       AggregateOptions::descriptor(),
       "concentraton",
       "concentration"},
      {{"sortition", "rank"}, DecideOptions::descriptor(), "topk", "top_k"},
      {{"sortition", "select"}, DecideOptions::descriptor(), "scors", "scores"},
      {{"sortition", "shown"}, ShownOptions::descriptor(), "shwn", "shown"},
      {{"sortition", "feedback"},
       FeedbackOptions::descriptor(),
       "rewrd",
       "reward"},
      {{"sortition", "models", "list"},
       ModelsOptions::descriptor(),
       "outptu",
       "output"},
      {{"sortition", "simulate"},
       SimulateOptions::descriptor(),
       "decision",
       "decisions"},
      {{"sortition", "log", "stats"},
       LogOptions::descriptor(),
       "model_stor",
       "model_store"},
  };
}

std::vector<std::string> Arguments(const Command& command) {
  std::vector<std::string> arguments = command.words;
  arguments[0] = BinaryPath(arguments[0]);
  return arguments;
}

// Appends the names of the options themselves, not of their groups.
void AppendLeafNames(const Descriptor* descriptor,
                     std::vector<std::string>* names) {
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->message_type() != nullptr) {
      AppendLeafNames(field->message_type(), names);
    } else {
      names->push_back(field->name());
    }
  }
}

class CommandTest : public testing::TestWithParam<Command> {};

TEST_P(CommandTest, HelpMentionsEveryOption) {
  std::vector<std::string> arguments = Arguments(GetParam());
  // That of train is short; this one is whole.
  arguments.push_back(arguments.back() == "train" ? "--help=all" : "--help");
  ASSERT_OK_AND_ASSIGN(const FinishedProcess run, RunToEnd(arguments));
  EXPECT_EQ(run.exit_code, 0) << run.stderr_text;
  std::vector<std::string> names;
  AppendLeafNames(GetParam().options, &names);
  for (const std::string& name : names) {
    EXPECT_THAT(run.stdout_text, HasSubstr(name));
  }
}

TEST_P(CommandTest, UnknownFlagIsRefusedWithTheNearestName) {
  std::vector<std::string> arguments = Arguments(GetParam());
  arguments.push_back(absl::StrCat("--", GetParam().typo, "=1"));
  ASSERT_OK_AND_ASSIGN(const FinishedProcess run, RunToEnd(arguments));
  EXPECT_GT(run.exit_code, 0);
  EXPECT_THAT(run.stderr_text, HasSubstr(GetParam().typo));
  EXPECT_THAT(run.stderr_text, HasSubstr(absl::StrCat("--", GetParam().hint)));
}

INSTANTIATE_TEST_SUITE_P(All, CommandTest, testing::ValuesIn(Commands()),
                         [](const auto& parameter) {
                           std::string name =
                               absl::StrJoin(parameter.param.words, "_");
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(BinariesTest, HelpOfProgramsWithSubcommandsNamesThem) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> cases = {
      {"sortition-trainer", {"train", "fit", "calibrate", "convert"}},
      {"sortition",
       {"rank", "select", "shown", "feedback", "models", "simulate", "world",
        "log"}}};
  for (const auto& [program, subcommands] : cases) {
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                         RunToEnd({BinaryPath(program), "--help"}));
    EXPECT_EQ(run.exit_code, 0) << program << run.stderr_text;
    for (const std::string& subcommand : subcommands) {
      EXPECT_THAT(run.stdout_text, HasSubstr(subcommand)) << program;
    }
  }
}

// One form for all of them.
TEST(BinariesTest, AllSayTheirVersion) {
  std::string first;
  for (const char* program : {"sortition-server", "sortition-sidecar",
                              "sortition-trainer", "sortition"}) {
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                         RunToEnd({BinaryPath(program), "--version"}));
    EXPECT_EQ(run.exit_code, 0) << program << run.stderr_text;
    EXPECT_EQ(run.stderr_text, "") << program;
    const std::string name = absl::StrCat(program, " ");
    ASSERT_THAT(run.stdout_text, StartsWith(name));
    const std::string rest = run.stdout_text.substr(name.size());
    EXPECT_THAT(rest, AllOf(HasSubstr("\ncommit: "), HasSubstr("\nbuild: "),
                            HasSubstr("\nlibraries: ")));
    if (first.empty()) first = rest;
    EXPECT_EQ(rest, first) << program;
  }
}

TEST(BinariesTest, UnknownSubcommandIsRefused) {
  for (const char* program : {"sortition", "sortition-trainer"}) {
    ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                         RunToEnd({BinaryPath(program), "tarin"}));
    EXPECT_GT(run.exit_code, 0) << program;
    EXPECT_THAT(run.stderr_text, HasSubstr("tarin")) << program;
  }
}

TEST(BinariesTest, MissingRequiredOptionIsNamed) {
  ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                       RunToEnd({BinaryPath("sortition-server")}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.stderr_text, HasSubstr("model_store"));
}

TEST(BinariesTest, ValueOutOfRangeNamesFlagValueAndRange) {
  // threads is in [1, 256].
  ASSERT_OK_AND_ASSIGN(const FinishedProcess run,
                       RunToEnd({BinaryPath("sortition-server"),
                                 "--model_store=/nowhere", "--threads=257"}));
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.stderr_text, HasSubstr("threads"));
  EXPECT_THAT(run.stderr_text, HasSubstr("257"));
  EXPECT_THAT(run.stderr_text, HasSubstr("256"));
}

}  // namespace
}  // namespace sortition
