#include "client/control/control_commands.h"

#include "client/control/serving_text.h"
#include "tests/client/command_run.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/parse_text.h"
#include "tests/testing/refusals.h"

namespace sortition {
namespace {

class ControlCommandsTest : public testing::Test {
 protected:
  ControlCommandsTest() {
    server_.changed = ParseText<v1::ChangeServingResponse>(
        "version: 7 serving { change: 4 time: 'now' caller: 'ann' reason: 'r' "
        "pinned_version: 7 }");
    server_.description = ParseText<v1::DescribeModelResponse>(
        "stored_change: 3 status { serving { change: 2 } }");
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
    EXPECT_THAT(run.out, HasTexts("change 4, now, ann: r\n", "pinned to 7",
                                  "version 7 serves\n"));
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
      {{"pin"}, "needs VERSION"},
      {{"pin", "x"}, "version is 'x'"},
      {{"pin", "0"}, "version is '0'"},
      {{"pin", "7", "8"}, "8"},
      {{"pin", "7", "--to=8"}, "--to is for models rollback"},
      {{"pin", "7", "--explore=5%"}, "--explore is for models mode"},
      {{"rollback", "--explore=5%"}, "--explore is for models mode"},
      {{"label", "stable"}, "needs NAME VERSION"},
      {{"label", "stable", "x"}, "version is 'x'"},
      {{"split"}, "needs VERSION"},
      {{"split", "8"}, "share is ''"},
      {{"split", "8=1"}, "share is '1'"},
      {{"split", "8=0%"}, "share is '0%'"},
      {{"split", "8=1%", "none"}, "version is 'none'"},
      {{"interleave"}, "needs VERSION"},
      {{"interleave", "8"}, "share is ''"},
      {{"interleave", "8=1%", "9=1%"}, "9=1%"},
      {{"interleave", "8=1%", "--method=team"},
       "method is 'team', must be TEAM_DRAFT or PROBABILISTIC"},
      {{"interleave", "8=1%", "--method=METHOD_UNSPECIFIED"},
       "method is 'METHOD_UNSPECIFIED'"},
      {{"split", "8=1%", "--method=TEAM_DRAFT"},
       "--method is for models interleave"},
      {{"shadow", "8/0"}, "share is '/0'"},
      {{"shadow", "8/x"}, "share is '/x'"},
      {{"mode", "apprentice"}, "mode is 'apprentice'"},
      {{"mode", "OFF", "--explore=200%"}, "share is '200%'"},
      {{"pin", "7", "--output=xml"}, "must be text or json"},
  };
  for (const auto& [arguments, message] : cases) {
    const CommandRun run = Change(arguments);
    EXPECT_EQ(run.exit_code, 2) << message << run.out;
    EXPECT_THAT(run.error, HasSubstr(message));
    EXPECT_EQ(run.out, "");
  }
  EXPECT_EQ(Run({"pin", "7"}).exit_code, 2);
  EXPECT_THAT(Run({"pin", "7"}).error, HasSubstr("reason"));
  EXPECT_EQ(Run({"describe", "--output=xml"}).exit_code, 2);
  EXPECT_THAT(server_.changes(), IsEmpty());
}

TEST_F(ControlCommandsTest, RefusalsOfTheServerArePrinted) {
  server_.failure = {grpc::StatusCode::FAILED_PRECONDITION, "no such version"};
  server_.fail_first = 1;
  CommandRun run = Change({"pin", "9"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasTexts("no such version", server_.address()));
  // The server may go on beyond the deadline.
  server_.failure = {grpc::StatusCode::DEADLINE_EXCEEDED, "too late"};
  server_.fail_first = 1;
  run = Change({"pin", "9"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.error, HasTexts("too late", "sortition models describe"));
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
  server_.description = ParseText<v1::DescribeModelResponse>(
      R"(status { name: "ads" version: 7 policy: "plackett_luce" num_features: 3
                  loaded { version: 7 uses: "serves" uses: "label stable" }
                  rejected { version: 8 reason: "corrupt: x" }
                  not_versions { name: "v9" reason: "rename it to 9" }
                  serving_error: "line 3" }
         versions { version: 7 learner: "crm" created_time_us: 1000000
                    parent_version: 6 comment: "night run" }
         versions { version: 8 error: "cannot open" }
         history { change: 1 time: "t1" caller: "ann" reason: "first" }
         history { change: 2 time: "t2" caller: "bob" reason: "second"
                   pinned_version: 7 })");
  const CommandRun run = Run({"describe"});
  ASSERT_EQ(run.exit_code, 0) << run.error;
  EXPECT_THAT(run.out, HasTexts("model ads, plackett_luce, 3 features\n",
                                "version 7 serves: newest version\n",
                                "SERVING.textproto is not in force: line 3\n",
                                "1970-01-01 00:00:01Z", "serves, label stable",
                                "night run", "cannot open",
                                "rejected version 8: corrupt: x\n",
                                "not a version: ads/v9: rename it to 9\n",
                                "change 1, t1, ann: first\n  newest version\n",
                                "change 2, t2, bob: second\n  pinned to 7\n"));
  const CommandRun last = Run({"describe", "--history=1"});
  EXPECT_THAT(last.out, AllOf(HasSubstr("1 changes before (--history)\n"),
                              Not(HasSubstr("first")), HasSubstr("second")));
  EXPECT_THAT(Run({"describe", "--output=json"}).out,
              HasSubstr("\"serving_error\""));
}

// States of older servers, and states written by hand, may hold such texts.
TEST_F(ControlCommandsTest, NoTextPretendsToBeAnotherLine) {
  server_.description = ParseText<v1::DescribeModelResponse>(
      R"(status { name: "ads" not_versions { name: "v\n9" reason: "a\nb" } }
         versions { version: 7 comment: "night\trun" }
         history { change: 1 time: "t1" caller: "a\rb"
                   reason: "calm\nchange 2, t2, root: fine" })");
  const CommandRun run = Run({"describe"});
  EXPECT_THAT(run.out,
              HasTexts("not a version: ads/v\\x0a9: a\\x0ab\n", "night\\x09run",
                       "change 1, t1, a\\x0db: calm\\x0achange 2, t2, root: "
                       "fine\n"));
}

TEST_F(ControlCommandsTest, ReloadsAndLists) {
  EXPECT_EQ(Run({"reload"}).exit_code, 0);
  EXPECT_EQ(server_.num_reloads, 1);
  EXPECT_THAT(Run({"list"}).out, HasTexts("default", "newest version"));
  EXPECT_THAT(Run({"list"}).out, Not(HasSubstr("not a ")));
}

TEST_F(ControlCommandsTest, ListsWhatTheStorePassesOver) {
  server_.listed = ParseText<v1::ListModelsResponse>(
      R"(models { name: "ads" version: 7
                  not_versions { name: "v9" reason: "rename it to 9" } }
         not_models { name: "my model" reason: "rename it" })");
  EXPECT_THAT(Run({"list"}).out,
              HasTexts("not a version: ads/v9: rename it to 9\n",
                       "not a model: my model: rename it\n"));
  EXPECT_THAT(Run({"list", "--output=json"}).out,
              HasTexts("\"not_versions\"", "\"not_models\""));
}

model::v1::Serving Parse(const std::string& text) {
  return ParseText<model::v1::Serving>(text);
}

TEST(ServingTextTest, SaysEverythingInOneLine) {
  EXPECT_EQ(ServingText(Parse("")), "newest version");
  EXPECT_EQ(
      ServingText(Parse(R"(
        pinned_version: 7
        split { arms { version: 8 ranges { begin: 0 end: 100 }
                       ranges { begin: 300 end: 325 } }
                arms { version: 9 ranges { begin: 500 end: 501 } } }
        labels { name: 'canary' version: 8 }
        shadows { version: 5 every: 1 } shadows { version: 6 every: 10 }
        mode: EXPLORE_ABOVE_BASELINE explore_parts: 550
        protected_versions: 2 protected_versions: 3
        rolled_back_versions: 4)")),
      "pinned to 7; version 8 has 1.25 %; version 9 has 0.01 %; label canary "
      "is 8; shadow 5; shadow 6 of 1 in 10; mode EXPLORE_ABOVE_BASELINE 5.5 %; "
      "protected 2, 3; rolled back from 4");
}

TEST(ServingTextTest, SaysWhatIsInterleaved) {
  EXPECT_EQ(ServingText(Parse(R"(
              pinned_version: 7
              interleave { version: 8 method: TEAM_DRAFT parts: 1000 }
              labels { name: 'canary' version: 8 })")),
            "pinned to 7; interleaved with 8 for 10 % (TEAM_DRAFT); label "
            "canary is 8");
}

TEST(ServingTextTest, ChangesNameTheirCauses) {
  EXPECT_EQ(ChangeText(Parse("change: 3 time: 't' caller: 'ann' reason: 'r'")),
            "change 3, t, ann: r");
  EXPECT_EQ(ChangeText(Parse("change: 3 time: 't' reason: 'edited by hand'")),
            "change 3, t, ?: edited by hand");
}

TEST(ServingTextTest, TimesAreUtc) {
  EXPECT_EQ(TimeText(0), "");
  EXPECT_EQ(TimeText(1'000'000), "1970-01-01 00:00:01Z");
}

TEST(ParseShareTest, TakesWholeParts) {
  const std::vector<std::pair<const char*, uint32_t>> cases = {
      {"1%", 100},    {"0.01%", 1},      {"100%", 10000}, {"33.33%", 3333},
      {"2.5 %", 250}, {"1.10000%", 110}, {"5e1%", 5000}};
  for (const auto& [text, parts] : cases) {
    ASSERT_OK_AND_ASSIGN(const uint32_t parsed, ParseShare(text));
    EXPECT_EQ(parsed, parts) << text;
  }
}

TEST(ParseShareTest, RefusesTheRestByName) {
  for (const char* text : {"", "%", "1", "0%", "-1%", "0.001%", "0.015%",
                           "100.01%", "nan%", "inf%", "1%%", "one%"}) {
    EXPECT_THAT(ParseShare(text),
                IsInvalidArgument("must be a multiple of 0.01%"))
        << text;
  }
}

}  // namespace
}  // namespace sortition
