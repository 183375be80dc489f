// What the alerts say when the log is in trouble.
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "io/segments/segment.h"
#include "tests/deploy/monitoring/monitored_fixture.h"

namespace sortition {
namespace {

class LogAlertsTest : public MonitoredTest {
 protected:
  static constexpr uint32_t kFeatures = 8;
  LogAlertsTest() { Publish(SelectionModel(kFeatures, 0.1)); }

  // Is full after some seconds without a sidecar, and not half full with one.
  static std::vector<std::string> SmallSpool() {
    return {"--spool.segment_bytes=262144", "--spool.segment_seconds=0.3",
            "--spool.max_bytes=4194304"};
  }
  void StartJoin() { StartSidecar({JoinWindow(2)}); }
  // Up to 50 decisions of 16 kB a second, half of them with feedback.
  std::unique_ptr<Repeating> StartLoad() {
    return std::make_unique<Repeating>(
        [&](uint64_t i) {
          Select(i, 500, kFeatures);
          if (i % 2 == 0) Report(i, 1);
        },
        std::chrono::milliseconds(20));
  }

  // Flips a byte of a decision in a segment that is closed and was not read.
  void DamageSpool() {
    const auto names = ListSegments(deployment_.spool());
    ASSERT_OK(names);
    ASSERT_GT(names->size(), 2u);
    constexpr std::streamoff kInARecord = 4000;
    std::fstream file(
        absl::StrCat(deployment_.spool(), "/", (*names)[names->size() / 2]),
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
  StartJoin();
  StartPrometheus(true);
  const auto load = StartLoad();
  ExpectQuiet();
  deployment_.sidecar().Kill();
  ExpectFire({"SortitionDown", "SortitionSpoolFilling", "SortitionSpoolNotOk",
              "SortitionSpoolLosesRecords", "SortitionNotReady",
              "SortitionErrors"});
  StartJoin();
  // Decisions whose feedback may have been refused.
  ExpectFire({"SortitionCensoredTuples"});
  ExpectQuiet();
}

using LongLogAlertsTest = LogAlertsTest;

// The same with COUNT, and a damaged segment.
TEST_F(LongLogAlertsTest, GapsAndDamageAreReported) {
  std::vector<std::string> flags = SmallSpool();
  flags.push_back("--spool.when_full=COUNT");
  StartServer(flags);
  StartJoin();
  StartPrometheus(true);
  const auto load = StartLoad();
  ExpectQuiet();
  deployment_.sidecar().Kill();
  ExpectFire({"SortitionSpoolLosesRecords"});
  DamageSpool();
  StartJoin();
  ExpectFire({"SortitionDamagedRecords", "SortitionGaps"});
  ExpectQuiet();
}

}  // namespace
}  // namespace sortition
