// The output for several spools equals that of the rules of docs/join.md,
// applied to all pairs of records in the order of log times, for random spools,
// deaths and power cuts.
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/sidecar/join_reference.h"
#include "tests/sidecar/random_spool.h"
#include "tests/sidecar/reference_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

constexpr size_t kSpools = 3;
constexpr int kLateDecisions = 50;
constexpr std::array<const char*, kSpools> kWriters = {"a", "b", "c"};

// Lines for the tuples of each spool, in the order of writing, and sorted ones
// for late feedback.
struct Written {
  std::array<std::vector<std::string>, kSpools> tuples;
  std::vector<std::string> late;
  bool operator==(const Written&) const = default;
};

class SeveralSpoolsReferenceTest : public ReferenceTest,
                                   public testing::WithParamInterface<bool> {
 protected:
  struct Place {
    size_t spool = 0;
    int64_t key_us = 0;  // The latest time so far in its spool.
  };

  void Begin(uint32_t seed) {
    BeginOutput(seed);
    std::filesystem::remove_all(dir_ / "spools");
    options_.clear_spool();
    for (size_t i = 0; i < kSpools; ++i) {
      // With a pattern, spools appear with their first record.
      if (!GetParam()) {
        options_.add_spool(SpoolDir(i));
        std::filesystem::create_directories(SpoolDir(i));
      }
      writers_[i].reset();
    }
    std::filesystem::create_directories(dir_ / "spools");
    if (GetParam()) options_.add_spool(dir_ / "spools/*");
    options_.mutable_join()->set_only_if_shown(false);
    options_.mutable_join()->set_max_unknown_share(1);
    options_.set_sync_interval_seconds(static_cast<double>(random_() % 3) * 20);
    num_segments_ = 0;
  }

  void MakeHistory(uint32_t seed) {
    options_.mutable_join()->set_only_if_shown(random_() % 4 == 0);
    events_ = MakeRandomSpool(SpoolKind::kOneWriter, seed).events;
    arrival_us_.clear();
    AddRetries();
    Spread();
  }

  // Decisions with up to three copies, the same answer in any spool. Servers
  // are frozen for up to one and a half windows: what they have stamped, or
  // stamp at the end of it, comes then.
  void MakeLateCopies() {
    struct Copy {
      JoinEvent event;
      size_t spool = 0;
    };
    std::array<std::map<int64_t, int64_t>, kSpools> thawed_us;  // By freezing.
    for (auto& of_spool : thawed_us) {
      for (int64_t from_s = 0; from_s < 60; from_s += 20) {
        const int64_t from_us = kStartUs + from_s * kSecond;
        of_spool[from_us] = from_us + random_() % 16 * kSecond;
      }
    }
    std::multimap<int64_t, Copy> arrivals;
    for (int i = 0; i < kLateDecisions; ++i) {
      const int64_t time_us = kStartUs + random_() % 120 * kSecond / 2;
      for (uint64_t copies = 1 + random_() % 3; copies > 0; --copies) {
        Copy copy;
        copy.event.decision_id = absl::StrCat("d", i);
        copy.event.time_us = time_us + random_() % 2500000;
        copy.event.answer = 7;
        copy.spool = random_() % kSpools;
        const int64_t most_us =
            std::prev(thawed_us[copy.spool].upper_bound(copy.event.time_us))
                ->second;
        arrivals.emplace(std::max<int64_t>(most_us, copy.event.time_us), copy);
      }
    }
    JoinEvent end;
    end.decision_id = "end";
    end.time_us = kStartUs + 200 * kSecond;
    arrivals.emplace(end.time_us, Copy{end, 0});
    events_.clear();
    places_.clear();
    arrival_us_.clear();
    for (const auto& [arrival_us, copy] : arrivals) {
      events_.push_back(copy.event);
      places_.push_back({copy.spool, 0});
      arrival_us_.push_back(arrival_us);
    }
  }

  std::string SpoolDir(size_t spool) const {
    return dir_ / absl::StrCat("spools/", kWriters[spool]);
  }

  // Repeats decisions and feedback soon after they arrived, as a client does
  // that got no answer. A copy may be stamped before records that are there.
  void AddRetries() {
    std::vector<JoinEvent> all;
    std::vector<JoinEvent> copies;
    int64_t latest_us = 0;
    for (const JoinEvent& event : events_) {
      all.push_back(event);
      if (event.decision_id == "end") break;
      latest_us = std::max(latest_us, event.time_us);
      if (event.kind != JoinEvent::Kind::kShown && random_() % 3 == 0) {
        copies.push_back(event);
      }
      if (copies.empty() || random_() % 2 == 0) continue;
      copies.front().time_us = latest_us - kSecond / 2;
      all.push_back(copies.front());
      copies.erase(copies.begin());
    }
    events_ = all;
  }

  // Gives each event, in the order of arrival, to a random spool.
  void Spread() {
    places_.clear();
    std::array<int64_t, kSpools> latest_us = {};
    for (const JoinEvent& event : events_) {
      const size_t spool = random_() % kSpools;
      latest_us[spool] = std::max(latest_us[spool], event.time_us);
      places_.push_back({spool, latest_us[spool]});
    }
  }

  void WriteNext() {
    const size_t spool = places_[num_written_].spool;
    std::unique_ptr<SegmentWriter>& writer = writers_[spool];
    if (writer != nullptr && random_() % 6 == 0) {
      // Otherwise it dies.
      if (random_() % 4 != 0) {
        ASSERT_OK(writer->Close());
      }
      writer.reset();
    }
    if (writer == nullptr) {
      ++num_segments_;
      names_[spool] = SegmentName(num_segments_, kWriters[spool], 0);
      writer = NewSegment(SpoolDir(spool), num_segments_, 0, kWriters[spool]);
    }
    index_[{names_[spool], writer->bytes()}] = num_written_;
    ASSERT_OK(writer->Append(RecordOf(events_[num_written_++])));
  }

  void Run() {
    std::unique_ptr<Pipeline> pipeline;
    while (num_written_ < events_.size()) {
      for (size_t more = 1 + random_() % 12; more > 0; --more) {
        if (num_written_ < events_.size()) WriteNext();
      }
      if (arrival_us_.empty()) {
        MoveClock(events_, 1);
      } else {
        now_us_ = arrival_us_[num_written_ - 1];
      }
      DieAndRead(&pipeline);
    }
    while (now_us_ < events_.back().time_us + 30 * kSecond && !HasFailure()) {
      now_us_ += 5 * kSecond;
      DieAndRead(&pipeline);
    }
    EXPECT_EQ(pipeline->counts().pending, 0u);
    EXPECT_OK(pipeline->Close());
  }

  std::string LineOf(size_t decision, double reward,
                     const std::vector<size_t>& feedback) const {
    std::string line = absl::StrCat(decision, " ", reward, ":");
    for (const size_t i : feedback) {
      absl::StrAppend(&line, " ", events_[i].feedback_id, "@",
                      events_[i].time_us);
    }
    return line;
  }

  static void AddShownText(const log::v1::Shown& shown, std::string* line) {
    absl::StrAppend(line, " [", shown.ShortDebugString(), "]");
  }

  static void AddViewText(uint64_t version, int64_t time_us,
                          std::string* line) {
    absl::StrAppend(line, " v", version, "@", time_us);
  }

  Written Expect() const {
    std::vector<size_t> order(events_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return std::pair(places_[a].key_us, places_[a].spool) <
             std::pair(places_[b].key_us, places_[b].spool);
    });
    std::vector<JoinEvent> merged;
    for (const size_t i : order) merged.push_back(events_[i]);
    const JoinResult result = ReferenceJoin(merged, options_.join());
    Written written;
    for (const auto& [decision, tuple] : result.tuples) {
      std::vector<size_t> feedback;
      for (const size_t report : tuple.reports) {
        if (merged[report].kind == JoinEvent::Kind::kFeedback) {
          feedback.push_back(order[report]);
        }
      }
      std::string line = LineOf(order[decision], tuple.reward, feedback);
      if (tuple.shown.has_value()) AddShownText(*tuple.shown, &line);
      for (const size_t view : tuple.views) {
        AddViewText(merged[view].answer, merged[view].time_us, &line);
      }
      written.tuples[places_[order[decision]].spool].push_back(line);
    }
    for (const auto& [feedback, reason] : result.late) {
      written.late.push_back(absl::StrCat(order[feedback], " ", reason));
    }
    std::sort(written.late.begin(), written.late.end());
    return written;
  }

  Written Read() const {
    Written written;
    for (const log::v1::BanditTuple& tuple : ReadTuples(options_.tuples())) {
      const size_t decision = IndexOf(tuple.position());
      std::string line = absl::StrCat(decision, " ", tuple.reward(), ":");
      for (const log::v1::Feedback& feedback : tuple.feedback()) {
        absl::StrAppend(&line, " ", feedback.feedback_id(), "@",
                        feedback.time_us());
      }
      if (tuple.has_shown()) AddShownText(tuple.shown(), &line);
      for (const log::v1::ShadowView& view : tuple.shadow_views()) {
        AddViewText(view.version(), view.time_us(), &line);
      }
      EXPECT_EQ(tuple.spool_writer(), kWriters[places_[decision].spool]);
      written.tuples[places_[decision].spool].push_back(line);
    }
    for (const log::v1::LateFeedback& late : ReadLate(options_.tuples())) {
      written.late.push_back(
          absl::StrCat(IndexOf(late.position()), " ", late.reason()));
    }
    std::sort(written.late.begin(), written.late.end());
    return written;
  }

  std::vector<JoinEvent> events_;    // In the order of arrival.
  std::vector<Place> places_;        // Of the events.
  std::vector<int64_t> arrival_us_;  // Empty: within the slack.
  std::array<std::unique_ptr<SegmentWriter>, kSpools> writers_;
  std::array<std::string, kSpools> names_;  // Of their segments.
  int64_t num_segments_ = 0;
};

TEST_P(SeveralSpoolsReferenceTest, PipelineGivesWhatTheRulesSay) {
  size_t num_tuples = 0;
  size_t num_late = 0;
  for (uint32_t seed = 101; seed <= 160; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Begin(seed);
    MakeHistory(seed);
    Run();
    const Written expected = Expect();
    const Written actual = Read();
    for (size_t spool = 0; spool < kSpools; ++spool) {
      ASSERT_EQ(actual.tuples[spool], expected.tuples[spool])
          << kWriters[spool];
      num_tuples += expected.tuples[spool].size();
    }
    ASSERT_EQ(actual.late, expected.late);
    num_late += expected.late.size();
  }
  // The spools are worth the comparison.
  EXPECT_GT(num_tuples, 900u);
  EXPECT_GT(num_late, 600u);
}

// Which spool has the tuple depends on when the pipelines died.
TEST_P(SeveralSpoolsReferenceTest, EveryDecisionHasOneTuple) {
  for (uint32_t seed = 1; seed <= NumSeeds(100, 1000); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Begin(seed);
    MakeLateCopies();
    Run();
    std::map<std::string, int> tuples;
    for (const log::v1::BanditTuple& tuple : ReadTuples(options_.tuples())) {
      ++tuples[tuple.decision().decision_id()];
    }
    tuples.erase("end");
    ASSERT_EQ(tuples.size(), static_cast<size_t>(kLateDecisions));
    for (const auto& [id, count] : tuples) ASSERT_EQ(count, 1) << id;
  }
}

INSTANTIATE_TEST_SUITE_P(Found, SeveralSpoolsReferenceTest, testing::Bool(),
                         [](const auto& parameter) -> std::string {
                           return parameter.param ? "ByPattern" : "Named";
                         });

}  // namespace
}  // namespace sortition
