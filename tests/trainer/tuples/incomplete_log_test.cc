// A log that says that it is incomplete is refused, unless it is allowed.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/segment_writer.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {
namespace {

using testing::HasSubstr;

class IncompleteLogTest : public testing::Test {
 protected:
  IncompleteLogTest() {
    SegmentWriter::Options options;
    options.dir = dir_.path();
    options.name = SegmentName(1, "tuples", 0);
    options.preallocate_bytes = 65536;
    options.header.set_format_version(1);
    options.header.set_kind(log::v1::SegmentHeader::TUPLES);
    auto writer = SegmentWriter::Create(options);
    EXPECT_OK(writer);
    Append(writer->get(), [](log::v1::LogRecord* record) {
      record->mutable_tuple()->mutable_decision()->set_decision_id("x");
    });
    // 2026-01-01 00:00:00 is 1767225600 s.
    AppendMark(writer->get(), 1767225600, 1767225660);
    AppendMark(writer->get(), 1767225540, 1767225550);
    EXPECT_OK((*writer)->Close());
  }

  template <typename Fill>
  static void Append(SegmentWriter* writer, Fill fill) {
    log::v1::LogRecord record;
    fill(&record);
    EXPECT_OK(writer->Append(record));
  }
  static void AppendMark(SegmentWriter* writer, int64_t first, int64_t last) {
    Append(writer, [&](log::v1::LogRecord* record) {
      log::v1::Incomplete& mark = *record->mutable_incomplete();
      mark.set_first_time_us(first * 1000000);
      mark.set_last_time_us(last * 1000000);
      mark.set_foreign_feedback(600);
      mark.set_unknown_feedback(17);
      mark.set_feedback(1000);
    });
  }
  absl::Status Scan(bool allow_incomplete) {
    num_tuples_ = 0;
    const auto log =
        TupleLog::Open(dir_.path(), {.allow_incomplete = allow_incomplete});
    EXPECT_OK(log);
    TupleCounts counts;
    return ScanTuples(
        *log,
        [this](const log::v1::BanditTuple&) {
          ++num_tuples_;
          return absl::OkStatus();
        },
        &counts);
  }

  const TempDir dir_;
  int num_tuples_ = 0;
};

TEST_F(IncompleteLogTest, IsRefusedWithReasonAndTimes) {
  const absl::Status status = Scan(false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      status.message(),
      HasSubstr("is incomplete: 1200 feedback of 2000 are for decisions "
                "of servers whose spools were not read, 34 for unknown "
                "ones, from 2025-12-31 23:59:00Z to 2026-01-01 "
                "00:01:00Z"));
  EXPECT_THAT(status.message(), HasSubstr("--allow_incomplete"));
}

TEST_F(IncompleteLogTest, IsReadIfThatIsAllowed) {
  EXPECT_OK(Scan(true));
  EXPECT_EQ(num_tuples_, 1);
}

}  // namespace
}  // namespace sortition
