// The profile "streams" of deploy/compose.yaml with its own command lines and
// configurations, in one directory and on free ports.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/nats_server.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using Replacements = std::vector<std::pair<std::string, std::string>>;

std::string ReadDeployed(const std::string& name) {
  return ReadFile(absl::StrCat(SORTITION_SOURCES "/deploy/", name)).value();
}

// Returns the words of "command: [a, b]" behind the line "  service:" of a
// compose file.
std::vector<std::string> CommandOf(const std::string& compose,
                                   const std::string& service) {
  const size_t begin = compose.find("\n" + service + ":");
  EXPECT_NE(begin, std::string::npos) << service;
  std::smatch match;
  const std::string rest = compose.substr(begin);
  EXPECT_TRUE(
      std::regex_search(rest, match, std::regex("command: \\[([^\\]]*)\\]")));
  return absl::StrSplit(absl::StrReplaceAll(match[1].str(), {{"\"", ""}}),
                        ", ");
}

class StreamsProfileTest : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_STREAMS(); }

  std::string Path(const std::string& name) const { return dir_ / name; }

  // Hosts and directories of the containers, as they are called here.
  Replacements Here() {
    Replacements here = {{"${SORTITION_SIDECAR:-sidecar}", "publish"},
                         {"/var/lib/sortition", Path("data")},
                         {"/etc/sortition", Path("examples")},
                         {"/etc/nats", Path("nats")}};
    for (int i = 1; i <= 3; ++i) {
      for (const char* port : {"4222", "6222"}) {
        here.emplace_back(absl::StrCat("nats-", i, ":", port),
                          absl::StrCat("127.0.0.1:", FreePort()));
      }
    }
    for (const char* port : {"8500", "8501", "8502"}) {
      here.emplace_back(absl::StrCat("0.0.0.0:", port), "127.0.0.1:0");
    }
    return here;
  }
  static std::string AddressOf(const Replacements& here,
                               const std::string& name) {
    return std::find_if(here.begin(), here.end(),
                        [&](const auto& pair) { return pair.first == name; })
        ->second;
  }

  // Writes the options of a process as they are here.
  void Deploy(const std::string& name, const Replacements& here) {
    ASSERT_OK(
        WriteFile(Path(name), absl::StrReplaceAll(ReadDeployed(name), here)));
  }
  void StartBroker(int i, const Replacements& here) {
    const std::string name = absl::StrCat("nats-", i);
    Replacements own = {
        {"0.0.0.0:4222", AddressOf(here, name + ":4222")},
        {"0.0.0.0:6222", AddressOf(here, name + ":6222")},
        {"0.0.0.0:8222", absl::StrCat("127.0.0.1:", FreePort())},
        {"\"/data\"", absl::StrCat("\"", Path(name), "\"")}};
    own.insert(own.end(), here.begin(), here.end());
    ASSERT_OK(
        WriteFile(Path("nats/" + name + ".conf"),
                  absl::StrReplaceAll(ReadDeployed("nats/nats.conf"), own)));
    std::vector<std::string> command = CommandOf(compose_, "x-nats");
    for (std::string& word : command) {
      word = absl::StrReplaceAll(
          word, {{"/etc/nats/nats.conf", Path("nats/" + name + ".conf")}});
    }
    command.insert(command.begin(),
                   {"/usr/bin/env", "NATS_NAME=" + name, kNatsServer});
    Start(name, command);
  }
  void Start(const std::string& name, const std::vector<std::string>& command) {
    auto process = ChildProcess::Start(command, Path(name + ".out"));
    ASSERT_OK(process);
    processes_.push_back(*std::move(process));
  }
  void StartProgram(const std::string& service, const std::string& compose,
                    const Replacements& here,
                    const std::vector<std::string>& more) {
    std::vector<std::string> command = CommandOf(compose, "  " + service);
    command[0] = BinaryPath(command[0]);
    for (std::string& word : command) word = absl::StrReplaceAll(word, here);
    command.insert(command.end(), more.begin(), more.end());
    Start(service, command);
  }

  const TempDir dir_;
  const std::string compose_ = ReadDeployed("compose.yaml");
  std::vector<std::unique_ptr<ChildProcess>> processes_;
};

TEST_F(StreamsProfileTest, BringsDecisionsToTuples) {
  for (const char* name : {"examples", "nats", "data/models"}) {
    std::filesystem::create_directories(Path(name));
  }
  const Replacements here = Here();
  for (const char* name : {"server", "publish", "consume"}) {
    Deploy(absl::StrCat("examples/", name, ".textproto"), here);
  }
  for (int i = 1; i <= 3; ++i) StartBroker(i, here);
  const std::string port_file = Path("server.ports");
  StartProgram("server", compose_, here,
               {"--port_file=" + port_file, "--spool.segment_seconds=0.3"});
  ASSERT_OK_AND_ASSIGN(const int port, processes_.back()->WaitForPort(
                                           port_file, "rpc", kPatienceSeconds));
  StartProgram("sidecar", compose_, here, {});
  // A window of ten minutes is too long for a test.
  StartProgram("consumer", compose_, here,
               {"--join.reward_wait_time_seconds=0.5"});
  SelectLoad load({.address = absl::StrCat("127.0.0.1:", port),
                   .threads = 1,
                   .has_feedback = true});
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return load.num_answered() > 100; }));
  load.Stop();
  const std::set<std::string> answered(load.answered().begin(),
                                       load.answered().end());
  std::vector<std::string> ids;
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    ids = TupleIds(Path("data/tuples")).value_or(std::vector<std::string>());
    return ids.size() >= answered.size();
  })) << processes_.back()->StderrText();
  EXPECT_EQ(ids.size(), answered.size());
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()), answered);
}

}  // namespace
}  // namespace sortition
