// `log erase` beside a sidecar that runs, and before it starts again.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "client/upkeep/log_erase.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sidecar/pipeline.h"
#include "tests/sidecar/pipeline_fixture.h"

namespace sortition {
namespace {

using namespace testing_sidecar;  // NOLINT: the fixture of this folder.

class EraseTest : public PipelineTest {
 protected:
  EraseTest() {
    options_.set_delete_spool(false);
    erase_.set_reason("test");
  }

  absl::StatusOr<EraseResult> Erase() {
    return EraseFromLog(erase_, {options_.spool(0), options_.tuples()});
  }

  // Begins an erasure in another process, and kills it when it has begun to
  // replace segments, or when it is done.
  void KillErasure() {
    const pid_t child = fork();
    if (child == 0) _exit(Erase().ok() ? 0 : 1);
    ASSERT_GT(child, 0);
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (!std::filesystem::exists(options_.spool(0) + "/.erasing")) continue;
      kill(child, SIGKILL);
      ASSERT_EQ(waitpid(child, &status, 0), child);
      return;
    }
  }

  // Returns ids and rewards of the tuples, without those of `ids`.
  std::vector<std::string> TuplesBut(const std::vector<std::string>& ids) {
    std::vector<std::string> lines;
    for (const auto& tuple : ReadTuples(options_.tuples())) {
      const std::string& id = tuple.decision().decision_id();
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
      lines.push_back(absl::StrCat(id, " ", tuple.reward(), " ",
                                   tuple.position().offset()));
    }
    return lines;
  }
  std::vector<std::string> LateBut(const std::vector<std::string>& ids) {
    std::vector<std::string> lines;
    for (const auto& late : ReadLate(options_.tuples())) {
      const std::string& id = late.feedback().decision_id();
      if (std::find(ids.begin(), ids.end(), id) != ids.end()) continue;
      lines.push_back(absl::StrCat(id, " ", late.feedback().feedback_id(), " ",
                                   late.reason()));
    }
    std::sort(lines.begin(), lines.end());
    return lines;
  }

  config::v1::LogEraseOptions erase_;
};

// The erasure, of which some are killed, comes after any number of steps of a
// pipeline, which goes on with
// what it has in memory; another pipeline starts behind it. No other tuple is
// lost, none is there twice, and a second erasure takes what was written
// meanwhile.
TEST_F(EraseTest, LosesAndRepeatsNoOtherTupleWheneverItComes) {
  const std::string saved = dir_ / "saved";
  WriteSpool(saved, History(48, 5, kStartUs), 9);
  StartAgain(saved);
  Finish();
  std::vector<std::string> ids;
  const auto all = ReadTuples(options_.tuples());
  // The last one, too: behind it a pipeline continues.
  for (size_t i = 0; i < all.size(); i += 4) {
    ids.push_back(all[i].decision().decision_id());
  }
  ids.push_back(all.back().decision().decision_id());
  for (const std::string& id : ids) erase_.add_decision(id);
  const auto tuples = TuplesBut(ids);
  const auto late = LateBut(ids);
  ASSERT_GT(tuples.size(), 10u);
  ASSERT_GT(late.size(), 2u);
  for (uint64_t steps = 0; steps < 260; steps += 13) {
    SCOPED_TRACE(steps);
    StartAgain(saved);
    {
      const auto pipeline = Open();
      for (uint64_t i = 0; i < steps;) {
        ASSERT_OK_AND_ASSIGN(const bool is_busy, pipeline->Poll(1));
        if (is_busy) {
          ++i;
        } else if (pipeline->counts().pending == 0) {
          break;
        } else {
          clock_.now_us += kSecond;
        }
      }
      if (steps % 3 == 0) KillErasure();
      if (steps % 3 < 2) {
        ASSERT_OK(Erase());
      }
      if (steps % 2 == 0) {
        RunToEnd(pipeline.get(), &clock_);
        ASSERT_OK(pipeline->Close());
      }  // Otherwise it dies here.
    }
    Finish();
    ASSERT_OK_AND_ASSIGN(const EraseResult rest, Erase());
    EXPECT_THAT(rest.left, testing::IsEmpty());
    EXPECT_EQ(TuplesBut({}), tuples);
    EXPECT_EQ(LateBut({}), late);
    // The end of the log is erased: nothing is written again.
    Finish();
    EXPECT_EQ(TuplesBut({}), tuples);
    EXPECT_EQ(LateBut({}), late);
  }
}

// The spool still has what was erased from the output: what stays of a tuple
// and of late feedback says that they were written.
TEST_F(EraseTest, NothingIsWrittenAgainFromAnOpenSegment) {
  const auto spool = NewSegment(options_.spool(0), kStartUs, 0);
  for (const auto& record :
       {DecisionRecord("a", kStartUs), DecisionRecord("b", kStartUs + kSecond),
        FeedbackRecord("late", "b", kStartUs + 50 * kSecond, 1),
        DecisionRecord("end", kStartUs + 100 * kSecond)}) {
    ASSERT_OK(spool->Append(record));
  }
  clock_.now_us = kStartUs + 200 * kSecond;
  Finish();
  const auto num_tuples = ReadTuples(options_.tuples()).size();
  ASSERT_GE(num_tuples, 2u);
  ASSERT_EQ(ReadLate(options_.tuples()).size(), 1u);
  erase_.add_decision("b");
  erase_.add_decision("end");
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_EQ(result.left.size(), 1u);
  EXPECT_EQ(result.erased.late, 1u);
  const auto tuples = TuplesBut({});
  EXPECT_EQ(tuples.size(), num_tuples - result.erased.tuples);
  Finish();
  EXPECT_EQ(TuplesBut({}), tuples);
  EXPECT_EQ(ReadLate(options_.tuples()).size(), 0u);
}

// An erased record is no damage: nothing is censored or counted.
TEST_F(EraseTest, ErasedRecordsCensorNothing) {
  WriteSpool(options_.spool(0),
             {DecisionRecord("a", kStartUs), DecisionRecord("b", kStartUs + 1),
              FeedbackRecord("f", "a", kStartUs + 2, 1),
              FeedbackRecord("g", "b", kStartUs + 3, 1),
              DecisionRecord("end", kStartUs + 100 * kSecond)},
             3);
  erase_.add_decision("a");
  std::filesystem::create_directories(options_.tuples());
  ASSERT_OK(Erase());
  const auto pipeline = Open();
  RunToEnd(pipeline.get(), &clock_);
  EXPECT_EQ(pipeline->counts().malformed_records, 0u);
  EXPECT_EQ(pipeline->counts().censored_tuples, 0u);
  ASSERT_OK(pipeline->Close());
  const auto tuples = ReadTuples(options_.tuples());
  ASSERT_GE(tuples.size(), 1u);
  EXPECT_EQ(tuples[0].decision().decision_id(), "b");
  EXPECT_EQ(tuples[0].reward(), 1);
}

}  // namespace
}  // namespace sortition
