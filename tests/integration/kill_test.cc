// kill -9 of server and sidecar at any moment: every answered decision is in
// the tuples exactly once, and every segment can be read to its end.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

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

class KillTest : public testing::TestWithParam<bool> {
 protected:
  bool delete_spool() const { return GetParam(); }

  void StartServer() {
    ASSERT_OK(deployment_.StartServer(
        {"--spool.segment_bytes=262144", "--spool.segment_seconds=0.3"}));
  }
  void StartSidecar() {
    ASSERT_OK(deployment_.StartSidecar(
        {"--join.reward_wait_time_seconds=0.2", "--join.slack_seconds=0.1",
         "--segment_bytes=262144", "--segment_seconds=0.3",
         delete_spool() ? "--delete_spool" : "--no-delete_spool"}));
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

  Deployment deployment_;
  uint64_t torn_bytes_ = 0;       // In all tears.
  uint64_t last_torn_bytes_ = 0;  // Found by the last sidecar.
};

std::vector<std::string> Sorted(std::vector<std::string> values) {
  std::sort(values.begin(), values.end());
  return values;
}

TEST_P(KillTest, AnsweredDecisionsBecomeOneTupleEach) {
  ASSERT_OK(deployment_.store().Publish(SelectionModel(8, 0.1), nullptr, {}));
  StartServer();
  StartSidecar();
  SelectLoad load({.address = deployment_.address()});
  RandomSequence random(SeedKey(delete_spool() ? 11 : 12));
  for (const Victim victim : kVictims) {
    const uint64_t moment = load.num_answered() + 1 + random.Below(3000);
    ASSERT_TRUE(PollUntil(kPatienceSeconds,
                          [&] { return load.num_answered() >= moment; }));
    ASSERT_NO_FATAL_FAILURE(KillAndRestart(victim, &load));
  }
  const uint64_t before_stop = load.num_answered();
  ASSERT_TRUE(PollUntil(kPatienceSeconds, [&] {
    return load.num_answered() > before_stop + 500;
  }));
  load.Stop();
  deployment_.server().Signal(SIGTERM);
  EXPECT_EQ(deployment_.server().Wait(kPatienceSeconds), 0);

  const std::vector<std::string> answered = Sorted(load.answered());
  std::vector<std::string> tuples;
  EXPECT_TRUE(PollUntil(kPatienceSeconds,
                        [&] {
                          absl::StatusOr<std::vector<std::string>> ids =
                              TupleIds(deployment_.tuples());
                          if (!ids.ok()) return false;
                          tuples = Sorted(*std::move(ids));
                          return std::includes(tuples.begin(), tuples.end(),
                                               answered.begin(),
                                               answered.end());
                        }))
      << answered.size() << " answered, " << tuples.size() << " tuples";
  if (delete_spool()) {
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

  // No tuple came twice, and each segment is whole, those of dead writers
  // included.
  ASSERT_OK_AND_ASSIGN(tuples, TupleIds(deployment_.tuples()));
  tuples = Sorted(std::move(tuples));
  EXPECT_EQ(std::adjacent_find(tuples.begin(), tuples.end()), tuples.end());
  EXPECT_OK(VisitRecords(deployment_.tuples(), true, [](const auto&) {}));
  uint64_t torn_bytes = 0;
  EXPECT_OK(VisitRecords(deployment_.spool(), true, [&](const auto& record) {
    torn_bytes += record.footer().torn_bytes();
  }));
  if (!delete_spool()) {
    EXPECT_GE(torn_bytes, torn_bytes_);
  }
}

INSTANTIATE_TEST_SUITE_P(Spool, KillTest, testing::Values(true, false),
                         [](const auto& parameter) {
                           return parameter.param ? "Deleted" : "Kept";
                         });

}  // namespace
}  // namespace sortition
