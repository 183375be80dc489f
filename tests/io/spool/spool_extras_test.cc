// Records that a spool takes only where they harm nobody.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/io/spool/spool_writer_fixture.h"
#include "tests/testing/file_faults.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

using config::v1::SpoolOptions;

std::vector<log::v1::LogRecord> View(const std::string& id, int size = 1) {
  std::vector<log::v1::LogRecord> records(1);
  log::v1::ShadowView& view = *records[0].mutable_shadow_view();
  view.set_decision_id(id);
  for (int i = 0; i < size; ++i) view.add_mode(i);
  return records;
}

class SpoolExtrasTest : public SpoolWriterTest {
 protected:
  // One letter for each record: d decision, v view, g gap.
  std::string Kinds() {
    std::string kinds;
    for (const log::v1::LogRecord& record : Records()) {
      if (record.has_header() || record.has_footer()) continue;
      kinds += record.has_decision()      ? 'd'
               : record.has_shadow_view() ? 'v'
               : record.has_gap()         ? 'g'
                                          : '?';
    }
    return kinds;
  }
};

TEST_F(SpoolExtrasTest, AreBehindWhatWasAppendedBefore) {
  const auto writer = Open();
  ASSERT_OK(writer->AppendDecision(SmallDecision("a"), Values(3)));
  EXPECT_TRUE(writer->TryAppend(View("a")));
  ASSERT_OK(writer->AppendDecision(SmallDecision("b"), Values(3)));
  EXPECT_EQ(writer->stats().records, 3u);
  ASSERT_OK(writer->Close());
  EXPECT_FALSE(writer->TryAppend(View("b")));
  EXPECT_EQ(Kinds(), "dvd");
}

TEST_F(SpoolExtrasTest, RotateSegmentsAsOthersDo) {
  const auto writer = Open();
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(writer->TryAppend(View(absl::StrCat(i), 2000)));
  }
  ASSERT_OK(writer->Close());
  EXPECT_GT(Segments().size(), 2u);
  EXPECT_EQ(Kinds(), std::string(100, 'v'));
}

// Half of the room is left to what must not be lost.
TEST_F(SpoolExtrasTest, EndWhereTheSpoolIsHalfFull) {
  for (const auto when_full : {SpoolOptions::REFUSE, SpoolOptions::COUNT}) {
    options_.set_dir(dir_ / absl::StrCat("spool-", when_full));
    options_.set_max_bytes(262144);
    options_.set_when_full(when_full);
    const auto writer = Open();
    int taken = 0;
    while (writer->TryAppend(View("a", 500))) ++taken;
    EXPECT_GT(taken, 50);
    EXPECT_LE(writer->stats().spool_bytes, 131072u);
    for (int i = 0; i < 10; ++i) {
      ASSERT_OK(writer->AppendDecision(SmallDecision("d"), Values(2000)));
    }
    EXPECT_FALSE(writer->TryAppend(View("a")));
    EXPECT_EQ(writer->stats().refused, 0u);
    EXPECT_EQ(writer->stats().lost, 0u);
    ASSERT_OK(writer->Close());
    // No gap: nothing is missing.
    EXPECT_EQ(Kinds(), std::string(static_cast<size_t>(taken), 'v') +
                           std::string(10, 'd'));
  }
}

// What is to be saved goes first, and the views of that time are no gap.
TEST_F(SpoolExtrasTest, AreNotTakenWhileTheDiskFails) {
  options_.set_when_full(SpoolOptions::COUNT);
  options_.set_max_bytes(200000);
  const auto writer = Open();
  const std::vector<float> values = Values(2000);
  while (writer->stats().lost == 0) {
    ASSERT_OK(writer->AppendDecision(SmallDecision("d"), values));
  }
  const uint64_t lost = writer->stats().lost;
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(writer->TryAppend(View("d")));
  EXPECT_EQ(writer->stats().lost, lost);
  ASSERT_OK(writer->Close());
}

// Nobody waits for the disk, also where answers do.
TEST_F(SpoolExtrasTest, WaitForNoDisk) {
  options_.set_durability(SpoolOptions::POWER);
  options_.set_sync_interval_seconds(3600);
  const auto writer = Open();
  const SyncStall stall;
  EXPECT_TRUE(writer->TryAppend(View("a")));
  EXPECT_EQ(writer->stats().waiting, 0u);
}

}  // namespace
}  // namespace sortition
