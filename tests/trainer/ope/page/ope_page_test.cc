// The page says what the report says, whatever the report is.
#include "trainer/ope/page/ope_page.h"

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "io/files.h"
#include "tests/process/drawing/xml_checker.h"
#include "tests/testing/child_process.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"
#include "tests/trainer/ope/page/sample_report.h"
#include "trainer/ope/page/numbers.h"

namespace sortition {
namespace {

using config::v1::OpeEstimate;
using config::v1::OpePolicy;
using config::v1::OpeReport;
using testing::StartsWith;

constexpr char kDoctype[] = "<!DOCTYPE html>\n";

// Returns each <svg> of the page with all that is in it.
std::vector<std::string> Pictures(const std::string& page) {
  std::vector<std::string> pictures;
  for (size_t at = page.find("<svg"); at != page.npos;
       at = page.find("<svg", at + 1)) {
    pictures.push_back(page.substr(at, page.find("</svg>", at) + 6 - at));
  }
  return pictures;
}

// Returns the page, after claims that hold for every one.
std::string CheckedPage(const OpeReport& report) {
  std::string page = OpePage(report);
  EXPECT_THAT(page, StartsWith(kDoctype));
  EXPECT_THAT(XmlChecker::Problem(page.substr(sizeof(kDoctype) - 1)),
              IsEmpty());
  for (const std::string& picture : Pictures(page)) {
    EXPECT_THAT(XmlChecker::Problem(picture), IsEmpty()) << picture;
    EXPECT_THAT(picture, StartsWith("<svg xmlns=\"http://www.w3.org/2000/svg\" "
                                    "version=\"1.1\""));
    EXPECT_THAT(picture,
                HasTexts(" role=\"img\" aria-label=\"", "<title>", "<desc>Ax"));
    for (const absl::string_view tag : absl::StrSplit(picture, '<')) {
      if (absl::StartsWith(tag, "desc") || absl::StartsWith(tag, "t")) continue;
      EXPECT_THAT(std::string(tag), Not(HasSubstr("nan")));
      EXPECT_THAT(std::string(tag), Not(HasSubstr("inf")));
    }
  }
  return page;
}

// Returns the picture with this text alternative, empty if there is none.
std::string Picture(const std::string& page, const std::string& title) {
  for (const std::string& picture : Pictures(page)) {
    if (absl::StrContains(picture,
                          absl::StrCat("aria-label=\"", title, "\""))) {
      return picture;
    }
  }
  return "";
}

std::string PageSection(const std::string& page, const std::string& id) {
  const size_t at = page.find(absl::StrCat("<section id=\"", id, "\""));
  if (at == page.npos) return "";
  return page.substr(at, page.find("</section>", at) - at);
}

TEST(OpePageTest, LoadsNothingAndHasNoScript) {
  const std::string page = CheckedPage(SampleReport());
  EXPECT_THAT(page, HasSubstr("content=\"default-src 'none'; "));
  const std::string rest = absl::StrReplaceAll(
      page, {{"xmlns=\"http://www.w3.org/2000/svg\"", ""},
             {"http-equiv=\"Content-Security-Policy\"", ""}});
  for (const char* forbidden : {"http", "src=", "@import", "url(", "<script",
                                "<link", "<iframe", "javascript",
                                " on"
                                "load="}) {
    EXPECT_THAT(rest, Not(HasSubstr(forbidden)));
  }
  // Links lead to places of this page.
  for (size_t at = page.find("href=\""); at != page.npos;
       at = page.find("href=\"", at + 1)) {
    const std::string id = page.substr(at + 7, page.find('"', at + 6) - at - 7);
    EXPECT_EQ(page[at + 6], '#');
    EXPECT_THAT(page, HasSubstr(absl::StrCat("<section id=\"", id, "\"")));
  }
}

TEST(OpePageTest, BeginsWithTheVerdictAndWhatSpeaksAgainstIt) {
  const std::string page = CheckedPage(SampleReport());
  const size_t verdict = page.find("version 3 is better than what served");
  // Graver findings come first; one of a policy names it.
  const size_t unsupported =
      page.find("<bdi>uniform</bdi>: The effective sample size is 912");
  const size_t caution = page.find("Two versions chose in this log");
  ASSERT_NE(verdict, page.npos);
  ASSERT_NE(unsupported, page.npos);
  EXPECT_LT(verdict, unsupported);
  EXPECT_LT(unsupported, caution);
  EXPECT_LT(caution, page.find("<svg"));
  EXPECT_THAT(page, HasTexts("<dd>40,000</dd>",
                             ">0.2012 [0.1969, 0.2055]</span></dd>"));
}

// 2 of the answers; for each of 3 policies 2 of the estimators and 1 of the
// weights; 2 of days; 1 of segments (24 rows), 1 of propensities; plans and
// exploration.
TEST(OpePageTest, EveryChartNamesItsAxes) {
  const std::string page = CheckedPage(SampleReport());
  EXPECT_EQ(Pictures(page).size(), 2u + 3 * 3 + 2 + 1 + 1 + 2);
  for (const auto& [title, axes] :
       std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"Value of each policy", {"reward per decision"}},
           {"Gain of each policy",
            {"gain over the log, reward per decision", "no gain"}},
           {"newest: value by each estimator",
            {"reward per decision", "mean of the log"}},
           {"newest: gain by each estimator",
            {"gain over the log, reward per decision"}},
           {"newest: weights of the decisions",
            {"weight: how much more often it would choose so than the log",
             "share, %"}},
           {"Value by day", {"day (UTC)", "reward per decision", "the log"}},
           {"Gain by day", {"day (UTC)", "gain over the log", "no gain"}},
           {"Segments", {"gain over the log, reward per decision"}},
           {"Groups of propensities",
            {"gain over the log, reward per decision"}},
           {"Decisions needed to see an improvement",
            {"improvement, reward per decision", "decisions"}},
           {"What exploration costs",
            {"share of uniform choices, %", "cost, reward per decision"}}}) {
    const std::string picture = Picture(page, title);
    for (const std::string& axis : axes) {
      EXPECT_THAT(picture, HasSubstr(absl::StrCat(">", axis, "</text>")))
          << title;
    }
  }
}

// Names have 4 characters of 7 pixels, notes 17 of 6.4; with two gaps of 10 and
// 4 pixels on the left the panel has the other 299.2 of 460, from 42 on. The
// axis shows 0.1 to 0.3 and 6 % of that beyond: 0.012 on either side.
TEST(OpePageTest, MarksStandWhereTheValuesAre) {
  OpeReport report;
  report.set_decisions(10);
  report.set_confidence(0.95);
  for (const double value : {0.1, 0.3}) {
    OpePolicy* const policy = report.add_policies();
    policy->set_name(absl::StrCat("p", value));
    auto* const estimate = policy->mutable_answer()->mutable_value();
    estimate->set_value(value);
    estimate->set_lower(0.1);
    estimate->set_upper(0.3);
  }
  const std::string picture =
      Picture(CheckedPage(report), "Value of each policy");
  // Four characters of a name take 32.
  const double left = 46 + 295.2 * 0.012 / 0.224;
  const double right = 341.2 - 295.2 * 0.012 / 0.224;
  EXPECT_THAT(picture,
              HasSubstr(absl::StrFormat(
                  "<line x1=\"%.2f\" y1=\"62.50\" x2=\"%.2f\"", left, right)));
  // The diamond of the first policy, at the lower end, in its colour.
  EXPECT_THAT(
      picture,
      HasTexts(absl::StrFormat("<polygon points=\"%.2f,56.50", left),
               ">0.10 [0.10, 0.30]</text>", ">0.30 [0.10, 0.30]</text>"));
}

TEST(OpePageTest, TextOfTheReportIsEscapedEverywhere) {
  const std::string hostile =
      "</title></style></svg></desc><script>alert(1)</script>"
      "\"' onload=x & <!-- \x01\xff \xE2\x80\xAE";
  OpeReport report = SampleReport();
  // Every text of the report, by reflection.
  std::vector<google::protobuf::Message*> messages = {&report};
  size_t texts = 0;
  while (!messages.empty()) {
    google::protobuf::Message* const message = messages.back();
    messages.pop_back();
    const auto* reflection = message->GetReflection();
    std::vector<const google::protobuf::FieldDescriptor*> fields;
    reflection->ListFields(*message, &fields);
    for (const auto* field : fields) {
      const bool text = field->cpp_type() == field->CPPTYPE_STRING;
      const bool nested = field->cpp_type() == field->CPPTYPE_MESSAGE;
      const int size =
          field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < size; ++i) {
        if (text && field->is_repeated()) {
          reflection->SetRepeatedString(message, field, i, hostile);
        } else if (text) {
          reflection->SetString(message, field, hostile);
        } else if (nested) {
          messages.push_back(
              field->is_repeated()
                  ? reflection->MutableRepeatedMessage(message, field, i)
                  : reflection->MutableMessage(message, field));
        }
        texts += text;
      }
    }
  }
  EXPECT_GT(texts, 100u);
  const std::string page = CheckedPage(report);
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_THAT(page, Not(HasSubstr("\" onload")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, Not(HasSubstr("\x01")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
}

TEST(OpePageTest, PartsThatTheReportLacksAreLeftOut) {
  const std::string page = CheckedPage(OpeReport());
  EXPECT_THAT(page, HasSubstr("The log has no decision that could be judged."));
  EXPECT_THAT(Pictures(page), IsEmpty());
  for (const char* id : {"findings", "answer", "policy-0", "days", "segments",
                         "propensities", "planning", "assumptions"}) {
    EXPECT_EQ(PageSection(page, id), "") << id;
    EXPECT_THAT(page, Not(HasSubstr(absl::StrCat("#", id, "\""))));
  }
  EXPECT_NE(PageSection(page, "provenance"), "");
}

// A policy alone, without anything else of it.
TEST(OpePageTest, APolicyOfWhichNothingIsKnownIsNamed) {
  OpeReport report;
  report.add_policies()->set_name("bare");
  report.add_days()->set_name("2026-11-21");
  report.add_segments()->set_name("device = phone");
  const std::string page = CheckedPage(report);
  EXPECT_THAT(page, HasSubstr("<bdi>bare</bdi>"));
  EXPECT_EQ(PageSection(page, "days"), "");  // One day is no series.
  EXPECT_THAT(PageSection(page, "segments"), HasSubstr("device = phone"));
  EXPECT_THAT(Pictures(page), IsEmpty());
}

void SetAll(double value, double lower, double upper, OpeEstimate* estimate) {
  for (auto* number : {estimate->mutable_value(), estimate->mutable_gain()}) {
    number->set_value(value);
    number->set_lower(lower);
    number->set_upper(upper);
  }
}

TEST(OpePageTest, UnknownAndInfiniteNumbersAreSaidInWords) {
  for (const auto& [value, lower, upper] :
       std::vector<std::array<double, 3>>{{kNan, kNan, kNan},
                                          {0.1, -kInf, kInf},
                                          {0.1, kNan, 0.2},
                                          {kInf, -kInf, kInf},
                                          {1e300, -1e300, 1e300},
                                          {0.1, 0.1, 0.1}}) {
    OpeReport report = SampleReport();
    for (OpePolicy& policy : *report.mutable_policies()) {
      for (OpeEstimate& each : *policy.mutable_estimates()) {
        SetAll(value, lower, upper, &each);
      }
      SetAll(value, lower, upper, policy.mutable_answer());
      policy.mutable_overlap()->set_mean_weight(value);
      policy.mutable_weights()->set_weight(3, value);
    }
    for (auto* slices : {report.mutable_days(), report.mutable_segments()}) {
      for (config::v1::OpeSlice& slice : *slices) {
        SetAll(value, lower, upper, slice.mutable_policies(1));
        slice.mutable_logged()->set_value(value);
      }
    }
    report.mutable_plans(0)->set_improvement(value);
    report.mutable_plans(1)->set_decisions(
        std::numeric_limits<uint64_t>::max());
    report.mutable_exploration(2)->set_cost(value);
    const std::string page = CheckedPage(report);
    for (const absl::string_view cell : absl::StrSplit(page, "<td")) {
      const std::string text(cell.substr(0, cell.find("</td>")));
      EXPECT_THAT(text, Not(HasSubstr(">nan")));
      EXPECT_THAT(text, Not(HasSubstr("inf")));
    }
    EXPECT_THAT(page, HasSubstr("no number is enough"));
  }
}

// Three policies and a heading are 4 rows, so a figure has 7 segments.
TEST(OpePageTest, ManySegmentsBecomeSeveralFigures) {
  OpeReport report = SampleReport();
  report.clear_segments();
  for (int i = 0; i < 20; ++i) {
    *report.add_segments() = SampleSlice(absl::StrCat("s = ", i), i, 100, 3);
  }
  const std::string section = PageSection(CheckedPage(report), "segments");
  EXPECT_EQ(Pictures(section).size(), 3u);
  for (int i = 0; i < 20; ++i) {
    EXPECT_THAT(section, HasSubstr(absl::StrCat(">s = ", i, "</text>")));
  }
}

// Of the bins from 0.001 to 100 those from 0.01 to 10 are shown: the first and
// the last are empty.
TEST(OpePageTest, WeightsShowOnlyBinsThatHaveDecisions) {
  OpeReport report;
  OpePolicy* const policy = report.add_policies();
  policy->set_name("p");
  for (const double edge : {-3, -2, -1, 0, 1, 2}) {
    policy->mutable_weights()->add_log10_edges(edge);
  }
  for (const uint64_t count : {0, 3, 0, 1, 0}) {
    policy->mutable_weights()->add_decisions(count);
    policy->mutable_weights()->add_weight(0.25 * static_cast<double>(count));
  }
  const std::string picture =
      Picture(CheckedPage(report), "p: weights of the decisions");
  for (const char* label : {"0.01", "0.1", "1", "10"}) {
    EXPECT_THAT(picture, HasSubstr(absl::StrCat(">", label, "</text>")));
  }
  EXPECT_THAT(picture, Not(HasSubstr(">0.001</text>")));
  EXPECT_THAT(picture, Not(HasSubstr(">100</text>")));
}

TEST(OpePageTest, SlicesSayWhetherTheirIntervalsHoldAtOnce) {
  OpeReport report = SampleReport();
  EXPECT_THAT(PageSection(CheckedPage(report), "segments"),
              HasSubstr("hold for all segments at once with 95 % confidence"));
  for (config::v1::OpeSlice& slice : *report.mutable_segments()) {
    slice.mutable_policies(0)->mutable_gain()->set_confidence(0.95);
  }
  EXPECT_THAT(PageSection(CheckedPage(report), "segments"),
              HasSubstr("Each interval holds for itself with 95 %"));
}

// A missing probability leaves a gap in the line of a policy, not a zero.
TEST(OpePageTest, ADayWithoutAnEstimateIsAGap) {
  OpeReport report = SampleReport();
  const auto lines = [&] {
    const std::string picture = Picture(CheckedPage(report), "Value by day");
    return absl::StrSplit(picture, "<polyline")
               .
               operator std::vector<std::string>()
               .size() -
           1;
  };
  // Each policy has a line and the two edges of its band; the log has a line.
  EXPECT_EQ(lines(), 10u);
  report.mutable_days(7)->mutable_policies(2)->clear_value();
  EXPECT_EQ(lines(), 13u);
}

TEST(OpePageTest, GuardrailsThatDoNotHoldAreMarked) {
  const std::string section =
      PageSection(CheckedPage(SampleReport()), "policy-0");
  EXPECT_THAT(section, HasTexts("holds: the lower end is above",
                                "<strong>not shown to hold",
                                "If every 10 decisions that follow each other "
                                "belonged together"));
}

TEST(OpePageTest, ComparisonsNameWhatTheyAreWith) {
  OpeReport report = SampleReport();
  report.set_against("uniform");
  EXPECT_THAT(CheckedPage(report),
              HasSubstr("gain over uniform, reward per decision"));
}

model::v1::Estimate Estimate(double value, double lower, double upper) {
  model::v1::Estimate estimate;
  estimate.set_value(value);
  estimate.set_lower(lower);
  estimate.set_upper(upper);
  return estimate;
}

TEST(NumbersTest, DecimalsShowTwoDigitsOfTheWidth) {
  EXPECT_EQ(DecimalsFor(0.04), 3);
  EXPECT_EQ(DecimalsFor(0.99), 2);
  EXPECT_EQ(DecimalsFor(1.0), 1);
  EXPECT_EQ(DecimalsFor(250), 0);
  EXPECT_EQ(DecimalsFor(1e-30), 12);
  for (const double unknown : {0.0, -1.0, kInf, kNan}) {
    EXPECT_EQ(DecimalsFor(unknown), 4) << unknown;
  }
  EXPECT_EQ(DecimalsFor({Estimate(0, -1, 1), Estimate(0, 0, 0.04),
                         Estimate(0, -kInf, kInf), Estimate(0, 0, 0)}),
            3);
}

TEST(NumbersTest, WhatIsNotFiniteIsSaidInWords) {
  EXPECT_EQ(FormatNumber(kNan, 2), "unknown");
  EXPECT_EQ(FormatNumber(-kInf, 2), "no limit");
  EXPECT_EQ(FormatRounded(kInf, 3), "no limit");
  EXPECT_EQ(FormatEstimate(Estimate(0.1234, 0.1, kInf), 2),
            "0.12 [0.10, no limit]");
  EXPECT_EQ(FormatEstimate(Estimate(0.1234, -kInf, kInf), 2), "0.12 no limits");
  EXPECT_EQ(FormatEstimate(Estimate(kNan, kNan, 1), 2), "unknown no interval");
}

TEST(NumbersTest, ZeroHasNoSign) {
  EXPECT_EQ(FormatNumber(-0.0001, 2), "0.00");
  EXPECT_EQ(FormatNumber(-0.01, 2), "-0.01");
  EXPECT_EQ(FormatNumber(1e300, 2), "1e+300");
}

TEST(NumbersTest, CountsHaveGroupsOfThreeDigits) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1000), "1,000");
  EXPECT_EQ(FormatCount(1234567), "1,234,567");
  EXPECT_EQ(FormatCountOf(1, "tuple"), "1 tuple");
  EXPECT_EQ(FormatCountOf(1000, "tuple"), "1,000 tuples");
}

TEST(NumbersTest, RoundedNumbersHaveSoManyDigits) {
  EXPECT_EQ(FormatRounded(0.012345, 3), "0.0123");
  EXPECT_EQ(FormatRounded(12345, 3), "12,300");
  EXPECT_EQ(FormatRounded(-12345, 3), "-12,300");
  EXPECT_EQ(FormatRounded(1234.4, 4), "1,234");
  EXPECT_EQ(FormatRounded(5e15, 3), "5e+15");
  EXPECT_EQ(FormatShare(0.1234), "12.3 %");
  EXPECT_EQ(FormatShare(0.95), "95 %");
}

// A browser shows the page without an error and without asking for anything.

constexpr int kSkipped = 77;

FinishedProcess Check(const std::string& html) {
  const TempDir dir;
  EXPECT_OK(WriteFile(dir / "page.html", html));
  const auto finished =
      RunToEnd({SORTITION_SOURCE "/tools/check_page.sh", dir / "page.html"});
  EXPECT_OK(finished.status());
  return finished.ok() ? *finished : FinishedProcess();
}

TEST(BrowserTest, ShowsThePage) {
  const FinishedProcess result = Check(OpePage(SampleReport()));
  if (result.exit_code == kSkipped) GTEST_SKIP() << result.stdout_text;
  EXPECT_EQ(result.exit_code, 0) << result.stdout_text << result.stderr_text;
}

// The check can fail.
TEST(BrowserTest, TheCheckFindsRequestsAndErrors) {
  const std::string page = OpePage(SampleReport());
  const std::string open = absl::StrReplaceAll(
      page, {{"default-src 'none'; ", ""}, {"img-src data:; ", ""}});
  const auto with = [](const std::string& html, const std::string& more) {
    return absl::StrReplaceAll(html,
                               {{"</main>", absl::StrCat(more, "</main>")}});
  };
  const std::string image = "<img src=\"http://example.test/x.png\"/>";
  const FinishedProcess request = Check(with(open, image));
  if (request.exit_code == kSkipped) GTEST_SKIP() << request.stdout_text;
  EXPECT_EQ(request.exit_code, 1);
  EXPECT_THAT(request.stdout_text, HasSubstr("example.test"));
  // With the policy in force the browser refuses, and says so.
  const FinishedProcess refused = Check(with(page, image));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.stdout_text, HasSubstr("Content Security Policy"));
}

}  // namespace
}  // namespace sortition
