// `log erase`: what goes, what stays, and what a run that dies leaves.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/upkeep/log_erase.h"
#include "io/files.h"
#include "io/segments/compressed_file.h"
#include "io/segments/erased_record.h"
#include "tests/client/command_run.h"
#include "tests/client/upkeep/output_fixture.h"

namespace sortition {
namespace {

using log::v1::LogRecord;
using log::v1::SegmentHeader;
using testing::HasSubstr;

class EraseTest : public OutputFixture {
 protected:
  EraseTest() {
    options_.add_unit("alice");
    options_.set_reason("request 17");
  }

  static LogRecord Decision(const std::string& id, const std::string& unit,
                            int64_t time_us) {
    LogRecord record;
    record.mutable_decision()->set_decision_id(id);
    record.mutable_decision()->set_unit_id(unit);
    record.mutable_decision()->set_time_us(time_us);
    return record;
  }
  static LogRecord Feedback(const std::string& id) {
    LogRecord record;
    record.mutable_feedback()->set_feedback_id("f-" + id);
    record.mutable_feedback()->set_decision_id(id);
    record.mutable_feedback()->set_reward(1);
    return record;
  }
  static LogRecord Shown(const std::string& id) {
    LogRecord record;
    record.mutable_shown()->set_decision_id(id);
    return record;
  }
  static LogRecord View(const std::string& id) {
    LogRecord record;
    record.mutable_shadow_view()->set_decision_id(id);
    return record;
  }
  static LogRecord Late(const std::string& id) {
    LogRecord record;
    record.mutable_late()->mutable_position()->set_segment("s");
    record.mutable_late()->mutable_position()->set_offset(77);
    *record.mutable_late()->mutable_feedback() = Feedback(id).feedback();
    return record;
  }

  // Writes a log of alice (first-of-a, second-of-a) and of bob (first-of-b).
  void WriteLog() {
    WriteSpool(1000, {Decision("first-of-a", "alice", 1),
                      Decision("first-of-b", "bob", 2), View("first-of-a"),
                      Shown("first-of-b")});
    WriteSpool(2000,
               {Decision("second-of-a", "alice", 3), Feedback("first-of-a"),
                Feedback("first-of-b"), Shown("second-of-a")});
    Write(tuples_, 3000,
          {Tuple("first-of-a", 1, "alice"), Tuple("first-of-b", 2, "bob")});
    Write(tuples_, 4000, {Tuple("second-of-a", 3, "alice")});
    Write(root_.Sub("tuples/late"), 5000,
          {Late("first-of-b"), Late("second-of-a")}, "", SegmentHeader::LATE);
  }
  std::string WriteSpool(int64_t time_us, const std::vector<LogRecord>& records,
                         std::unique_ptr<SegmentWriter>* open = nullptr) {
    return Write(spool_, time_us, records, "", SegmentHeader::SPOOL, open);
  }

  absl::StatusOr<EraseResult> Erase() {
    return EraseFromLog(options_, {spool_, tuples_});
  }

  // Returns the files below the root in which the text stands.
  std::vector<std::string> FilesWith(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(root_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      if (absl::StrContains(bytes, text)) found.push_back(entry.path());
    }
    return found;
  }
  void ExpectGone() const {
    for (const char* const id : {"alice", "first-of-a", "second-of-a"}) {
      EXPECT_THAT(FilesWith(id), testing::IsEmpty()) << id;
    }
  }

  // Returns how many segments have something to be erased.
  size_t NumSegmentsOfAlice() const {
    std::set<std::string> files;
    for (const char* const id : {"first-of-a", "second-of-a"}) {
      for (const std::string& file : FilesWith(id)) {
        if (absl::EndsWith(file, kSegmentSuffix)) files.insert(file);
      }
    }
    return files.size();
  }

  // Returns all records with what was not erased, in their places.
  static std::vector<std::string> Kept(const std::string& dir) {
    std::vector<std::string> kept;
    for (const LogRecord& record : Read(dir)) {
      if (record.has_header() || record.has_footer()) continue;
      kept.push_back(record.record_case() == LogRecord::RECORD_NOT_SET
                         ? "erased"
                         : record.ShortDebugString());
    }
    return kept;
  }

  const std::string spool_ = root_.Sub("spool");
  const std::string tuples_ = root_.Sub("tuples");
  config::v1::LogEraseOptions options_;
};

TEST_F(EraseTest, ErasesAllOfAUnitAndNothingElse) {
  WriteLog();
  const std::string of_bob =
      Decision("first-of-b", "bob", 2).ShortDebugString();
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_THAT(result.left, testing::IsEmpty());
  EXPECT_EQ(result.erased.Text(),
            "2 decisions, 2 tuples, 1 reports of what was shown, 1 feedback, 1 "
            "late feedback, 1 views of shadows");
  EXPECT_EQ(result.segments, 5u);
  ExpectGone();
  EXPECT_EQ(Kept(spool_),
            (std::vector<std::string>{
                "erased", of_bob, "erased",
                Shown("first-of-b").ShortDebugString(), "erased", "erased",
                Feedback("first-of-b").ShortDebugString(), "erased"}));
  EXPECT_EQ(Kept(tuples_),
            (std::vector<std::string>{
                "erased", Tuple("first-of-b", 2, "bob").ShortDebugString(),
                "erased"}));
  EXPECT_EQ(Kept(tuples_ + "/late"),
            (std::vector<std::string>{Late("first-of-b").ShortDebugString(),
                                      "erased"}));
  EXPECT_THAT(FilesWith("first-of-b"), testing::SizeIs(4));
  // Places stay, so that no sidecar writes a tuple again.
  log::v1::ErasedRecord erased;
  ASSERT_TRUE(erased.ParseFromString(Read(tuples_)[1].SerializeAsString()));
  EXPECT_EQ(erased.erased().position().segment(), "s");
  EXPECT_EQ(erased.erased().position().offset(), 1u);
  // The record of the erasure names nobody.
  ASSERT_OK_AND_ASSIGN(const std::string audit,
                       ReadFile(tuples_ + "/erasures.jsonl"));
  EXPECT_THAT(audit, HasSubstr(R"("by":"unit","reason":"request 17",)"
                               R"("decisions":0,"tuples":2,)"));
  EXPECT_THAT(audit, HasSubstr(R"("late":1,"views":0,"damaged":0,)"
                               R"("complete":true})"));
  // Again there is nothing to do, and nothing is noted.
  ASSERT_OK_AND_ASSIGN(const EraseResult again, Erase());
  EXPECT_EQ(again.erased.all(), 0u);
  ASSERT_OK_AND_ASSIGN(const std::string same,
                       ReadFile(tuples_ + "/erasures.jsonl"));
  EXPECT_EQ(same, audit);
}

TEST_F(EraseTest, ChecksOfTheLogFindNoHole) {
  WriteLog();
  const auto validated = [&](const std::string& dir) {
    const CommandRun run = Sortition({"log", "validate", dir});
    return absl::StrCat(run.exit_code, run.error);
  };
  const std::string of_tuples = validated(tuples_);
  const std::string of_spool = validated(spool_);
  ASSERT_OK(Erase());
  EXPECT_EQ(validated(tuples_), of_tuples);
  EXPECT_EQ(validated(spool_), of_spool);
  const CommandRun stats = Sortition({"log", "stats", spool_});
  EXPECT_EQ(stats.exit_code, kExitOk) << stats.error;
  EXPECT_THAT(stats.out, testing::ContainsRegex("missing_records +0\n"));
  EXPECT_THAT(stats.out, testing::ContainsRegex("corrupt_records +0\n"));
  EXPECT_THAT(Sortition({"log", "cat", spool_}).error, testing::IsEmpty());
  // Compaction leaves their places out.
  const CommandRun compacted =
      Sortition({"log", "compact", tuples_, "--out=" + (root_ / "compacted")});
  EXPECT_THAT(compacted.out, HasSubstr("1 tuples and 0 other records"))
      << compacted.error;
}

TEST_F(EraseTest, ErasesDecisionsByTheirIdsInFiles) {
  WriteLog();
  options_.clear_unit();
  options_.set_decisions(root_ / "ids");
  ASSERT_OK(WriteFile(options_.decisions(), "first-of-a\r\n\nsecond-of-a\n"));
  ASSERT_OK(Erase());
  std::filesystem::remove(options_.decisions());
  ExpectGone();
}

// The decision that names the unit is erased first, its feedback a run later.
TEST_F(EraseTest, AnOpenSegmentIsLeftAndErasedByTheNextRun) {
  WriteLog();
  std::unique_ptr<SegmentWriter> open;
  WriteSpool(6000, {Feedback("first-of-a"), Feedback("first-of-b")}, &open);
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  ASSERT_THAT(result.left, testing::SizeIs(1));
  EXPECT_THAT(result.left[0], HasSubstr("1 feedback in " + spool_));
  EXPECT_THAT(result.left[0], HasSubstr("run again when it was closed"));
  EXPECT_THAT(FilesWith("alice"), testing::IsEmpty());
  ASSERT_OK_AND_ASSIGN(const std::string audit,
                       ReadFile(spool_ + "/erasures.jsonl"));
  EXPECT_THAT(audit, HasSubstr(R"("complete":false)"));
  // Its writer goes on.
  ASSERT_OK(open->Append(Feedback("second-of-a")));
  ASSERT_OK(open->Close());
  ASSERT_OK_AND_ASSIGN(const EraseResult rest, Erase());
  EXPECT_THAT(rest.left, testing::IsEmpty());
  EXPECT_EQ(rest.erased.feedback, 2u);
  ExpectGone();
  ASSERT_OK_AND_ASSIGN(const std::string completed,
                       ReadFile(tuples_ + "/erasures.jsonl"));
  EXPECT_THAT(completed, testing::EndsWith("\"complete\":true}\n"));
}

TEST_F(EraseTest, TheProgramSaysWhatIsLeft) {
  WriteLog();
  std::unique_ptr<SegmentWriter> open;
  WriteSpool(6000, {Feedback("first-of-a")}, &open);
  const std::vector<std::string> command = {
      "log", "erase", spool_, tuples_, "--unit=alice", "--reason=request 17"};
  CommandRun run = Sortition(command);
  EXPECT_EQ(run.exit_code, kExitNotYet) << run.error;
  EXPECT_THAT(run.out, HasSubstr("erased: 2 decisions, 2 tuples"));
  EXPECT_THAT(run.out, HasSubstr("left: 1 feedback in"));
  EXPECT_THAT(run.out, HasSubstr("not erased here: model versions that an "
                                 "older sortition-trainer published"));
  ASSERT_OK(open->Close());
  EXPECT_EQ(Sortition(command).exit_code, kExitOk);
  ExpectGone();
  run = Sortition({"log", "erase", spool_, "--unit=alice"});
  EXPECT_EQ(run.exit_code, kExitUsage);
  EXPECT_THAT(run.error, HasSubstr("reason"));
  run = Sortition({"log", "erase", spool_, "--reason=x"});
  EXPECT_EQ(run.exit_code, kExitError);
  EXPECT_THAT(run.error, HasSubstr("nothing to erase: give unit"));
}

// The spool of a server that died: the segment is closed first.
TEST_F(EraseTest, ASegmentOfADeadWriterIsClosed) {
  std::unique_ptr<SegmentWriter> dead;
  WriteSpool(
      1000,
      {Decision("first-of-a", "alice", 1), Decision("first-of-b", "bob", 2)},
      &dead);
  dead.reset();
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_EQ(result.erased.decisions, 1u);
  EXPECT_THAT(result.left, testing::IsEmpty());
  ExpectGone();
  EXPECT_TRUE(Read(spool_).back().footer().recovered());
}

TEST_F(EraseTest, CompressedSegmentsStayCompressed) {
  WriteLog();
  std::vector<std::string> paths;
  for (const int64_t time_us : {3000, 4000}) {
    const std::string path = tuples_ + "/" + SegmentName(time_us, "tuples", 0);
    ASSERT_OK(
        CompressFile(path, CompressedSegmentPath(path), [] { return false; }));
    paths.push_back(path);
  }
  // The plain file of the second was not removed yet.
  std::filesystem::remove(paths[0]);
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_EQ(result.erased.tuples, 2u);
  EXPECT_FALSE(std::filesystem::exists(paths[0]));
  EXPECT_TRUE(std::filesystem::exists(CompressedSegmentPath(paths[0])));
  EXPECT_TRUE(std::filesystem::exists(paths[1]));
  EXPECT_FALSE(std::filesystem::exists(CompressedSegmentPath(paths[1])));
  EXPECT_EQ(Kept(tuples_),
            (std::vector<std::string>{
                "erased", Tuple("first-of-b", 2, "bob").ShortDebugString(),
                "erased"}));
  ExpectGone();
}

// A record that cannot be read may hold an id: it is made unreadable for good.
TEST_F(EraseTest, DamagedRecordsWithAnIdAreWiped) {
  WriteLog();
  const std::string path = tuples_ + "/" + SegmentName(3000, "tuples", 0);
  ASSERT_OK_AND_ASSIGN(std::string bytes, ReadFile(path));
  bytes[bytes.find("alice") - 1] ^= 1;
  ASSERT_OK(WriteFile(path, bytes));
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_EQ(result.erased.damaged, 1u);
  ExpectGone();
  ASSERT_OK_AND_ASSIGN(const std::string wiped, ReadFile(path));
  EXPECT_EQ(wiped.size(), bytes.size());
  const CommandRun run = Sortition({"log", "stats", tuples_});
  EXPECT_THAT(run.out, testing::ContainsRegex("corrupt_records +1\n"));
}

TEST_F(EraseTest, ADryRunChangesNothing) {
  WriteLog();
  options_.set_dry_run(true);
  ASSERT_OK_AND_ASSIGN(const EraseResult result, Erase());
  EXPECT_EQ(result.erased.all(), 8u);
  EXPECT_THAT(FilesWith("alice"), testing::SizeIs(4));
  EXPECT_FALSE(std::filesystem::exists(tuples_ + "/erasures.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(tuples_ + "/.erasing"));
  options_.set_dry_run(false);
  EXPECT_THAT(EraseFromLog(options_, {root_ / "no"}),
              IsInvalidArgument("must be a directory of segments"));
}

// kill -9 as soon as so many files have changed: each segment is the old one or
// the new one, and the next run, without the unit, erases the rest.
TEST_F(EraseTest, ARunThatWasKilledIsCompletedByTheNext) {
  for (size_t kills_at = 0; kills_at < 5; ++kills_at) {
    SCOPED_TRACE(kills_at);
    for (const std::string& dir : {spool_, tuples_}) {
      std::filesystem::remove_all(dir);
      std::filesystem::create_directories(dir);
    }
    WriteLog();
    const pid_t child = fork();
    if (child == 0) {
      const bool ok = EraseFromLog(options_, {spool_, tuples_}).ok();
      _exit(ok ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    // Five segments have something of alice.
    const auto num_changed = [&] { return 5 - NumSegmentsOfAlice(); };
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (num_changed() < kills_at) continue;
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      break;
    }
    // All other records are there, whatever was replaced.
    EXPECT_EQ(Read(spool_).size(), 12u);
    EXPECT_EQ(Read(tuples_).size(), 7u);
    ASSERT_OK_AND_ASSIGN(const EraseResult rest, Erase());
    EXPECT_THAT(rest.left, testing::IsEmpty());
    ExpectGone();
    EXPECT_EQ(Kept(spool_).size(), 8u);
  }
}

}  // namespace
}  // namespace sortition
