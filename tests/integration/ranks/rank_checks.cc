#include "tests/integration/ranks/rank_checks.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "io/clocks.h"
#include "io/models/model_store.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr size_t kMostDifferences = 5;  // That are printed.
constexpr double kLookSeconds = 0.2;    // Between looks at all tuples.

// Of the rewards of clicks of sessions.
struct ClickMoments {
  double mean = 0;
  double standard_error = 0;
};

ClickMoments MomentsOf(const std::vector<RankSession>& sessions) {
  const auto n = static_cast<double>(sessions.size());
  double sum = 0;
  double squares = 0;
  for (const RankSession& session : sessions) {
    sum += session.click_reward();
    squares += session.click_reward() * session.click_reward();
  }
  const double mean = sum / n;
  return {mean, std::sqrt((squares / n - mean * mean) / (n - 1))};
}

double MeanSeenRanks(const std::vector<RankSession>& sessions) {
  double sum = 0;
  for (const RankSession& session : sessions) sum += session.seen_ranks;
  return sum / static_cast<double>(sessions.size());
}

void ExpectTuplesEqual(const std::string& tuples,
                       const std::vector<RankSession>& sessions) {
  const SessionTexts told = TextsOf(sessions);
  const SessionTexts joined = TextsOfTuples(tuples);
  EXPECT_EQ(told.size(), sessions.size());
  EXPECT_EQ(joined.size(), told.size());
  std::vector<std::string> differences;
  const auto add = [&](const std::string& text) {
    if (differences.size() < kMostDifferences) differences.push_back(text);
  };
  for (const auto& [id, text] : told) {
    const auto found = joined.find(id);
    if (found == joined.end()) {
      add(absl::StrCat(id, ": no tuple; told: ", text));
    } else if (found->second != text) {
      add(absl::StrCat(id, ": told: ", text, "; joined: ", found->second));
    }
  }
  for (const auto& [id, text] : joined) {
    if (!told.contains(id)) add(absl::StrCat(id, ": joined alone: ", text));
  }
  EXPECT_THAT(differences, IsEmpty());
}

void ExpectVerified(const std::string& tuples, const std::string& models,
                    size_t count) {
  EXPECT_THAT(RunWell({"sortition", "log", "verify", tuples,
                       "--model_store=" + models, "--output=json"}),
              HasSubstr(absl::StrCat("{\"verified\":", count,
                                     ",\"different\":0,\"corrupt_records\":0,"
                                     "\"labels\":0,")));
}

void ExpectNoFinding(const std::string& tuples, const std::string& models) {
  const std::string text = RunWell(
      {"sortition", "log", "validate", tuples, "--model_store=" + models});
  for (const char* check : {"damage", "feedback_ids", "conditionals", "ranks",
                            "mean_weight", "joins", "recompute"}) {
    EXPECT_THAT(text, HasSubstr(absl::StrCat("PASS  ", check)));
  }
  for (const absl::string_view line :
       absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    EXPECT_TRUE(absl::StartsWith(line, "PASS")) << line;
  }
}

}  // namespace

std::string RunWell(std::vector<std::string> arguments) {
  arguments[0] = BinaryPath(arguments[0]);
  const absl::StatusOr<FinishedProcess> run = RunToEnd(arguments);
  EXPECT_OK(run);
  if (!run.ok()) return "";
  EXPECT_EQ(run->exit_code, 0) << arguments[0] << " " << arguments[1] << "\n"
                               << run->stdout_text << run->stderr_text;
  return run->stdout_text;
}

void PublishFirstVersion(const std::string& models) {
  EXPECT_OK(ModelStore(models)
                .Publish(RankingModel(kUserFeatures, 0), nullptr, {},
                         {.draw_salt = std::string(32, '0')})
                .status());
}

void WaitForTuples(const std::string& tuples, size_t count) {
  size_t found = 0;
  int64_t next_us = 0;
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] {
                          if (SteadyUs() < next_us) return false;
                          const auto ids = TupleIds(tuples);
                          found = ids.ok() ? ids->size() : 0;
                          next_us = SteadyUs() + Micros(kLookSeconds);
                          return found >= count;
                        }))
      << found << " tuples of " << count;
}

void TrainSecondVersion(const std::string& tuples, const std::string& models) {
  const std::string text =
      RunWell({"sortition-trainer", "train", "--tuples=" + tuples,
               "--model_store=" + models});
  EXPECT_THAT(text, HasSubstr("Published:"));
}

void ExpectLogOf(const RankUsers& users, const std::string& tuples,
                 const std::string& models) {
  EXPECT_THAT(users.failures(), IsEmpty());
  ExpectTuplesEqual(tuples, users.sessions());
  ExpectVerified(tuples, models, users.sessions().size());
  ExpectNoFinding(tuples, models);
}

void ExpectMoreClicks(const RankUsers& users, size_t num_servers) {
  for (const uint64_t version : {1, 2}) {
    std::set<size_t> servers;
    for (const RankSession& session : users.SessionsOf(version)) {
      servers.insert(session.server);
    }
    EXPECT_EQ(servers.size(), num_servers) << "version " << version;
  }
  const ClickMoments before = MomentsOf(users.SessionsOf(1));
  const ClickMoments after = MomentsOf(users.SessionsOf(2));
  EXPECT_GT(after.mean - before.mean,
            5 * std::hypot(before.standard_error, after.standard_error))
      << before.mean << " before, " << after.mean << " after";
}

void ExpectRankEstimates(const RankUsers& users, const std::string& tuples,
                         const std::string& models) {
  const std::vector<RankSession> logged = users.SessionsOf(1);
  config::v1::OpeReport report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(
                  RunWell({"sortition-trainer", "ope", "--tuples=" + tuples,
                           "--model_store=" + models, "--versions=1",
                           "--policies=newest", "--examination=1,0.7,0.5,0.3",
                           "--output=json"}),
                  &report)
                  .ok());
  const auto clicked = std::count_if(
      logged.begin(), logged.end(),
      [](const RankSession& session) { return !session.clicks.empty(); });
  const config::v1::OpeRankLog& log = report.rank_log();
  EXPECT_EQ(log.decisions(), logged.size());
  EXPECT_EQ(log.with_rank_rewards(), clicked);
  EXPECT_EQ(log.left_out(), 0u);
  EXPECT_EQ(log.without_ranks(), 0u);
  EXPECT_EQ(log.shown_otherwise(), 0u);
  EXPECT_EQ(log.outside_range(), 0u);
  EXPECT_NEAR(log.logged().value(), MomentsOf(logged).mean, 1e-9);
  EXPECT_EQ(report.logged_ranks(), kUserRanks);
  EXPECT_NEAR(report.counted_ranks(), MeanSeenRanks(logged), 1e-9);

  ASSERT_EQ(report.policies_size(), 1);
  std::map<std::string, config::v1::OpeEstimate> rows;
  std::vector<std::string> keys;
  for (const auto& row : report.policies(0).rankings().estimates()) {
    rows[row.estimator()] = row;
    keys.push_back(row.estimator());
  }
  EXPECT_THAT(keys, UnorderedElementsAre(
                        "shown", "sn_shown", "shown_dr", "rips", "snrips",
                        "cascade_dr", "iips", "sniips", "iips_dr", "pi", "snpi",
                        "pi_dr", "direct", "adaptive", "clicks"));
  // Those that assume no more than is true of these users.
  const ClickMoments measured = MomentsOf(users.SessionsOf(2));
  for (const char* key :
       {"shown", "sn_shown", "shown_dr", "rips", "snrips", "cascade_dr"}) {
    EXPECT_NEAR(
        rows[key].value().value(), measured.mean,
        5 * std::hypot(rows[key].standard_error(), measured.standard_error))
        << key;
  }
}

}  // namespace sortition
