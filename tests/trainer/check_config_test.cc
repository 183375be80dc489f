// --check_config of all commands.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "process/command.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/synthetic_tuples.h"
#include "trainer/commands.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CheckConfigTest : public testing::Test {
 protected:
  CheckConfigTest() {
    EXPECT_OK(ModelStore(store_).Publish(LoggingModel({}), nullptr, {}));
    WriteSegment(tuples_, 0, MakeTuples({}, 3));
    EXPECT_OK(WriteFile(data_, "not read"));
  }

  int Run(const std::vector<std::string>& arguments) {
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int exit_code = RunTrainer(arguments);
    out_ = testing::internal::GetCapturedStdout();
    error_ = testing::internal::GetCapturedStderr();
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
    if (command == "evaluate" || command == "fit") return {store, data};
    if (command == "publish")
      return {store, "--reason=why", "--from_version=1"};
    if (command == "describe" || command == "prune") return {store};
    if (command == "cluster") return {tuples};
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
  EXPECT_THAT(out_,
              AllOf(HasSubstr("tuples: "), HasSubstr("report = \"" + none),
                    HasSubstr("features = \"" + none), HasSubstr("yesterday")));
  EXPECT_EQ(std::count(out_.begin(), out_.end(), '\n'), 4) << out_;
  EXPECT_EQ(Run({"train", "--tuples=" + tuples_, "--model_store=" + none,
                 "--check_config"}),
            kExitOk);
  EXPECT_EQ(Files(), before);
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
  ExpectFinding("train", "--rewards=clicks=" + none, "rewards = \"" + none);
  ExpectFinding("evaluate", "--data=" + none, "data = \"" + none);
  ExpectFinding("evaluate", "--output=xml", "must be text or json");
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

}  // namespace
}  // namespace sortition
