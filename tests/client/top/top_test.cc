#include <pty.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/top/terminal.h"
#include "client/top/top_command.h"
#include "client/top/top_rows.h"
#include "client/top/top_text.h"
#include "process/http/http_server.h"
#include "tests/testing/patience.h"
#include "tests/testing/refusals.h"

namespace sortition {
namespace {

// The text of `top`, of statuses as server and sidecar send them.

// Numbers of 64 bits are strings in the JSON of protos. A field of a later
// release is in it.
constexpr char kStatus[] = R"({
  "process": {"role": "server", "version": "0.1.0",
    "start_time_us": "1000000000000", "now_us": "1011220000000",
    "resident_bytes": "187400192", "of_a_later_release": [1]},
  "server": {"ready": true, "models": [
    {"name": "answers", "version": "7", "versions": [
       {"version": "8", "uses": ["shadow"]}, {"version": "7", "uses": ["serves", "pinned"]},
       {"version": "6", "uses": ["arm 1000", "label stable"]}, {"version": "5"}],
     "traffic": [{"version": "6", "decisions_per_second": 21.24},
                 {"version": "7", "decisions_per_second": 191.4}]}],
   "methods": [{"method": "Select", "per_second": 213.9, "p50_seconds": 0.00022,
       "p99_seconds": 0.0013, "p999_seconds": 0.0048,
       "codes": [{"name": "OK", "count": "99"}, {"name": "INTERNAL", "count": "2"},
                 {"name": "UNAVAILABLE", "count": "3"}]},
      {"method": "Label", "codes": []}],
   "spool": {"dir": "/s", "state": "ok", "bytes": "2147483648",
     "max_bytes": "21474836480", "records": "3864020"}},
  "sidecar": {"worths": [
     {"model": "answers", "version": "7", "tuples": "301244",
      "reward": {"value": 0.6343, "lower": 0.6282, "upper": 0.6404, "confidence": 0.95}},
     {"model": "answers", "version": "other", "tuples": "3",
      "reward": {"value": 1, "lower": 1, "upper": 1}},
     {"model": "home", "version": "2", "tuples": "0"}],
    "tuples": "2600666", "pending": "14210", "lag_bytes": "184320", "spools": 1},
  "warnings": [
    {"time_us": "60000000", "level": "warning", "message": "old", "details": "a=1"},
    {"time_us": "120000000", "level": "error", "message": "new"}]})";

TopView ViewOf(const std::string& json) {
  TopView view;
  view.server = "127.0.0.1:8503";
  const auto status = ParseStatus(json);
  EXPECT_OK(status);
  if (status.ok()) view.server_status = *status;
  return view;
}

std::string Text(const TopView& view) {
  return absl::StrJoin(TopLines(view, false), "\n");
}

// The line that holds `word`; empty: none.
std::string LineWith(const TopView& view, const std::string& word) {
  for (const std::string& line : TopLines(view, false)) {
    if (absl::StrContains(line, word)) return line;
  }
  return "";
}

TEST(TopTextTest, SaysOfEachPolicyWhatItDecidesAndEarns) {
  const TopView view = ViewOf(kStatus);
  EXPECT_EQ(LineWith(view, "* answers"),
            "* answers               7 serves, pinned     191.4   0.6343    "
            "[0.6282, 0.6404]");
  EXPECT_THAT(LineWith(view, "arm 1000"),
              HasTexts("  answers               6 ", "21.2", " -"));
  EXPECT_THAT(LineWith(view, "other"),
              AllOf(HasSubstr("1.0000"), Not(HasSubstr("["))));
  EXPECT_THAT(Text(view), HasSubstr("95 % interval"));
}

TEST(TopTextTest, PoliciesThatServeComeFirstAndThenTheNewest) {
  const TopView view = ViewOf(kStatus);
  std::vector<std::string> order;
  for (const PolicyRow& row : PolicyRows(&view.server_status->server(),
                                         &view.server_status->sidecar())) {
    order.push_back(row.model + "/" + row.version);
  }
  // 5 has no use and no traffic.
  EXPECT_THAT(order, ElementsAre("answers/7", "answers/8", "answers/6",
                                 "answers/other", "home/2"));
}

TEST(TopTextTest, SaysHowCallsAndTheLogAre) {
  const TopView view = ViewOf(kStatus);
  EXPECT_THAT(
      LineWith(view, "Select"),
      AllOf(HasSubstr("213.9"), HasSubstr("0.22ms"), HasSubstr("1.30ms"),
            HasSubstr("4.80ms"), testing::EndsWith("  5")));
  EXPECT_EQ(LineWith(view, "Label"), "");  // Nobody has called it.
  EXPECT_THAT(LineWith(view, "spool "),
              HasSubstr("ok, 2.0 GiB of 20.0 GiB, 3864020 records, 0 lost"));
  EXPECT_THAT(LineWith(view, "join"),
              HasSubstr("2600666 tuples, 14210 pending, 180.0 KiB behind"));
  // 11,220 seconds are three hours and seven minutes.
  EXPECT_THAT(Text(view), HasSubstr("up 3h 7m, 178.7 MiB"));
}

TEST(TopTextTest, WarningsAreLatestFirst) {
  const std::string text = Text(ViewOf(kStatus));
  EXPECT_THAT(text,
              HasSubstr("01-01 00:02:00Z new\n  01-01 00:01:00Z old a=1"));
}

TEST(TopTextTest, SaysWhatCameOfTheLastTraining) {
  std::string json = kStatus;
  const std::string before = "\"traffic\": [{\"version\": \"6\"";
  json.replace(json.find(before), before.size(),
               R"("runs": [{"kind": "train", "outcome": "FAILED",
                   "time_us": "1011160000000", "exit_status": 1,
                   "verdict": "the reward of a decision is outside of the range of rewards",
                   "next_step": "Set reward_max.",
                   "running_since_us": "1011160000000"},
                   {"kind": "rollout", "outcome": "RUNNING",
                    "time_us": "1011160000000",
                    "running_since_us": "1011160000000"}], )" +
                   before);
  EXPECT_THAT(Text(ViewOf(json)),
              HasSubstr("  answers train, FAILED, 1m ago: the reward of a "
                        "decision is outside of the\n"
                        "    range of rewards Set reward_max. The next run "
                        "has been under way for 1m."));
  EXPECT_THAT(Text(ViewOf(json)),
              HasSubstr("\n  answers rollout, running for 1m\n"));
  EXPECT_THAT(Text(ViewOf(kStatus)),
              HasSubstr("Training, the last runs\n  none yet"));
}

// The second look has 6 / (2 pi)^2 = 15.2 % and the first one 60.8 % of the
// budget, so 24 % is left.
TEST(TopTextTest, ListsEarlierRunsAndTheLooksThatWereSpent) {
  std::string json = kStatus;
  const std::string before = "\"traffic\": [{\"version\": \"6\"";
  std::string earlier;
  for (int i = 0; i < 7; ++i) {
    earlier += std::string(i == 0 ? "" : ", ") +
               R"({"kind": "train", "outcome": "NOTHING_BETTER",
                   "time_us": "1000000000000", "verdict": "verdict )" +
               std::to_string(i) + "\"}";
  }
  json.replace(json.find(before), before.size(),
               R"("runs": [{"kind": "train", "outcome": "DONE",
                   "time_us": "1011160000000", "verdict": "published"}],
                   "looks": "2", "error_budget_left": 0.24,
                   "earlier_runs": [)" +
                   earlier + "], " + before);
  const TopView view = ViewOf(json);
  EXPECT_THAT(LineWith(view, "verdict 0"),
              HasSubstr("before: answers train, nothing better, 3h"));
  EXPECT_NE(LineWith(view, "verdict 4"), "");
  EXPECT_EQ(LineWith(view, "verdict 5"), "");
  EXPECT_THAT(Text(view), HasSubstr("answers: 2 looks at the test part of"));
  EXPECT_THAT(Text(view), HasSubstr("24 %"));
}

TEST(TopTextTest, CountsInvalidFeedback) {
  const TopView view = ViewOf(R"({"process": {"role": "server"}, "server": {},
    "sidecar": {"invalid_feedback": [{"name": "out_of_range", "count": "2"},
                {"name": "no_such_candidate", "count": "5"}]}})");
  EXPECT_THAT(Text(view), HasSubstr("7 invalid"));
}

TEST(TopTextTest, SaysWhatIsWrong) {
  TopView view = ViewOf(R"({"process": {"role": "server"}, "server":
    {"ready": false, "why_not_ready": "the log takes no records",
     "spool": {"dir": "/s", "state": "io_error", "lost_records": "214"}},
    "sidecar_problem": "nobody is there"})");
  EXPECT_THAT(Text(view), HasTexts("NOT READY: the log takes no records",
                                   "io_error", "214 lost", "nobody is there"));
  TopView gone;
  gone.server = "h:1";
  gone.server_problem = "h:1: cannot connect";
  EXPECT_EQ(Text(gone), "server: h:1: cannot connect");
}

// The sidecar's own answer is newer than what the server shows of it.
TEST(TopTextTest, ASidecarThatIsAskedSpeaksForItself) {
  TopView view = ViewOf(kStatus);
  const auto own = ParseStatus(
      R"({"process": {"role": "sidecar"}, "sidecar": {"tuples": "77",
          "problem": "waiting for a spool"}})");
  ASSERT_OK(own);
  view.sidecar = "127.0.0.1:8504";
  view.sidecar_status = *own;
  EXPECT_THAT(Text(view),
              AllOf(HasSubstr("77 tuples"), HasSubstr("waiting for a spool"),
                    Not(HasSubstr("2600666"))));
}

// Escape sequences and characters of other widths must not reach a terminal.
TEST(TopTextTest, NoTextIsWiderThanTheScreenOrHasControlCharacters) {
  std::string hostile = "\\u001b[2J\\u202e\\n" + std::string(300, 'x');
  std::string json = kStatus;
  for (const char* name : {"answers", "old", "Select", "arm 1000", "other"}) {
    for (size_t at = json.find(name); at != std::string::npos;
         at = json.find(name, at + hostile.size())) {
      json.replace(at, std::string(name).size(), hostile);
    }
  }
  for (const std::string& line : TopLines(ViewOf(json), false)) {
    EXPECT_LE(line.size(), kTopColumns);
    EXPECT_TRUE(std::all_of(line.begin(), line.end(), [](char c) {
      return c >= ' ' && c <= '~';
    })) << line;
  }
}

TEST(TopTextTest, ANarrowScreenCutsTheLines) {
  const std::vector<std::string> lines = TopLines(ViewOf(kStatus), false, 30);
  EXPECT_THAT(lines, testing::Contains("* answers               7 ser~"));
  for (const std::string& line : lines) EXPECT_LE(line.size(), 30u) << line;
  // The text itself has 80 columns, whatever the screen has.
  EXPECT_EQ(TopLines(ViewOf(kStatus), false, 300),
            TopLines(ViewOf(kStatus), false));
}

TEST(TopTextTest, ColoursAreOnlyWhereTheyAreWanted) {
  const TopView view = ViewOf(kStatus);
  EXPECT_THAT(Text(view), Not(HasSubstr("\x1b")));
  const std::string coloured = absl::StrJoin(TopLines(view, true), "\n");
  EXPECT_THAT(coloured, HasSubstr("\x1b[31m  01-01 00:02:00Z new\x1b[0m"));
}

TEST(TopTextTest, CellsAreCutWithAMark) {
  EXPECT_EQ(Cell("abc", 3), "abc");
  EXPECT_EQ(Cell("abcd", 3), "ab~");
  EXPECT_EQ(Cell("a\tb", 3), "a?b");
}

TEST(StatusSourceTest, AddressesAreUrlsOrHostAndPort) {
  EXPECT_EQ(*AddressOf("server", "http://h:1/"), "h:1");
  EXPECT_EQ(*AddressOf("server", "[::1]:8503"), "[::1]:8503");
  for (const char* bad : {"https://h:1", "h", "h:", ":1", "http://h:1/x"}) {
    EXPECT_THAT(AddressOf("server", bad), IsInvalidArgument("--server is \""))
        << bad;
  }
}

TEST(StatusSourceTest, WhatIsNoStatusIsRefused) {
  EXPECT_THAT(ParseStatus("<html>"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("status")));
}

// `top` on a terminal and in a pipe, and what it does when they are gone.

// Each case runs in its own process, of which `top` takes input, output and
// signals.

// Exits with 0 if `top` ends without an error. Nobody listens where it asks.
[[noreturn]] void RunTopToItsEnd(double refresh_seconds) {
  alarm(static_cast<unsigned>(Patience(30)));  // It may not end.
  config::v1::TopOptions options;
  options.set_server("127.0.0.1:1");
  options.set_refresh_seconds(refresh_seconds);
  CommandOutput output{std::cout, std::cerr};
  _exit(RunTop(options, {}, &output).ok() ? 0 : 1);
}

// Runs `top` on a terminal of 10 lines of 30 columns, which goes away as soon
// as it has drawn. Exits with 2 if what it has drawn is not `good`.
[[noreturn]] void RunOnATerminal(
    const std::function<bool(const std::string& drawn)>& good) {
  winsize size = {};
  size.ws_row = 10;
  size.ws_col = 30;
  int screen = -1;
  int terminal = -1;
  if (openpty(&screen, &terminal, nullptr, nullptr, &size) != 0) _exit(3);
  dup2(terminal, STDIN_FILENO);
  dup2(terminal, STDOUT_FILENO);
  close(terminal);
  std::thread([screen, good] {
    std::string drawn;
    char byte = 0;
    while (drawn.find("\x1b[J") == std::string::npos &&
           read(screen, &byte, 1) == 1) {
      drawn.push_back(byte);
    }
    if (!good(drawn)) _exit(2);
    close(screen);
  }).detach();
  // Long before it would look again.
  RunTopToItsEnd(1000);
}

[[noreturn]] void RunIntoAPipeThatNobodyReads() {
  int ends[2];
  if (pipe(ends) != 0) _exit(3);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[0]);
  close(ends[1]);
  RunTopToItsEnd(0.1);
}

bool FitsInto30Columns(const std::string& drawn) {
  const std::string text =
      std::regex_replace(drawn, std::regex("\x1b\\[[0-9;?]*[A-Za-z]|\r"), "");
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) {
    if (line.size() > 30) return false;
  }
  return lines.front() == "server: 127.0.0.1:1: cannot c~";
}

// A pseudo-terminal is a file of /dev/pts, which a bare chroot does not have.
bool HasTerminals() {
  int screen = -1;
  int terminal = -1;
  if (openpty(&screen, &terminal, nullptr, nullptr, nullptr) != 0) return false;
  close(screen);
  close(terminal);
  return true;
}

TEST(TerminalTest, TopEndsWhenItsTerminalIsGone) {
  if (!HasTerminals())
    GTEST_SKIP() << "skipped: no pseudo-terminals; mount /dev/pts";
  EXPECT_EXIT(RunOnATerminal([](const std::string&) { return true; }),
              testing::ExitedWithCode(0), "");
}

TEST(TerminalTest, LinesAreCutToTheScreen) {
  if (!HasTerminals())
    GTEST_SKIP() << "skipped: no pseudo-terminals; mount /dev/pts";
  EXPECT_EXIT(RunOnATerminal(FitsInto30Columns), testing::ExitedWithCode(0),
              "");
}

TEST(TerminalTest, TopEndsWhenNobodyReadsItsOutput) {
  EXPECT_EXIT(RunIntoAPipeThatNobodyReads(), testing::ExitedWithCode(0), "");
}

// `top --once` against HTTP ports of this process.

// A port that answers /status.json with `json`.
std::unique_ptr<HttpServer> Serve(const std::string& json) {
  std::map<std::string, HttpHandler> routes;
  routes["GET /status.json"] = [json](const HttpRequest&) {
    return HttpAnswer{.content_type = "application/json", .body = json};
  };
  auto server = HttpServer::Open("listen", "127.0.0.1:0", HttpLimits(),
                                 std::move(routes));
  EXPECT_OK(server);
  return server.ok() ? *std::move(server) : nullptr;
}

class TopCommandTest : public testing::Test {
 protected:
  absl::Status Top(const std::string& server, const std::string& sidecar) {
    config::v1::TopOptions options;
    options.set_once(true);
    options.set_server(server);
    options.set_sidecar(sidecar);
    CommandOutput output{out_, error_};
    return RunTop(options, {}, &output);
  }

  std::ostringstream out_;
  std::ostringstream error_;
};

TEST_F(TopCommandTest, ShowsBothOnce) {
  const auto server =
      Serve(R"({"process": {"role": "server"}, "server": {"ready": true}})");
  const auto sidecar =
      Serve(R"({"process": {"role": "sidecar"}, "sidecar": {"tuples": "12"}})");
  ASSERT_OK(Top(absl::StrCat("http://127.0.0.1:", server->port()),
                absl::StrCat("127.0.0.1:", sidecar->port())));
  EXPECT_THAT(out_.str(),
              AllOf(HasSubstr("\n  ready\n"), HasSubstr("12 tuples"),
                    Not(HasSubstr("\x1b"))));
}

TEST_F(TopCommandTest, SaysWhoDoesNotAnswerAndShowsTheRest) {
  const auto server =
      Serve(R"({"process": {"role": "server"}, "server": {"ready": true}})");
  // Nobody listens on port 1 of the loopback.
  EXPECT_THAT(Top(absl::StrCat("127.0.0.1:", server->port()), "127.0.0.1:1"),
              IsUnavailable("127.0.0.1:1"));
  EXPECT_THAT(out_.str(), HasSubstr("\n  ready\n"));
}

TEST_F(TopCommandTest, NeedsSomebodyToAsk) {
  EXPECT_TRUE(IsUsageError(Top("", "")));
  EXPECT_TRUE(IsUsageError(Top("https://x:1", "")));
}

}  // namespace
}  // namespace sortition
