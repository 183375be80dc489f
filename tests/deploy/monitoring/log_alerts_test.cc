// What the alerts say when the log is in trouble.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/segments/segment.h"
#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

class LogAlertsTest : public MonitoredTest {
 protected:
  // The log is full after some seconds without a sidecar.
  static std::vector<std::string> SmallSpool() {
    return {"--spool.segment_bytes=65536", "--spool.segment_seconds=0.3",
            "--spool.max_bytes=2097152"};
  }
  // Decisions of some 3 kB, half of them with feedback.
  void Ask(uint64_t i) {
    Select(i, 100, 8);
    if (i % 2 == 0) Report(i, 1);
  }

  // Flips a byte of a record in the oldest segment, which is closed.
  void DamageSpool() {
    const auto names = ListSegments(deployment_.spool());
    ASSERT_OK(names);
    ASSERT_GT(names->size(), 2u);
    constexpr std::streamoff kInARecord = 4000;
    std::fstream file(absl::StrCat(deployment_.spool(), "/", names->front()),
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(kInARecord);
    const char byte = static_cast<char>(file.get() ^ 0x55);
    file.seekp(kInARecord);
    file.put(byte);
    ASSERT_TRUE(file.good());
  }
};

// The sidecar is killed under load, and comes back when the log is full.
TEST_F(LogAlertsTest, KilledSidecarFillsTheSpool) {
  StartServer(SmallSpool());
  StartSidecar({JoinWindow(0.5)});
  StartPrometheus(true);
  const Repeating load([&](uint64_t i) { Ask(i); });
  ExpectQuiet();
  deployment_.sidecar().Kill();
  ExpectFire({"SortitionDown", "SortitionSpoolFilling", "SortitionSpoolNotOk",
              "SortitionSpoolLosesRecords", "SortitionNotReady",
              "SortitionErrors"});
  StartSidecar({JoinWindow(0.5)});
  // Decisions whose feedback may have been refused.
  ExpectFire({"SortitionCensoredTuples"});
  ExpectQuiet();
}

// The same with COUNT, and a damaged segment.
TEST_F(LogAlertsTest, GapsAndDamageAreReported) {
  std::vector<std::string> flags = SmallSpool();
  flags.push_back("--spool.when_full=COUNT");
  StartServer(flags);
  StartSidecar({JoinWindow(0.5)});
  StartPrometheus(true);
  const Repeating load([&](uint64_t i) { Ask(i); });
  ExpectQuiet();
  deployment_.sidecar().Kill();
  ExpectFire({"SortitionSpoolLosesRecords"});
  DamageSpool();
  StartSidecar({JoinWindow(0.5)});
  ExpectFire({"SortitionDamagedRecords", "SortitionGaps"});
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
