// Times in which feedback is lost, with real programs: every tuple of the time
// is censored, with feedback or without, and what the trainer takes from the
// rest is true.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "io/clocks.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "io/spool/writer_state.h"
#include "sortition/v1/ranking.grpc.pb.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

// Each of two candidates is chosen with probability 1/2, and clicked with
// these.
constexpr double kClicks[] = {0.2, 0.6};
constexpr double kTruth = 0.4;
constexpr int kCensoringDecisions = 500;
// The same actions in every run.
constexpr char kDrawSalt[] = "0123456789abcdef0123456789abcdef";
// 4 standard errors of a mean over kCensoringDecisions.
constexpr double kTolerance = 4 * 0.49 / 22.4;
const double kWindowSeconds = Patience(8);

class CensoringTest : public testing::Test {
 protected:
  CensoringTest() {
    EXPECT_OK(deployment_.store().Publish(SelectionModel(8, 0), nullptr, {},
                                          {.draw_salt = kDrawSalt}));
  }

  void StartServer(std::vector<std::string> flags = {}) {
    flags.push_back("--spool.segment_bytes=65536");
    flags.push_back("--spool.segment_seconds=0.2");
    ASSERT_OK(deployment_.StartServer(flags));
    stub_ = v1::Ranking::NewStub(deployment_.NewChannel());
  }
  void StartSidecar() {
    ASSERT_OK(deployment_.StartSidecar(
        {absl::StrCat("--join.reward_wait_time_seconds=", kWindowSeconds),
         // A busy machine holds the server's threads up, and each absence
         // censors.
         absl::StrCat("--join.max_away_seconds=", Patience(5)),
         "--segment_seconds=0.3"}));
  }

  // Returns the action; -1 if the server refused.
  int Select(const std::string& id, uint32_t num_candidates = 2) {
    v1::SelectRequest request;
    *request.mutable_context() = MakeContext(num_candidates, 8, 0);
    request.mutable_context()->set_decision_id(id);
    grpc::ClientContext context;
    v1::SelectResponse response;
    if (!stub_->Select(&context, request, &response).ok()) return -1;
    return static_cast<int>(response.selected());
  }

  // Makes decisions; their clicks wait.
  void Decide(const std::string& prefix) {
    for (int i = 0; i < kCensoringDecisions; ++i) {
      const std::string id = absl::StrCat(prefix, "-", i);
      const int action = Select(id);
      ASSERT_GE(action, 0) << id;
      if (random_.Uniform() < kClicks[action]) clicks_.push_back(id);
    }
  }

  // Reports `count` clicks. A front end that is refused gives up.
  void Report(size_t count) {
    for (; count > 0 && !clicks_.empty(); --count) {
      v1::ReportFeedbackRequest request;
      v1::Feedback* feedback = request.add_feedback();
      feedback->set_feedback_id("f" + clicks_.front());
      feedback->set_decision_id(clicks_.front());
      feedback->set_reward(1);
      clicks_.pop_front();
      grpc::ClientContext context;
      v1::ReportFeedbackResponse response;
      stub_->ReportFeedback(&context, request, &response);
    }
  }

  // Decisions with half of their clicks; the others wait to be lost.
  void Before() {
    Decide("before");
    Report(clicks_.size() / 2);
    ASSERT_FALSE(clicks_.empty());
  }
  // Decisions with all of their clicks.
  void After() {
    Decide("after");
    Report(clicks_.size());
  }

  // Fills the spool, which the sidecar does not empty, until `is_full`.
  void Fill(const std::function<bool()>& is_full) {
    for (int i = 0; !is_full(); ++i) {
      ASSERT_LT(i, 100000);
      Select(absl::StrCat("fill-", i), 100);
    }
  }

  // Waits until the sidecar has emptied most of the spool.
  void WaitForRoom() {
    ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const double bytes = ServerMetric("sortition_spool_size_bytes");
      return bytes > 0 && bytes < 300000 &&
             ServerMetric("sortition_spool_state{state=\"ok\"}") == 1;
    }));
  }

  // Waits until all decisions up to now have their tuples.
  void WaitForTuples() {
    const std::string last = "after-" + absl::StrCat(kCensoringDecisions - 1);
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      const auto ids = TupleIds(deployment_.tuples());
      return ids.ok() && std::count(ids->begin(), ids->end(), last) == 1;
    }));
  }

  // Every decision before the trouble and during it is censored for `reason`,
  // and no other one.
  void ExpectCensored(log::v1::CensorReason reason) {
    int num_censored = 0;
    int num_whole = 0;
    int with_feedback = 0;
    double naive = 0;
    int num_naive = 0;
    EXPECT_OK(VisitRecords(
        deployment_.tuples(), false, [&](const log::v1::LogRecord& record) {
          if (!record.has_tuple()) return;
          const log::v1::BanditTuple& tuple = record.tuple();
          const std::string& id = tuple.decision().decision_id();
          const bool is_after = absl::StartsWith(id, "after-");
          if (!is_after && !absl::StartsWith(id, "before-")) return;
          EXPECT_EQ(tuple.censored_size() > 0, !is_after)
              << id << " " << tuple.ShortDebugString().substr(0, 300);
          ++(is_after ? num_whole : num_censored);
          if (!is_after) {
            EXPECT_EQ(tuple.censored(0), reason) << id;
            with_feedback += tuple.has_feedback();
          }
          if (is_after || tuple.has_feedback()) {
            ++num_naive;
            naive += tuple.reward();
          }
        }));
    EXPECT_EQ(num_censored, kCensoringDecisions);
    EXPECT_EQ(num_whole, kCensoringDecisions);
    EXPECT_GT(with_feedback, kCensoringDecisions / 10);
    EXPECT_LT(with_feedback, kCensoringDecisions * 3 / 10);
    ExpectTrueEstimate();
    // To leave out only what has no feedback would keep the clicks.
    EXPECT_GT(naive / num_naive, kTruth + kTolerance);
  }

  void ExpectTrueEstimate() {
    config::v1::TrainOptions options;
    options.set_tuples(deployment_.tuples());
    ASSERT_OK_AND_ASSIGN(const TupleData data, ReadTuples(options, {}));
    double reward = 0;
    size_t count = 0;
    for (const auto* part : {&data.train, &data.validation, &data.test}) {
      for (const BanditTuple& tuple : *part) reward -= tuple.loss;
      count += part->size();
    }
    EXPECT_GE(count, size_t{kCensoringDecisions});
    EXPECT_NEAR(reward / static_cast<double>(count), kTruth, kTolerance);
  }

  double ServerMetric(absl::string_view name) {
    const auto text = deployment_.ServerMetrics();
    return text.ok() ? MetricSum(*text, name) : 0;
  }

  Deployment deployment_;
  std::unique_ptr<v1::Ranking::Stub> stub_;
  RandomSequence random_{SeedKey(5)};
  std::deque<std::string> clicks_;
};

TEST_F(CensoringTest, CallsRefusedByAFullSpool) {
  StartServer({"--spool.max_bytes=1048576"});
  Before();
  int fills = 0;
  Fill([&] { return fills++ > 0 && Select("refused", 100) < 0; });
  // Nor has it room for a click, which is smaller.
  for (int i = 0; Select(absl::StrCat("small-", i)) >= 0; ++i) {
    ASSERT_LT(i, 1000);
  }
  Report(clicks_.size());
  EXPECT_GT(ServerMetric("sortition_spool_refused_total"), 1);
  StartSidecar();
  WaitForRoom();
  After();
  WaitForTuples();
  ExpectCensored(log::v1::REFUSED);
}

TEST_F(CensoringTest, RecordsLostByAFullSpool) {
  StartServer({"--spool.max_bytes=1048576", "--spool.when_full=COUNT"});
  Before();
  Fill([&] { return ServerMetric("sortition_spool_lost_records_total") > 0; });
  Report(clicks_.size());
  StartSidecar();
  WaitForRoom();
  After();
  WaitForTuples();
  ExpectCensored(log::v1::LOST);
}

// The clock of the whole machine is set forward by an hour.
TEST_F(CensoringTest, ClockThatJumps) {
  const std::string shift = deployment_.path("shift");
  ASSERT_OK(WriteFile(shift, std::string(sizeof(int64_t), '\0')));
  setenv("SORTITION_CLOCK_SHIFT", shift.c_str(), 1);
  setenv("LD_PRELOAD", SORTITION_CLOCK_SHIFT_LIBRARY, 1);
  // A library before its own is no error to the sanitizer.
  setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
  const int64_t start_us = NowUs();
  StartServer();
  Before();
  // The server is used to its clock.
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return Select("usual") >= 0 && NowUs() - start_us > 1500000;
  }));
  const int64_t hour = 3600;
  const int fd = open(shift.c_str(), O_WRONLY | O_CLOEXEC);
  ASSERT_EQ(pwrite(fd, &hour, sizeof hour, 0),
            static_cast<ssize_t>(sizeof hour));
  close(fd);
  Report(clicks_.size());
  StartSidecar();
  unsetenv("LD_PRELOAD");
  After();
  WaitForTuples();
  ExpectCensored(log::v1::CLOCK_STEP);
}

// A process that is frozen does not notice it: clocks run on.
TEST_F(CensoringTest, ServerThatWasFrozenSaysSo) {
  // SIGSTOP stops the threads one after the other, and a thread that still runs
  // may write another sign of life.
  const auto is_stopped = [&] {
    const std::string tasks =
        absl::StrCat("/proc/", deployment_.server().pid(), "/task");
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      const auto stat = ReadFile(task.path() / "stat");
      // The state follows the name, which may contain parentheses.
      if (!stat.ok() || stat->substr(stat->rfind(") ") + 2, 1) != "T") {
        return false;
      }
    }
    return true;
  };
  StartServer();
  ASSERT_EQ(Select("before"), Select("before"));
  const auto alive_us = [&] {
    return ReadWriterState(deployment_.spool())->alive_us;
  };
  deployment_.server().Signal(SIGSTOP);
  ASSERT_TRUE(PollUntil(kPatienceSeconds, is_stopped));
  const int64_t sign_us = alive_us();
  EXPECT_TRUE(
      PollUntil(kPatienceSeconds, [&] { return NowUs() - sign_us > 4500000; }));
  deployment_.server().Signal(SIGCONT);
  EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
    int64_t absence_us = 0;
    EXPECT_OK(VisitRecords(
        deployment_.spool(), false, [&](const log::v1::LogRecord& record) {
          const log::v1::Gap& gap = record.gap();
          if (gap.kind() == log::v1::WRITER_AWAY) {
            absence_us = gap.last_time_us() - gap.first_time_us();
          }
        }));
    return absence_us > 3000000;
  }));
}

// Somebody removes a part of the spool that the sidecar has not read.
TEST_F(CensoringTest, PartOfTheSpoolIsLost) {
  StartServer();
  const auto wait_for_next_segment = [&] {
    const std::string newest = ListSegments(deployment_.spool())->back();
    ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return ListSegments(deployment_.spool())->back() != newest;
    }));
  };
  Before();
  wait_for_next_segment();
  const std::string first = ListSegments(deployment_.spool())->back();
  Report(clicks_.size());
  wait_for_next_segment();
  const std::vector<std::string> names = *ListSegments(deployment_.spool());
  for (const std::string& name : names) {
    if (name >= first && name < names.back()) {
      std::filesystem::remove(deployment_.spool() + "/" + name);
    }
  }
  // The sidecar starts later; log times decide all the same.
  After();
  StartSidecar();
  WaitForTuples();
  ExpectCensored(log::v1::MISSING);
}

}  // namespace
}  // namespace sortition
