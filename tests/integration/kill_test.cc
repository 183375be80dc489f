// kill -9 of server and sidecar at any moment: a ledger of what clients were
// told. Every answered decision is in the tuples exactly once, all acknowledged
// feedback is in a tuple or late, and every segment can be read to its end.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "io/segments/segment.h"
#include "tests/integration/deployment.h"
#include "tests/integration/load.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

enum class Victim { kServer, kSidecar, kBoth };
constexpr std::array kVictims = {Victim::kServer,  Victim::kBoth,
                                 Victim::kSidecar, Victim::kServer,
                                 Victim::kSidecar, Victim::kBoth};

// Leaves half of another frame behind the last one of the newest segment, as a
// writer that dies while it writes does. Returns the number of its bytes
// without zeros at the end, which look like unwritten space.
absl::StatusOr<uint64_t> TearNewestSegment(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListSegments(dir));
  if (names.empty()) return absl::NotFoundError("no segment");
  const std::string path = absl::StrCat(dir, "/", names.back());
  ASSIGN_OR_RETURN(const std::unique_ptr<SegmentReader> reader,
                   SegmentReader::Open(path));
  uint64_t last_offset = 0;
  absl::string_view payload;
  while (true) {
    uint64_t offset = 0;
    ASSIGN_OR_RETURN(const SegmentReader::Outcome outcome,
                     reader->Next(&payload, &offset));
    if (outcome != SegmentReader::Outcome::kRecord) break;
    last_offset = offset;
  }
  const uint64_t end = reader->offset();
  std::string frame(end - last_offset, '\0');
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return absl::InternalError("cannot open " + path);
  const uint64_t half = frame.size() / 2;
  const bool done = pread(file, frame.data(), frame.size(),
                          static_cast<off_t>(last_offset)) ==
                        static_cast<ssize_t>(frame.size()) &&
                    pwrite(file, frame.data(), half, static_cast<off_t>(end)) ==
                        static_cast<ssize_t>(half);
  close(file);
  if (!done) return absl::InternalError("cannot write " + path);
  // The length stands at the front, so one byte is not 0.
  return frame.find_last_not_of('\0', half - 1) + 1;
}

struct KillCase {
  std::string name;
  std::vector<std::string> server_flags;
  bool deletes_spool = true;
  std::vector<std::string> sidecar_flags = {};
};

// Kills for one case: 12, 252 with --long. Multiples of the victims, so that
// both are killed last.
size_t NumKills() { return (IsLongRun() ? 42 : 2) * kVictims.size(); }

class KillTest : public testing::TestWithParam<KillCase> {
 protected:
  void StartServer() {
    std::vector<std::string> flags = {"--spool.segment_bytes=262144",
                                      "--spool.segment_seconds=0.3"};
    flags.insert(flags.end(), GetParam().server_flags.begin(),
                 GetParam().server_flags.end());
    ASSERT_OK(deployment_.StartServer(flags));
  }
  void StartSidecar() {
    std::vector<std::string> flags = {
        "--join.reward_wait_time_seconds=0.5",
        // A busy machine may take as long between the stamp of a record and
        // its write.
        absl::StrCat("--join.slack_seconds=", Patience(2)),
        "--segment_bytes=262144", "--segment_seconds=0.3",
        GetParam().deletes_spool ? "--delete_spool" : "--no-delete_spool"};
    flags.insert(flags.end(), GetParam().sidecar_flags.begin(),
                 GetParam().sidecar_flags.end());
    ASSERT_OK(deployment_.StartSidecar(flags));
  }

  void KillAndRestart(Victim victim, SelectLoad* load) {
    if (victim != Victim::kServer) deployment_.sidecar().Kill();
    if (victim != Victim::kSidecar) deployment_.server().Kill();
    if (victim == Victim::kBoth) {
      ASSERT_OK_AND_ASSIGN(const uint64_t bytes,
                           TearNewestSegment(deployment_.spool()));
      torn_bytes_ += bytes;
      last_torn_bytes_ = bytes;
    }
    if (victim != Victim::kSidecar) {
      StartServer();
      load->SetAddress(deployment_.address());
    }
    if (victim != Victim::kServer) StartSidecar();
  }

  // The sidecar has done its work: no tuple is there twice, and each segment is
  // whole, those of dead writers included.
  void ExpectCleanEnd();

  Deployment deployment_;
  uint64_t torn_bytes_ = 0;       // In all tears.
  uint64_t last_torn_bytes_ = 0;  // Found by the last sidecar.
};

std::vector<std::string> Sorted(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  return values;
}

// What is in the tuples and in the late segments.
struct Output {
  std::vector<std::string> decisions;
  std::vector<std::string> joined_feedback;
  std::vector<std::string> all_feedback;

  // All in order.
  static absl::StatusOr<Output> Read(const std::string& tuples) {
    Output output;
    const auto take = [&](const log::v1::LogRecord& record) {
      if (record.has_tuple()) {
        output.decisions.push_back(record.tuple().decision().decision_id());
      }
      for (const log::v1::Feedback& feedback : record.tuple().feedback()) {
        output.joined_feedback.push_back(feedback.feedback_id());
        output.all_feedback.push_back(feedback.feedback_id());
      }
      if (record.has_late()) {
        output.all_feedback.push_back(record.late().feedback().feedback_id());
      }
    };
    RETURN_IF_ERROR(VisitRecords(tuples, false, take));
    RETURN_IF_ERROR(VisitRecords(tuples + "/late", false, take));
    for (auto* ids :
         {&output.decisions, &output.joined_feedback, &output.all_feedback}) {
      std::sort(ids->begin(), ids->end());
    }
    return output;
  }
};

bool HasAll(const std::vector<std::string>& all,
            const std::vector<std::string>& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

void ExpectNoneTwice(const std::vector<std::string>& ids) {
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  EXPECT_EQ(twice, ids.end()) << *twice << " is there twice";
}

void KillTest::ExpectCleanEnd() {
  if (GetParam().deletes_spool) {
    // The newest segment is kept (docs/join.md).
    EXPECT_TRUE(PollUntil(kPatienceSeconds, [&] {
      return ListSegments(deployment_.spool())->size() <= 1;
    }));
  }
  ASSERT_OK_AND_ASSIGN(const std::string metrics, deployment_.SidecarMetrics());
  EXPECT_GE(
      MetricSum(metrics, "sortition_sidecar_torn_bytes_total{of=\"spool\"}"),
      static_cast<double>(last_torn_bytes_));
  deployment_.sidecar().Signal(SIGTERM);
  EXPECT_EQ(deployment_.sidecar().Wait(kPatienceSeconds), 0);

  ASSERT_OK_AND_ASSIGN(const Output output, Output::Read(deployment_.tuples()));
  ExpectNoneTwice(output.decisions);
  ExpectNoneTwice(output.joined_feedback);
  for (const std::string& dir :
       {deployment_.tuples(), deployment_.tuples() + "/late"}) {
    EXPECT_OK(VisitRecords(dir, true, [](const auto&) {}));
  }
  const bool compresses = !GetParam().sidecar_flags.empty();
  ASSERT_OK_AND_ASSIGN(const auto names, ListSegments(deployment_.tuples()));
  EXPECT_EQ(absl::EndsWith(names.front(), kCompressedSuffix), compresses);
  uint64_t torn_bytes = 0;
  EXPECT_OK(VisitRecords(deployment_.spool(), true, [&](const auto& record) {
    torn_bytes += record.footer().torn_bytes();
  }));
  if (!GetParam().deletes_spool) {
    EXPECT_GE(torn_bytes, torn_bytes_);
  }
}

TEST_P(KillTest, WhatWasAcknowledgedIsInTheOutputOnce) {
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  StartServer();
  StartSidecar();
  SelectLoad load({.address = deployment_.address(), .has_feedback = true});
  RandomSequence random(SeedKey(11));
  for (size_t i = 0; i < NumKills(); ++i) {
    const uint64_t moment = load.num_answered() + 1 + random.Below(1000);
    ASSERT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load.num_answered() >= moment; }));
    ASSERT_NO_FATAL_FAILURE(
        KillAndRestart(kVictims[i % kVictims.size()], &load));
  }
  const uint64_t before_stop = load.num_answered();
  ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return load.num_answered() > before_stop + 500;
  }));
  load.Stop();
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);

  const std::vector<std::string> answered = Sorted(load.answered());
  const std::vector<std::string> reported = Sorted(load.reported());
  EXPECT_GT(reported.size(), answered.size() / 3);
  Output output;
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] {
                          auto read = Output::Read(deployment_.tuples());
                          if (!read.ok()) return false;
                          output = *std::move(read);
                          return HasAll(output.decisions, answered) &&
                                 HasAll(output.all_feedback, reported);
                        }))
      << answered.size() << " answered, " << output.decisions.size()
      << " tuples; " << reported.size() << " reported, "
      << output.all_feedback.size() << " in tuples or late";
  ExpectCleanEnd();
}

INSTANTIATE_TEST_SUITE_P(
    Spool, KillTest,
    testing::Values(KillCase{"Deleted", {}, true},
                    KillCase{"Power", {"--spool.durability=POWER"}, true},
                    KillCase{"Kept", {}, false},
                    KillCase{
                        "Compressed",
                        {},
                        true,
                        {"--compress=ZSTD", "--sync_interval_seconds=0.05"}}),
    [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace sortition
