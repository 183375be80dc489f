// The text of `top`, of statuses as server and sidecar send them.
#include "client/top/top_text.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "client/top/top_rows.h"
#include "gmock/gmock.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

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
              AllOf(HasSubstr("  answers               6 "), HasSubstr("21.2"),
                    HasSubstr(" -")));
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
  EXPECT_THAT(order, testing::ElementsAre("answers/7", "answers/8", "answers/6",
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

TEST(TopTextTest, SaysWhatIsWrong) {
  TopView view = ViewOf(R"({"process": {"role": "server"}, "server":
    {"ready": false, "why_not_ready": "the log takes no records",
     "spool": {"dir": "/s", "state": "io_error", "lost_records": "214"}},
    "sidecar_problem": "nobody is there"})");
  EXPECT_THAT(Text(view),
              AllOf(HasSubstr("NOT READY: the log takes no records"),
                    HasSubstr("io_error"), HasSubstr("214 lost"),
                    HasSubstr("nobody is there")));
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
    EXPECT_THAT(AddressOf("server", bad).status(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("--server is \"")))
        << bad;
  }
}

TEST(StatusSourceTest, WhatIsNoStatusIsRefused) {
  EXPECT_THAT(ParseStatus("<html>"),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("status")));
}

}  // namespace
}  // namespace sortition
