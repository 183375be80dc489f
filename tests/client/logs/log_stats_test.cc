#include "client/logs/log_stats.h"

#include <cmath>
#include <fstream>

#include "client/logs/log_commands.h"
#include "io/segments/segment_recovery.h"
#include "tests/client/logs/log_fixture.h"
#include "tests/testing/parse_text.h"

namespace sortition {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class LogStatsTest : public LogFixture {
 protected:
  LogStats Stats() {
    auto stats = CollectLogStats({log()});
    EXPECT_OK(stats);
    return stats.value_or(LogStats());
  }

  std::string Cat(const config::v1::LogOptions& options) {
    out_.str("");
    EXPECT_OK(RunLogCat(options, {log()}, &output_));
    return out_.str();
  }

  void FlipByte(const std::string& name, uint64_t offset) {
    std::fstream file(log() + "/" + name,
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get());
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(static_cast<char>(byte ^ 0x40));
  }

  model::v1::Model uniform_ = [] {
    model::v1::Model model;
    model.set_name("default");
    return model;
  }();
};

TEST_F(LogStatsTest, CountsASpool) {
  log::v1::Decision a = Decide(uniform_, false, "a");
  a.set_log_propensity(std::log(0.5));
  log::v1::Decision b = Decide(uniform_, false, "b");
  b.set_log_propensity(std::log(0.25));
  b.set_time_us(3000000);
  log::v1::LogRecord shown;
  shown.mutable_shown()->set_decision_id("a");
  log::v1::LogRecord gap;
  gap.mutable_gap()->set_lost_records(12);
  log::v1::LogRecord mark;
  mark.mutable_incomplete()->set_foreign_feedback(3);
  mark.mutable_incomplete()->set_unknown_feedback(4);
  // One feedback stands before its decision; a decision and a feedback occur
  // twice.
  ASSERT_OK(Write("1", 1, {Feedback("f1", "b", 1), Spool(a), shown})->Close());
  ASSERT_OK(Write("2", 4,
                  {Spool(b), Spool(a), Feedback("f1", "b", 1),
                   Feedback("f2", "b", 0.5), gap, mark})
                ->Close());
  const LogStats stats = Stats();
  EXPECT_EQ(stats.incomplete_marks, 1u);
  EXPECT_EQ(stats.foreign_feedback, 3u);
  EXPECT_EQ(stats.unknown_feedback, 4u);
  EXPECT_EQ(stats.segments, 2u);
  EXPECT_EQ(stats.segments_closed, 2u);
  EXPECT_EQ(stats.records, 9u);
  EXPECT_EQ(stats.decisions, 3u);
  EXPECT_EQ(stats.distinct_decision_ids, 2u);
  EXPECT_EQ(stats.duplicate_decision_ids, 1u);
  EXPECT_EQ(stats.shown, 1u);
  EXPECT_EQ(stats.feedback, 3u);
  EXPECT_EQ(stats.duplicate_feedback_ids, 1u);
  EXPECT_EQ(stats.gaps, 1u);
  EXPECT_EQ(stats.lost_records, 12u);
  EXPECT_EQ(stats.missing_records, 0u);
  EXPECT_EQ(stats.corrupt_records + stats.torn_bytes, 0u);
  EXPECT_EQ(stats.first_time_us, 1000000);
  EXPECT_EQ(stats.last_time_us, 3000000);
  const VersionStats& version = stats.models.at({"default", 0});
  EXPECT_EQ(version.decisions, 3u);
  EXPECT_EQ(version.with_feedback, 1u);
  EXPECT_DOUBLE_EQ(version.reward_sum, 1.5);
  EXPECT_DOUBLE_EQ(version.propensity_sum, 0.5 + 0.25 + 0.5);
}

// Of decisions kept with 1/4 each tuple stands for four.
TEST_F(LogStatsTest, SampledTuplesStandForAllDecisions) {
  log::v1::LogRecord whole = Tuple(Decide(uniform_, false, "a"), 1);
  log::v1::LogRecord sampled = Tuple(Decide(uniform_, false, "b"), 0.5);
  sampled.mutable_tuple()->set_keep_probability(0.25);
  log::v1::LogRecord censored = Tuple(Decide(uniform_, false, "c"), 7);
  censored.mutable_tuple()->set_keep_probability(0.5);
  censored.mutable_tuple()->add_censored(log::v1::LOST);
  ASSERT_OK(Write("1", 1, {whole, sampled, censored})->Close());
  const LogStats stats = Stats();
  const VersionStats& version = stats.models.at({"default", 0});
  EXPECT_EQ(version.decisions, 3u);
  EXPECT_EQ(version.weight_sum, 1 + 4 + 2);
  // (1 + 4 / 2) / (1 + 4)
  EXPECT_THAT(LogStatsJson(stats),
              HasTexts("\"mean_reward\":0.6", "\"estimated_decisions\":7"));
}

TEST_F(LogStatsTest, CountsTuplesAndLateFeedback) {
  const log::v1::Decision a = Decide(uniform_, false, "a");
  const log::v1::Decision b = Decide(uniform_, false, "b");
  log::v1::LogRecord after;
  after.mutable_late()->set_reason(log::v1::LateFeedback::AFTER_WINDOW);
  log::v1::LogRecord unknown;
  unknown.mutable_late()->set_reason(log::v1::LateFeedback::UNKNOWN_DECISION);
  log::v1::LogRecord outside;
  outside.mutable_late()->set_reason(log::v1::LateFeedback::OUT_OF_RANGE);
  ASSERT_OK(Write("1", 1, {Tuple(a, 0.25), Tuple(b, 1)})->Close());
  ASSERT_OK(
      Write("late/1", 1, {after, unknown, outside, unknown, outside, outside})
          ->Close());
  const LogStats stats = Stats();
  EXPECT_EQ(stats.segments, 2u);
  EXPECT_EQ(stats.tuples, 2u);
  EXPECT_EQ(stats.distinct_decision_ids, 2u);
  EXPECT_EQ(stats.tuples_with_feedback, 2u);
  EXPECT_EQ(stats.shown, 2u);
  EXPECT_EQ(stats.late, 6u);
  EXPECT_EQ(stats.late_after_window, 1u);
  EXPECT_EQ(stats.late_unknown_decision, 2u);
  EXPECT_EQ(stats.late_out_of_range, 3u);
  EXPECT_THAT(LogStatsJson(stats), HasSubstr("\"late_out_of_range\":3"));
  EXPECT_DOUBLE_EQ(stats.models.at({"default", 0}).reward_sum, 1.25);
}

TEST_F(LogStatsTest, CountsAndPrintsRewardsOfRanks) {
  log::v1::LogRecord with_ranks = Tuple(Decide(uniform_, false, "a"), 1);
  log::v1::RankReward* rank = with_ranks.mutable_tuple()->add_rank_rewards();
  rank->set_rank(2);
  rank->set_reward(0.75);
  rank->set_count(3);
  ASSERT_OK(Write("1", 1, {with_ranks, Tuple(Decide(uniform_, false, "b"), 1)})
                ->Close());
  EXPECT_EQ(Stats().tuples_with_rank_rewards, 1u);
  EXPECT_THAT(LogStatsText(Stats()), HasSubstr("tuples_with_rank_rewards"));
  EXPECT_THAT(Cat({}), HasSubstr("\"rank_rewards\":[{\"rank\":2,"
                                 "\"reward\":0.75,\"count\":3}]"));
}

// Orders of two ranks. The first was shown as decided and seen to its first
// rank; of the second, which stands for four, only a page of one rank was
// shown; of the third nothing was reported. (2 + 4 · 1) / 5 ranks were shown.
TEST_F(LogStatsTest, CountsWhatWasShownAndSeen) {
  const auto order = [this](const std::string& id) {
    log::v1::LogRecord record = Tuple(Decide(uniform_, true, id), 1);
    EXPECT_EQ(record.tuple().decision().action_size(), 2);
    record.mutable_tuple()->clear_shown();
    return record;
  };
  log::v1::LogRecord viewport = order("a");
  viewport.mutable_tuple()->mutable_shown()->set_seen_ranks(1);
  log::v1::LogRecord page = order("b");
  page.mutable_tuple()->set_keep_probability(0.25);
  page.mutable_tuple()->mutable_shown()->add_shown(
      static_cast<uint32_t>(page.tuple().decision().action(0)));
  ASSERT_OK(Write("1", 1, {viewport, page, order("c")})->Close());
  const LogStats stats = Stats();
  EXPECT_EQ(stats.shown, 2u);
  EXPECT_EQ(stats.tuples_with_seen_ranks, 1u);
  EXPECT_THAT(LogStatsJson(stats),
              HasTexts("\"tuples_with_seen_ranks\":1",
                       "\"mean_shown_ranks\":1.2", "\"mean_seen_ranks\":1"));
  EXPECT_THAT(
      LogStatsText(stats),
      HasSubstr("where reported, 1.20 ranks shown and 1.00 seen in the mean"));
  EXPECT_THAT(Cat({}), HasSubstr("\"shown\":{\"seen_ranks\":1}"));
}

TEST_F(LogStatsTest, CountsAndPrintsSetsOfLabels) {
  auto labels = ParseText<log::v1::Decision>(R"(
    decision_id: "l" model: "default" version: 1 action_kind: LABELS
    policy { independent_labels { num_labels: 4 } }
    num_candidates: 1 num_features: 2 num_labels: 4
    action: [1, 3] dense_values: [0.5, 1])");
  labels.set_log_propensity(std::log(0.5));
  ASSERT_OK(Write("1", 1,
                  {Tuple(labels, 0.75), Tuple(Decide(uniform_, false, "a"), 1)})
                ->Close());
  const LogStats stats = Stats();
  EXPECT_EQ(stats.tuples, 2u);
  EXPECT_EQ(stats.labels, 1u);
  EXPECT_THAT(LogStatsJson(stats), HasSubstr("\"labels\":1"));
  const VersionStats& version = stats.models.at({"default", 1});
  EXPECT_DOUBLE_EQ(version.reward_sum, 0.75);
  EXPECT_DOUBLE_EQ(version.propensity_sum, 0.5);
  EXPECT_THAT(Cat({}),
              HasTexts("\"action_kind\":\"LABELS\"", "\"action\":[1,3]",
                       "\"num_labels\":4", "dense 1 x 2, left out"));
}

// A subset from a game that gives most subsets probability 0, and an empty one
// from independent candidates.
TEST_F(LogStatsTest, CountsAndPrintsSubsets) {
  log::v1::Decision game = Decide(uniform_, false, "g");
  game.set_action_kind(log::v1::SUBSET);
  game.clear_action();
  game.add_action(1);
  game.add_action(3);
  game.set_top_k(2);
  game.mutable_policy()->mutable_game_subset()->set_measure(
      model::v1::GameSubset::PRECISION);
  log::v1::Decision independent = game;
  independent.set_decision_id("i");
  independent.clear_action();
  independent.mutable_policy()->mutable_independent_subset();
  ASSERT_OK(Write("1", 1, {Tuple(game, 0.75), Spool(independent)})->Close());
  const LogStats stats = Stats();
  EXPECT_EQ(stats.subsets, 2u);
  EXPECT_EQ(stats.without_full_support, 1u);
  EXPECT_THAT(LogStatsJson(stats),
              HasSubstr("\"subsets\":2,\"without_full_support\":1"));
  EXPECT_THAT(Cat({}), HasTexts("\"action_kind\":\"SUBSET\"",
                                "\"action\":[1,3]", "\"game_subset\":"));
}

TEST_F(LogStatsTest, TellsOpenAbandonedRecoveredAndMissing) {
  const auto record = Spool(Decide(uniform_, false, "a"));
  Write("1", 1, {record}).reset();  // Its writer is gone: it will be recovered.
  ASSERT_OK(RecoverSegment(log() + "/1.seg"));
  Write("2", 2, {record}).reset();  // Its writer is gone: abandoned.
  // No record has sequence number 3 or 4.
  const auto open = Write("3", 5, {record});
  const LogStats stats = Stats();
  EXPECT_EQ(stats.segments_recovered, 1u);
  EXPECT_EQ(stats.segments_abandoned, 1u);
  EXPECT_EQ(stats.segments_open, 1u);
  EXPECT_EQ(stats.segments_closed, 0u);
  EXPECT_EQ(stats.missing_records, 2u);
}

TEST_F(LogStatsTest, CountsDamage) {
  const auto record = Spool(Decide(uniform_, false, "a"));
  auto writer = Write("1", 1, {record});
  const uint64_t second = writer->bytes();
  ASSERT_OK(writer->Append(record));
  ASSERT_OK(writer->Append(record));
  ASSERT_OK(writer->Close());
  FlipByte("1.seg", second + 20);
  writer = Write("2", 4, {record});
  const uint64_t last = writer->bytes();
  ASSERT_OK(writer->Append(record));
  const uint64_t size = writer->bytes() - last;
  writer.reset();
  std::filesystem::resize_file(log() + "/2.seg", last + size - 3);
  const LogStats stats = Stats();
  EXPECT_EQ(stats.corrupt_records, 1u);
  EXPECT_EQ(stats.torn_bytes, size - 3);
  EXPECT_EQ(stats.decisions, 3u);
  EXPECT_EQ(stats.missing_records, 1u);
  EXPECT_THAT(Cat({}),
              HasTexts("\"corrupt_bytes\"", absl::StrCat("\"offset\":", second),
                       absl::StrCat("\"torn_bytes\":", size - 3)));
}

TEST_F(LogStatsTest, JsonHasTheDocumentedKeys) {
  ASSERT_OK(Write("1", 1, {Tuple(Decide(uniform_, false, "a"), 0.5)})->Close());
  config::v1::LogOptions options;
  options.set_output("json");
  ASSERT_OK(RunLogStats(options, {log()}, &output_));
  EXPECT_THAT(
      out_.str(),
      HasTexts("\"segments\":1", "\"tuples\":1", "\"distinct_decision_ids\":1",
               "\"duplicate_decision_ids\":0", "\"lost_records\":0",
               "\"missing_records\":0", "\"torn_bytes\":0",
               "\"corrupt_records\":0",
               "\"model\":\"default\",\"version\":0,\"decisions\":1",
               "\"mean_reward\":0.5"));
}

TEST_F(LogStatsTest, CatLeavesFeaturesOutOfTextAndObeysTheLimit) {
  const auto record = Spool(Decide(uniform_, false, "a"));
  ASSERT_OK(Write("1", 1, {record, record})->Close());
  config::v1::LogOptions options;
  EXPECT_THAT(Cat(options),
              AllOf(HasSubstr("\"features\":\"dense 4 x 2, left out\""),
                    Not(HasSubstr("dense_values"))));
  options.set_output("json");
  EXPECT_THAT(Cat(options), HasSubstr("\"dense_values\":["));
  options.set_limit(2);
  const std::string text = Cat(options);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST_F(LogStatsTest, CatLeavesNamedColumnsOutOfText) {
  log::v1::Decision decision = Decide(uniform_, false, "a");
  decision.clear_dense_values();
  decision.clear_num_features();
  *decision.mutable_columns() = ParseText<v1::Columns>(R"(
    num_candidates: 4
    candidate { name: "price" numbers { values: [0.5, 0.5, 0.5, 0.5] } }
    candidate { name: "stars" numbers { values: [0.5, 0.5, 0.5, 0.5] } }
    query { name: "question" })");
  ASSERT_OK(Write("1", 1, {Spool(decision)})->Close());
  EXPECT_EQ(Stats().decisions, 1u);
  config::v1::LogOptions options;
  EXPECT_THAT(Cat(options),
              AllOf(HasSubstr("\"features\":\"2 columns of 4 candidates, 1 of "
                              "the query, left out\""),
                    Not(HasSubstr("price"))));
  options.set_output("json");
  EXPECT_THAT(Cat(options), HasSubstr("\"name\":\"price\",\"numbers\":"
                                      "{\"values\":[0.5,0.5,0.5,0.5]}"));
}

TEST_F(LogStatsTest, SaysHowTheRewardsOfSeveralDirectoriesWereJoined) {
  const std::string dirs[] = {root_.Sub("tuples"), root_.Sub("more")};
  int64_t time_us = 0;
  for (const std::string& dir : dirs) {
    SegmentWriter::Options options;
    options.dir = dir;
    options.name = SegmentName(++time_us, "tuples", 0);
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    options.header.set_options(absl::StrCat(
        "tuples: \"t\" join { reward_wait_time_seconds: ", 30 * time_us, " }"));
    ASSERT_OK_AND_ASSIGN(const auto writer, SegmentWriter::Create(options));
    const log::v1::Decision decision =
        Decide(uniform_, false, absl::StrCat("d", time_us));
    ASSERT_OK(writer->Append(Tuple(decision, 1)));
    ASSERT_OK(writer->Close());
  }
  ASSERT_OK_AND_ASSIGN(const LogStats stats,
                       CollectLogStats({dirs[0], dirs[1]}));
  EXPECT_EQ(stats.tuples, 2u);
  const std::map<std::string, uint64_t> joins = {{"SUM of 30 s, default 0", 1},
                                                 {"SUM of 60 s, default 0", 1}};
  EXPECT_EQ(stats.joins, joins);
  EXPECT_THAT(LogStatsText(stats),
              HasSubstr("1 tuples joined by SUM of 60 s, default 0\n"));
  EXPECT_THAT(LogStatsJson(stats),
              HasSubstr("{\"join\":\"SUM of 30 s, default 0\",\"tuples\":1}"));
}

TEST_F(LogStatsTest, NamesAMissingDirectory) {
  EXPECT_THAT(CollectLogStats({"/no/such/log"}), IsNotFound("/no/such/log"));
}

}  // namespace
}  // namespace sortition
