#include "client/simulation/simulate.h"

#include <fstream>
#include <map>
#include <sstream>

#include "client/simulation/latency_histogram.h"
#include "client/simulation/simulation_commands.h"
#include "core/data/labelled_queries.h"
#include "core/simulation/user_model.h"
#include "tests/client/rpc/fake_server.h"
#include "tests/testing/patience.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

using ::testing::MatchesRegex;

// Query i has i + 2 candidates with one feature; candidate 0 is right in every
// second query.
LabelledQueries FourQueries() {
  LabelledQueries queries;
  queries.num_features = 1;
  for (uint32_t i = 0; i < 4; ++i) {
    LabelledQuery query;
    query.id = absl::StrCat(i);
    query.relevances.assign(i + 2, 0);
    query.relevances[0] = i % 2;
    query.features.assign(i + 2, static_cast<float>(i));
    queries.queries.push_back(query);
  }
  return queries;
}

class SimulateTest : public testing::Test {
 protected:
  SimulateTest() {
    options_.mutable_client()->set_server(server_.address());
    options_.mutable_client()->set_deadline_seconds(Patience(5));
    options_.set_decisions(300);
    options_.set_connections(3);
    options_.set_noise(0);
  }

  SimulateResult Run() {
    auto result = Simulate(options_, FourQueries(), nullptr);
    EXPECT_OK(result);
    return result.ok() ? *result : SimulateResult();
  }

  FakeServer server_;
  config::v1::SimulateOptions options_;
  std::ostringstream out_;
  CommandOutput output_{out_, out_};
};

TEST_F(SimulateTest, EveryDecisionIsAskedOnceShownAndRewarded) {
  const SimulateResult result = Run();
  EXPECT_EQ(result.rewards.decisions, 300u);
  EXPECT_EQ(result.failed + result.failed_reports, 0u);
  EXPECT_EQ(result.shown_reported, 300u);
  EXPECT_EQ(result.feedback_reported, 300u);
  EXPECT_EQ(result.latency.count(), 300u);
  EXPECT_EQ(server_.peers().size(), 3u);
  std::set<std::string> expected;
  for (int i = 0; i < 300; ++i) expected.insert(absl::StrCat("sim-1-", i));
  std::set<std::string> asked, shown, rewarded;
  std::map<std::string, double> reward_of_decision;
  for (const auto& d : server_.decisions()) asked.insert(d.decision_id());
  for (const auto& s : server_.shown()) shown.insert(s.decision_id());
  for (const auto& f : server_.feedback()) {
    rewarded.insert(f.decision_id());
    reward_of_decision[f.decision_id()] = f.reward();
  }
  EXPECT_EQ(asked, expected);
  EXPECT_EQ(shown, expected);
  EXPECT_EQ(rewarded, expected);
  // Candidate 0 is right if its feature, the number of the query, is odd.
  double sum = 0;
  for (const auto& d : server_.decisions()) {
    const float query = d.candidates().dense().values(0);
    const double reward = query == 1 || query == 3 ? 1 : 0;
    EXPECT_EQ(reward_of_decision[d.decision_id()], reward);
    sum += reward;
  }
  EXPECT_DOUBLE_EQ(result.rewards.mean_reward(), sum / 300);
  EXPECT_DOUBLE_EQ(result.rewards.mean_expected_reward(), sum / 300);
  // The standard error of a 0/1 variable with mean m: sqrt(m (1 - m) / (n -
  // 1)).
  const double m = sum / 300;
  EXPECT_NEAR(result.rewards.standard_error(), std::sqrt(m * (1 - m) / 299),
              1e-12);
}

TEST_F(SimulateTest, UniqueIdsDifferFromThoseOfEveryOtherRun) {
  options_.set_unique_ids(true);
  Run();
  Run();
  std::set<std::string> ids;
  for (const auto& d : server_.decisions()) {
    EXPECT_THAT(d.decision_id(), MatchesRegex("sim-1-[0-9a-f]{16}-[0-9]+"));
    ids.insert(d.decision_id());
  }
  EXPECT_EQ(ids.size(), 600u);
}

// Decision i is asked for no earlier than i / rate after the start.
TEST_F(SimulateTest, TheRateIsThatOfAllConnectionsTogether) {
  options_.set_decisions(101);
  options_.set_rate(500);
  EXPECT_GE(Run().seconds, 0.2);
  EXPECT_EQ(server_.decisions().size(), 101u);
}

// Decision 2 would be due after 2 s.
TEST_F(SimulateTest, ARateDoesNotWaitBeyondMaxSeconds) {
  options_.set_rate(1);
  options_.set_max_seconds(1.5);
  const SimulateResult result = Run();
  EXPECT_EQ(result.asked(), 2u);
  EXPECT_EQ(result.feedback_reported, 2u);
  EXPECT_LT(result.seconds, Patience(60));
}

TEST_F(SimulateTest, TheSameSeedAsksTheSame) {
  const auto queries_by_id = [this] {
    std::map<std::string, float> queries;
    for (const auto& d : server_.decisions()) {
      queries[d.decision_id()] = d.candidates().dense().values(0);
    }
    return queries;
  };
  Run();
  const auto first = queries_by_id();
  options_.set_connections(1);
  Run();
  EXPECT_EQ(first, queries_by_id());
  EXPECT_EQ(first.size(), 300u);
}

// 300 decisions of 20 users: a user has 15 on average, and none of the 20 is
// missing but with a probability of 20 · 0.95^300 = 4e-6.
TEST_F(SimulateTest, UsersComeBackWithTheirAttributes) {
  options_.set_units(20);
  Run();
  options_.set_seed(2);
  Run();
  std::map<std::string, std::set<std::string>> devices, countries;
  std::set<std::string> all_devices;
  for (const auto& d : server_.decisions()) {
    devices[d.unit_id()].insert(d.attributes().at("device"));
    countries[d.unit_id()].insert(d.attributes().at("country"));
    all_devices.insert(d.attributes().at("device"));
  }
  EXPECT_EQ(devices.size(), 20u);
  EXPECT_GT(all_devices.size(), 1u);
  for (const auto& [unit, values] : devices) EXPECT_EQ(values.size(), 1u);
  for (const auto& [unit, values] : countries) EXPECT_EQ(values.size(), 1u);
}

TEST_F(SimulateTest, WithoutUnitsDecisionsNameNoUser) {
  Run();
  for (const auto& d : server_.decisions()) {
    EXPECT_EQ(d.unit_id(), "");
    EXPECT_TRUE(d.attributes().empty());
  }
}

TEST_F(SimulateTest, RankAsksForTopKOrAllThereAre) {
  options_.set_action("rank");
  options_.set_top_k(3);
  const SimulateResult result = Run();
  EXPECT_EQ(result.rewards.decisions, 300u);
  std::map<std::string, int> candidates;
  for (const auto& d : server_.decisions()) {
    candidates[d.decision_id()] = d.candidates().dense().values_size();
  }
  for (const auto& shown : server_.shown()) {
    EXPECT_EQ(shown.shown_size(), std::min(3, candidates[shown.decision_id()]));
  }
  // Relevance is 0 or 1, and R(1) = 1/2, so that the first rank satisfies half
  // of the users of odd queries.
  double expected = 0;
  for (const auto& d : server_.decisions()) {
    expected += static_cast<int>(d.candidates().dense().values(0)) % 2 * 0.5;
  }
  EXPECT_DOUBLE_EQ(result.rewards.mean_expected_reward(), expected / 300);
}

// All i + 2 candidates are chosen. If i is odd, candidate 0 is right: F1 = 2 /
// (i + 3), else 0.
TEST_F(SimulateTest, LabelIsRewardedByF1) {
  options_.set_action("label");
  const SimulateResult result = Run();
  EXPECT_EQ(result.rewards.decisions, 300u);
  EXPECT_EQ(server_.sizes(), std::vector<uint32_t>(300, 0));
  double sum = 0;
  for (const auto& d : server_.decisions()) {
    const double query = d.candidates().dense().values(0);
    if (query == 1 || query == 3) sum += 2 / (query + 3);
  }
  EXPECT_NEAR(result.rewards.mean_reward(), sum / 300, 1e-12);
  EXPECT_NEAR(result.rewards.mean_expected_reward(), sum / 300, 1e-12);
}

// Precision of the first 3, or of both where there are two: 1/3 where i is odd.
TEST_F(SimulateTest, LabelOfAsManyIsRewardedByPrecision) {
  options_.set_action("label");
  options_.set_k(3);
  const SimulateResult result = Run();
  double sum = 0;
  for (const auto& d : server_.decisions()) {
    const float query = d.candidates().dense().values(0);
    if (query == 1 || query == 3) sum += 1. / 3;
  }
  EXPECT_NEAR(result.rewards.mean_reward(), sum / 300, 1e-12);
  for (const auto& s : server_.shown()) {
    EXPECT_EQ(s.shown_size() == 2 || s.shown_size() == 3, true);
  }
}

TEST_F(SimulateTest, AbstainingIsShownAsNothing) {
  server_.abstain = true;
  const SimulateResult result = Run();
  EXPECT_EQ(result.rewards.abstain_rate(), 1);
  // The tolerance is the rounding error of a sum of 300 terms.
  EXPECT_NEAR(result.rewards.mean_reward(), 0.3, 300 * 1e-16);
  for (const auto& shown : server_.shown()) EXPECT_EQ(shown.shown_size(), 0);
}

TEST_F(SimulateTest, FailuresAreCountedByCode) {
  options_.set_connections(1);
  options_.set_report_feedback(false);
  server_.fail_first = 7;
  server_.failure =
      grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "spool is full");
  const SimulateResult result = Run();
  EXPECT_EQ(result.failed, 7u);
  EXPECT_EQ(result.rewards.decisions, 293u);
  EXPECT_EQ(result.failures.at("RESOURCE_EXHAUSTED"), 7u);
  EXPECT_THAT(result.first_failure, HasSubstr("spool is full"));
  EXPECT_TRUE(server_.feedback().empty());
}

TEST_F(SimulateTest, GoesOnUntilTheVersionAnswers) {
  options_.set_connections(1);
  options_.set_decisions(10);
  options_.set_until_version("2");
  server_.new_version_at = 25;
  SimulateResult result = Run();
  EXPECT_EQ(result.rewards.decisions, 25u);
  EXPECT_TRUE(result.version_seen);
  EXPECT_EQ(result.models.at({"default", 1}).decisions, 24u);
  EXPECT_EQ(result.models.at({"default", 2}).decisions, 1u);
}

TEST_F(SimulateTest, GivesUpOnAVersionAfterMaxSeconds) {
  options_.set_until_version("3");
  options_.set_max_seconds(0.2);
  const SimulateResult result = Run();
  EXPECT_FALSE(result.version_seen);
  EXPECT_GE(result.seconds, 0.2);
}

TEST_F(SimulateTest, RefusesWhatIsOfNoUse) {
  EXPECT_THAT(Simulate(options_, LabelledQueries(), nullptr),
              IsInvalidArgument("no queries"));
  options_.set_until_version("next");
  EXPECT_THAT(Simulate(options_, FourQueries(), nullptr),
              IsInvalidArgument("until_version is \"next\""));
}

TEST_F(SimulateTest, CommandWritesItsReport) {
  const TempDir dir;
  const std::string report = dir / "report.json";
  options_.set_report(report);
  options_.mutable_world()->set_queries(10);
  ASSERT_OK(RunSimulate(options_, {}, &output_));
  EXPECT_THAT(out_.str(), HasSubstr("select: 300 decisions"));
  std::stringstream text;
  text << std::ifstream(report).rdbuf();
  EXPECT_THAT(text.str(), HasTexts(R"("action":"select","decisions":300,)",
                                   R"("failed":0,"failed_reports":0,)",
                                   R"("model":"default","version":1,)"));
}

// The columns are those of the file; which sentences are right is not sent.
TEST_F(SimulateTest, CommandSendsTheColumnsOfAFile) {
  const TempDir dir;
  std::ofstream(dir / "answers.tsv")
      << "Who?\tAnn.\t1\nWho?\tIn May.\t0\nWhen?\tIn May.\t1\n";
  std::ofstream(dir / "spec.textproto")
      << "schema { column { name: 'q' type: TEXT scope: QUERY }"
         "         column { name: 's' type: TEXT } }";
  options_.set_data(dir / "answers.tsv");
  EXPECT_THAT(RunSimulate(options_, {}, &output_),
              IsInvalidArgument("has columns: features must be set"));
  options_.set_features(dir / "spec.textproto");
  ASSERT_OK(RunSimulate(options_, {}, &output_));
  std::map<std::string, int> asked;
  for (const auto& d : server_.decisions()) {
    EXPECT_EQ(d.candidates().num_features(), 0);
    const v1::Columns& columns = d.candidates().columns();
    const std::string& question = columns.query(0).texts().values(0);
    ++asked[question];
    EXPECT_EQ(columns.num_candidates(), question == "Who?" ? 2u : 1u);
    EXPECT_EQ(columns.candidate(0).texts().values(0),
              question == "Who?" ? "Ann." : "In May.");
  }
  EXPECT_EQ(asked["Who?"] + asked["When?"], 300);
  EXPECT_GT(asked["Who?"], 100);
  EXPECT_GT(asked["When?"], 100);
  options_.clear_data();
  EXPECT_THAT(RunSimulate(options_, {}, &output_),
              IsInvalidArgument("must be empty without data"));
}

TEST_F(SimulateTest, CommandFailsWhereARequestFailed) {
  server_.fail_first = 1;
  server_.failure = grpc::Status(grpc::StatusCode::INTERNAL, "bug");
  options_.mutable_world()->set_queries(10);
  EXPECT_THAT(RunSimulate(options_, {}, &output_), IsUnavailable("bug"));
  EXPECT_THAT(out_.str(), HasSubstr("1 "));
}

TEST(LatencyHistogramTest, QuantilesAreWithinOnePercent) {
  LatencyHistogram histogram;
  LatencyHistogram other;
  // 1, 2, … 1000 ms over both.
  for (int i = 1; i <= 1000; ++i) {
    (i % 2 == 0 ? histogram : other).Add(i * 1e-3);
  }
  histogram.Merge(other);
  EXPECT_EQ(histogram.count(), 1000u);
  EXPECT_EQ(histogram.max_seconds(), 1);
  EXPECT_NEAR(histogram.Quantile(0.5), 0.5, 0.5 * 0.0101);
  EXPECT_NEAR(histogram.Quantile(0.99), 0.99, 0.99 * 0.0101);
  EXPECT_EQ(histogram.Quantile(1), 1);
}

TEST(LatencyHistogramTest, TakesExtremes) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  histogram.Add(1e6);
  EXPECT_EQ(histogram.max_seconds(), 1e6);
}

}  // namespace
}  // namespace sortition
