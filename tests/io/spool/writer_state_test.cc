#include "io/spool/writer_state.h"

#include "gtest/gtest.h"
#include "io/files.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

WriterState SomeState() {
  return {.newest_segment_us = 0x123456789abc,
          .alive_us = 2,
          .trouble_since_us = 3,
          .durable_us = 4,
          .is_closed = true,
          .boot_id = "01234567-89ab-cdef-0123-456789abcdef"};
}

TEST(WriterStateTest, ComesBackAsItWas) {
  EXPECT_EQ(DecodeWriterState(EncodeWriterState(SomeState())), SomeState());
  EXPECT_EQ(DecodeWriterState(EncodeWriterState({})), WriterState{});
  WriterState without_boot = SomeState();
  without_boot.boot_id = "";
  EXPECT_EQ(DecodeWriterState(EncodeWriterState(without_boot)), without_boot);
}

// It is overwritten in place.
TEST(WriterStateTest, HasOneLength) {
  const size_t length = EncodeWriterState({}).size();
  EXPECT_EQ(EncodeWriterState(SomeState()).size(), length);
  WriterState extreme = SomeState();
  extreme.alive_us = extreme.durable_us = INT64_MAX;
  extreme.boot_id = std::string(100, 'b');
  EXPECT_EQ(EncodeWriterState(extreme).size(), length);
}

// Each byte of a line that is half of one state and half of another.
TEST(WriterStateTest, DistrustsATornLine) {
  const std::string line = EncodeWriterState(SomeState());
  WriterState other_state = SomeState();
  other_state.alive_us = 77;
  const std::string other = EncodeWriterState(other_state);
  const WriterState only_newest{.newest_segment_us = 0x123456789abc};
  int num_torn = 0;
  for (size_t i = 0; i <= line.size(); ++i) {
    const std::string torn = line.substr(0, i) + other.substr(i);
    if (torn == line || torn == other) continue;
    ++num_torn;
    EXPECT_EQ(DecodeWriterState(torn), only_newest) << i;
  }
  EXPECT_GT(num_torn, 10);
}

TEST(WriterStateTest, OfACopyHasTwoLines) {
  WriterState copy = SomeState();
  copy.seen_us = 99;
  const std::string lines = EncodeWriterState(copy);
  EXPECT_EQ(lines.substr(0, EncodeWriterState(SomeState()).size()),
            EncodeWriterState(SomeState()));
  EXPECT_EQ(DecodeWriterState(lines), copy);
  // Half of a later state: neither line may be believed.
  WriterState later = copy;
  later.alive_us = 100;
  later.seen_us = 101;
  const std::string other = EncodeWriterState(later);
  for (size_t i = 0; i <= lines.size(); ++i) {
    const std::string torn = other.substr(0, i) + lines.substr(i);
    if (torn == lines || torn == other) continue;
    EXPECT_EQ(DecodeWriterState(torn).alive_us, 0) << i;
  }
}

TEST(WriterStateTest, ReadsTheLineOfAnOlderServer) {
  EXPECT_EQ(DecodeWriterState("0000000000000abc"),
            WriterState{.newest_segment_us = 0xabc});
  EXPECT_EQ(DecodeWriterState(""), WriterState{});
  EXPECT_EQ(DecodeWriterState("nonsense that is long enough"), WriterState{});
}

TEST(WriterStateTest, AbsentFileHasNoState) {
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const WriterState absent, ReadWriterState(dir.path()));
  EXPECT_EQ(absent, WriterState{});
  ASSERT_OK(WriteFile(dir / kWriterLockFile, EncodeWriterState(SomeState())));
  ASSERT_OK_AND_ASSIGN(const WriterState state, ReadWriterState(dir.path()));
  EXPECT_EQ(state, SomeState());
}

}  // namespace
}  // namespace sortition
