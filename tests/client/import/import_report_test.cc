// The report of an import: figures, and warnings about what looks wrong.
#include "absl/strings/str_join.h"
#include "rapidjson/document.h"
#include "tests/client/export/exchange_fixture.h"

namespace sortition {
namespace {

// One decision of a CSV file with a line for each candidate.
struct Decision {
  std::string id;
  int chosen = 0;
  double propensity = 0.5;
  double reward = 0;
  std::vector<std::string> features = {"1", "2"};
  std::string time = "2026-04-01T10:00:00Z";
};

std::string Csv(const std::vector<Decision>& decisions) {
  std::string text = "decision_id,chosen,propensity,reward,f0,f1,time_us\n";
  for (const Decision& decision : decisions) {
    for (size_t i = 0; i < decision.features.size(); ++i) {
      absl::StrAppend(&text, decision.id, ",",
                      static_cast<int>(i) == decision.chosen ? 1 : 0, ",",
                      decision.propensity, ",", decision.reward, ",",
                      decision.features[i], ",7,", decision.time, "\n");
    }
  }
  return text;
}

// `n` decisions between two candidates, the second of which was chosen in the
// given number of them, with this propensity; the first with the rest of it.
std::vector<Decision> Choices(int n, int second, double propensity) {
  std::vector<Decision> decisions;
  for (int i = 0; i < n; ++i) {
    const bool is_second = i < second;
    decisions.push_back({.id = absl::StrCat("d", i),
                         .chosen = is_second ? 1 : 0,
                         .propensity = is_second ? propensity : 1 - propensity,
                         .reward = i % 2 == 0 ? 1.0 : 0.0,
                         .features = {absl::StrCat(i), absl::StrCat(i + 1)}});
  }
  return decisions;
}

class ImportReportTest : public ExchangeFixture {
 protected:
  // Imports a CSV file and returns the report.
  std::string Report(const std::vector<Decision>& decisions,
                     std::vector<std::string> flags = {"--cannot_abstain"}) {
    flags.push_back("--format=csv");
    std::filesystem::remove_all(imported());
    EXPECT_OK(ImportText(Csv(decisions), flags));
    return out_;
  }
};

TEST_F(ImportReportTest, FiguresAreThoseOfTheDecisions) {
  const std::string report =
      Report({{.id = "a", .chosen = 1, .propensity = 0.5, .reward = 3},
              {.id = "b",
               .chosen = 0,
               .propensity = 0.25,
               .reward = -1,
               .features = {"1", "0", "5"},
               .time = "2026-04-02T10:00:00Z"},
              {.id = "c", .chosen = 0, .propensity = 1, .reward = 1}});
  EXPECT_THAT(report, HasTexts("3 tuples in ", ": 8 lines, 0.0 MB",
                               "model      default/0",
                               "times      2026-04-01 10:00:00Z to "
                               "2026-04-02 10:00:00Z",
                               "rewards    -1 to 3, mean 1; 100.00 % of"));
  // 2, 4 and 1; 2, 3 and 2 candidates; 1 of 7 features is 0.
  EXPECT_THAT(report,
              HasTexts("weights    1 / propensity: 1 to 4, mean 2.33333",
                       "2 to 3, mean 2.33333",
                       "for each candidate: 1 to 2, mean 1.85714"));
}

TEST_F(ImportReportTest, JsonHasTheSame) {
  const std::string text =
      Report({{.id = "a", .chosen = 1, .propensity = 0.5, .reward = 3},
              {.id = "b", .chosen = 0, .propensity = 0.25, .reward = -1}},
             {"--cannot_abstain", "--output=json"});
  rapidjson::Document report;
  ASSERT_FALSE(report.Parse(text.c_str()).HasParseError());
  EXPECT_EQ(report["tuples"].GetInt(), 2);
  EXPECT_EQ(report["files"][0]["lines"].GetInt(), 5);
  EXPECT_EQ(report["reward"]["mean"].GetDouble(), 1);
  EXPECT_EQ(report["weight"]["max"].GetDouble(), 4);
  EXPECT_EQ(report["weight"]["min"].GetDouble(), 2);
  EXPECT_EQ(report["models"][0]["model"], "default");
  EXPECT_EQ(report["bad"].GetInt(), 0);
  EXPECT_EQ(report["without_unit"].GetInt(), 2);
  EXPECT_EQ(report["without_time"].GetInt(), 0);
  // f1 is 7 everywhere, and so is f0 of each candidate, but for the place.
  ASSERT_EQ(report["warnings"].Size(), 1u);
  EXPECT_THAT(report["warnings"][0].GetString(),
              HasSubstr("1 of 2 features have one value in all of the 2 "
                        "decisions: 1"));
}

TEST_F(ImportReportTest, WarnsOfWhatNothingCanBeLearnedFrom) {
  EXPECT_THAT(Report({{.id = "a", .features = {"1"}}, {.id = "b"}}),
              HasTexts("WARNING    50 % of the decisions had one possible",
                       "WARNING    all rewards are 0"));
  EXPECT_THAT(Report({{.id = "a", .propensity = 1},
                      {.id = "b", .propensity = 1, .reward = 1}}),
              HasSubstr("WARNING    all propensities are 1"));
  EXPECT_THAT(Report({{.id = "a"}}, {}),
              HasTexts("assumed    1 decisions for which \"no answer\" is",
                       "WARNING    no decision abstained"));
}

// Weights of the uniform policy are 1 / (2 p). Where each action was chosen as
// often as stated, their mean is 1.
TEST_F(ImportReportTest, WarnsOfPropensitiesThatContradictTheChoices) {
  EXPECT_THAT(Report(Choices(2000, 400, 0.2)),
              testing::Not(HasSubstr("WARNING    the weights")));
  // The rare action was never chosen: 1 / (2 · 0.8) = 0.625.
  EXPECT_THAT(Report(Choices(2000, 0, 0.2)),
              HasSubstr("have the mean 0.625, which is below 1"));
  // It was chosen in half of the decisions: (2.5 + 0.625) / 2.
  EXPECT_THAT(Report(Choices(2000, 1000, 0.2)),
              HasSubstr("have the mean 1.5625, which is above 1"));
  // Few decisions may well miss an action.
  EXPECT_THAT(Report(Choices(20, 0, 0.2)),
              testing::Not(HasSubstr("WARNING    the weights")));
}

TEST_F(ImportReportTest, BadDecisionsAreCountedApart) {
  std::vector<Decision> decisions = Choices(200, 100, 0.5);
  decisions[7].propensity = 2;
  const std::string report =
      Report(decisions, {"--cannot_abstain", "--skip_bad"});
  EXPECT_THAT(report,
              HasTexts("199 tuples in ", "left out   1 bad decisions (first: ",
                       ":16: column 'propensity' is '2'"));
}

}  // namespace
}  // namespace sortition
