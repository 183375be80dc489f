// The disk of a mirror: full, failing, without power.
#include <cerrno>
#include <memory>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sidecar/stream/stream_fixture.h"
#include "tests/testing/file_faults.h"

namespace sortition::testing_stream {
namespace {

TEST_F(StreamTest, FullDiskIsWaitedFor) {
  TestSpool spool(SpoolDir(), "server", 1);
  const auto shipper = NewShipper();
  for (int i = 0; i < 50; ++i) spool.Append();
  Ship(shipper.get());
  const auto mirror = NewMirror();
  {
    FileFault::Options options;
    options.path = CopyDir() + "/0";
    options.error = ENOSPC;
    options.skip = 3;
    const FileFault full(options);
    EXPECT_THAT(mirror->Poll(0),
                StatusIs(absl::StatusCode::kResourceExhausted));
    EXPECT_THAT(mirror->Poll(0),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
}

// A second fdatasync would say that all is well. A new process cuts back to
// what is known to be on the disk.
TEST_F(StreamTest, FailedSyncEndsTheMirrorAndLosesNothing) {
  for (const int error : {EIO, ENOSPC}) {
    const std::string writer = absl::StrCat("w", error);
    TestSpool spool(SpoolDir(writer), writer, 2);
    const auto shipper = NewShipper(writer);
    auto mirror = NewMirror();
    FakeDisk disk(CopyDir(writer) + "/0");
    spool.Append();
    Ship(shipper.get());
    Take(mirror.get());
    for (int i = 0; i < 50; ++i) spool.Append();
    Ship(shipper.get());
    {
      FileFault::Options options;
      options.call = FileCall::kSync;
      options.path = CopyDir(writer) + "/0";
      options.error = error;
      options.count = 1;
      options.forgets = true;
      const FileFault fault(options);
      EXPECT_THAT(mirror->Poll(0), StatusIs(absl::StatusCode::kInternal));
    }
    mirror.reset();
    mirror = NewMirror();
    Take(mirror.get());
    EXPECT_EQ(SegmentsOf(CopyDir(writer)), SegmentsOf(SpoolDir(writer)));
  }
}

// What was acknowledged is there, and what the writer is heard to say is not
// ahead of it.
TEST_F(StreamTest, PowerMayFailAtAnyTime) {
  for (uint32_t seed = 0; seed < 10; ++seed) {
    std::mt19937 random(seed);
    const std::string writer = absl::StrCat("w", seed);
    TestSpool spool(SpoolDir(writer), writer, seed);
    const auto shipper = NewShipper(writer);
    auto mirror = NewMirror();
    FakeDisk disk(CopyDir(writer) + "/0");
    for (int step = 0; step < 200; ++step) {
      now_us_ += 50000;
      spool.Append();
      if (random() % 30 == 0) spool.Rotate();
      if (random() % 2 == 0) Ship(shipper.get());
      std::unique_ptr<FileFault> fault;
      if (random() % 20 == 0) {
        // It takes some messages, and then the power fails.
        FileFault::Options options;
        options.path = CopyDir(writer) + "/0";
        options.error = EIO;
        options.skip = static_cast<int>(random() % 4);
        fault = std::make_unique<FileFault>(options);
      }
      if (mirror->Poll(0).ok()) continue;
      fault.reset();
      mirror.reset();
      disk.CutPower(CopyDir(writer));
      mirror = NewMirror();
    }
    Ship(shipper.get());
    Take(mirror.get());
    EXPECT_EQ(SegmentsOf(CopyDir(writer)), SegmentsOf(SpoolDir(writer)))
        << seed;
  }
  EXPECT_EQ(Value("sortition_mirror_missing_total"), 0);
}

}  // namespace
}  // namespace sortition::testing_stream
