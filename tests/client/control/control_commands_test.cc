#include "client/control/control_commands.h"

#include <sstream>
#include <string>
#include <vector>

#include "client/commands.h"
#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "process/command.h"
#include "tests/client/rpc/fake_server.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

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

class ControlCommandsTest : public testing::Test {
 protected:
  ControlCommandsTest() {
    server_.changed.set_version(7);
    server_.changed.mutable_serving()->set_change(4);
    server_.changed.mutable_serving()->set_time("now");
    server_.changed.mutable_serving()->set_caller("ann");
    server_.changed.mutable_serving()->set_reason("r");
    server_.changed.mutable_serving()->set_pinned_version(7);
    server_.description.set_stored_change(3);
    server_.description.mutable_status()->mutable_serving()->set_change(2);
  }

  CommandRun Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "models");
    arguments.push_back("--server=" + server_.address());
    return Sortition(arguments);
  }
  CommandRun Change(std::vector<std::string> arguments) {
    arguments.push_back("--reason=r");
    return Run(std::move(arguments));
  }

  FakeServer server_;
};

TEST_F(ControlCommandsTest, EachCommandAsksForItsChange) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"pin", "7"}, "pin { version: 7 }"},
      {{"unpin"}, "unpin { }"},
      {{"label", "stable", "7"}, "set_label { name: \"stable\" version: 7 }"},
      {{"label", "stable", "none"}, "set_label { name: \"stable\" }"},
      {{"split", "8=1%", "9=0.5%"},
       "set_split { arms { version: 8 parts: 100 } arms { version: 9 parts: 50 "
       "} }"},
      {{"split", "none"}, "set_split { }"},
      {{"shadow", "8", "9/10"},
       "set_shadows { shadows { version: 8 every: 1 } shadows { version: 9 "
       "every: 10 } }"},
      {{"shadow", "none"}, "set_shadows { }"},
      {{"interleave", "8=10%"},
       "set_interleave { version: 8 method: TEAM_DRAFT parts: 1000 }"},
      {{"interleave", "8=100%", "--method=PROBABILISTIC"},
       "set_interleave { version: 8 method: PROBABILISTIC parts: 10000 }"},
      {{"interleave", "none"}, "set_interleave { }"},
      {{"mode", "APPRENTICE"}, "set_mode { mode: APPRENTICE }"},
      {{"mode", "EXPLORE_ABOVE_BASELINE", "--explore=5%"},
       "set_mode { mode: EXPLORE_ABOVE_BASELINE explore_parts: 500 }"},
      {{"rollback"}, "expected_change: 3 rollback { }"},
      {{"rollback", "--to=5"}, "expected_change: 3 rollback { version: 5 }"},
      {{"protect", "7"}, "protect { version: 7 }"},
      {{"unprotect", "7"}, "protect { version: 7 off: true }"},
  };
  for (const auto& [arguments, expected] : cases) {
    const CommandRun run = Change(arguments);
    ASSERT_EQ(run.exit_code, 0) << expected << run.error;
    EXPECT_THAT(run.out, AllOf(HasSubstr("change 4, now, ann: r\n"),
                               HasSubstr("pinned to 7"),
                               HasSubstr("version 7 serves\n")));
    v1::ChangeServingRequest request = server_.changes().back();
    EXPECT_EQ(request.reason(), "r");
    request.clear_reason();
    EXPECT_EQ(request.ShortDebugString(), expected);
  }
}

TEST_F(ControlCommandsTest, TheModelAndJsonCanBeChosen) {
  const CommandRun run = Change({"pin", "7", "--model=ads", "--output=json"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasSubstr("\"pinned_version\""));
  EXPECT_EQ(server_.changes().back().model(), "ads");
}

TEST_F(ControlCommandsTest, WrongCallsExitWithTwoAndAskNothing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"pin", "--reason=r"}, "needs VERSION"},
      {{"pin", "x", "--reason=r"}, "version is 'x'"},
      {{"pin", "0", "--reason=r"}, "version is '0'"},
      {{"pin", "7"}, "reason"},
      {{"pin", "7", "8", "--reason=r"}, "8"},
      {{"pin", "7", "--to=8", "--reason=r"}, "--to is for models rollback"},
      {{"pin", "7", "--explore=5%", "--reason=r"},
       "--explore is for models mode"},
      {{"rollback", "--explore=5%", "--reason=r"},
       "--explore is for models mode"},
      {{"label", "stable", "--reason=r"}, "needs NAME VERSION"},
      {{"label", "stable", "x", "--reason=r"}, "version is 'x'"},
      {{"split", "--reason=r"}, "needs VERSION"},
      {{"split", "8", "--reason=r"}, "share is ''"},
      {{"split", "8=1", "--reason=r"}, "share is '1'"},
      {{"split", "8=0%", "--reason=r"}, "share is '0%'"},
      {{"split", "8=1%", "none", "--reason=r"}, "version is 'none'"},
      {{"interleave", "--reason=r"}, "needs VERSION"},
      {{"interleave", "8", "--reason=r"}, "share is ''"},
      {{"interleave", "8=1%", "9=1%", "--reason=r"}, "9=1%"},
      {{"interleave", "8=1%", "--method=team", "--reason=r"},
       "method is 'team', must be TEAM_DRAFT or PROBABILISTIC"},
      {{"interleave", "8=1%", "--method=METHOD_UNSPECIFIED", "--reason=r"},
       "method is 'METHOD_UNSPECIFIED'"},
      {{"split", "8=1%", "--method=TEAM_DRAFT", "--reason=r"},
       "--method is for models interleave"},
      {{"shadow", "8/0", "--reason=r"}, "share is '/0'"},
      {{"shadow", "8/x", "--reason=r"}, "share is '/x'"},
      {{"mode", "apprentice", "--reason=r"}, "mode is 'apprentice'"},
      {{"mode", "OFF", "--explore=200%", "--reason=r"}, "share is '200%'"},
      {{"pin", "7", "--reason=r", "--output=xml"}, "must be text or json"},
      {{"describe", "--output=xml"}, "must be text or json"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 2) << message << run.out;
    EXPECT_THAT(run.error, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_THAT(server_.changes(), IsEmpty());
}

TEST_F(ControlCommandsTest, RefusalsOfTheServerArePrinted) {
  server_.failure = {grpc::StatusCode::FAILED_PRECONDITION, "no such version"};
  server_.fail_first = 1;
  const CommandRun run = Change({"pin", "9"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, AllOf(HasSubstr("no such version"),
                               HasSubstr(server_.address())));
}

TEST_F(ControlCommandsTest, ADeadlineSaysThatTheServerMayGoOn) {
  server_.failure = {grpc::StatusCode::DEADLINE_EXCEEDED, "too late"};
  server_.fail_first = 1;
  const CommandRun run = Change({"pin", "9"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, AllOf(HasSubstr("too late"),
                               HasSubstr("sortition models describe")));
}

TEST_F(ControlCommandsTest, RollbacksSayWhatUnpinWouldDo) {
  server_.description.add_versions()->set_version(7);
  EXPECT_THAT(Change({"rollback"}).out, Not(HasSubstr("unpin")));
  server_.description.add_versions()->set_version(8);
  EXPECT_THAT(Change({"rollback"}).out,
              HasSubstr("models unpin would let version 8 serve\n"));
  server_.changed.mutable_serving()->clear_pinned_version();
  server_.changed.mutable_serving()->add_rolled_back_versions(7);
  EXPECT_THAT(Change({"unpin"}).out,
              HasSubstr("a rollback has left version 7 before\n"));
}

TEST_F(ControlCommandsTest, DescribesAModel) {
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"(status { name: "ads" version: 7 policy: "plackett_luce" num_features: 3
                  loaded { version: 7 uses: "serves" uses: "label stable" }
                  rejected { version: 8 reason: "corrupt: x" }
                  serving_error: "line 3" }
         versions { version: 7 learner: "crm" created_time_us: 1000000
                    parent_version: 6 comment: "night run" }
         versions { version: 8 error: "cannot open" }
         history { change: 1 time: "t1" caller: "ann" reason: "first" }
         history { change: 2 time: "t2" caller: "bob" reason: "second"
                   pinned_version: 7 })",
      &server_.description));
  const CommandRun run = Run({"describe"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out,
              AllOf(HasSubstr("model ads, plackett_luce, 3 features\n"),
                    HasSubstr("version 7 serves: newest version\n"),
                    HasSubstr("SERVING.textproto is not in force: line 3\n"),
                    HasSubstr("1970-01-01 00:00:01Z"),
                    HasSubstr("serves, label stable"), HasSubstr("night run"),
                    HasSubstr("cannot open"),
                    HasSubstr("rejected version 8: corrupt: x\n"),
                    HasSubstr("change 1, t1, ann: first\n  newest version\n"),
                    HasSubstr("change 2, t2, bob: second\n  pinned to 7\n")));
  const CommandRun last = Run({"describe", "--history=1"});
  EXPECT_THAT(last.out, AllOf(HasSubstr("1 changes before (--history)\n"),
                              Not(HasSubstr("first")), HasSubstr("second")));
  EXPECT_THAT(Run({"describe", "--output=json"}).out,
              HasSubstr("\"serving_error\""));
}

TEST_F(ControlCommandsTest, ReloadsAndLists) {
  EXPECT_EQ(Run({"reload"}).exit_code, 0);
  EXPECT_EQ(server_.num_reloads, 1);
  EXPECT_THAT(Run({"list"}).out,
              AllOf(HasSubstr("default"), HasSubstr("newest version")));
}

}  // namespace
}  // namespace sortition
