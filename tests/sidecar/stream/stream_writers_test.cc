// Who a message is from: what a broker lets a publisher say about itself, and
// what it may not do to others.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "io/segments/record_frame.h"
#include "tests/sidecar/stream/stream_fixture.h"

namespace sortition::testing_stream {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class StreamWritersTest : public StreamTest {
 protected:
  // Publishes a message as the broker takes it.
  void Publish(const std::string& subject, const std::string& writer,
               const std::string& segment, const std::string& data = "data",
               const std::string& spool_id = "") {
    log::v1::StreamMessage message;
    message.set_writer_id(writer);
    message.set_segment(segment);
    message.set_data(data);
    message.set_spool_id(spool_id);
    broker_.messages.push_back({"", message.SerializeAsString(), subject});
  }
  // Returns a segment of one record, a header.
  static std::string HeaderOf(const std::string& writer, uint32_t version = 1) {
    log::v1::LogRecord record;
    record.mutable_header()->set_format_version(version);
    record.mutable_header()->set_writer_id(writer);
    std::string frame;
    AppendFrame(record.SerializeAsString(), &frame);
    return frame;
  }
  std::vector<std::string> Mirrored() {
    return ListDirectory(MirrorDir()).value();
  }
  std::unique_ptr<Shipper> NewShipperOf(const std::string& dir) {
    return std::make_unique<Shipper>(
        Shipper::Options{dir, "s", true, 0, 1 << 30}, &broker_stream_,
        &metrics_, [this] { return now_us_; }, [this] { return now_us_; });
  }
};

// Two servers have the default writer id. The second one's records stay in its
// spool, and it names the cause.
TEST_F(StreamWritersTest, ASecondSpoolOfTheSameWriterIsNotPublished) {
  const std::string dirs[] = {SpoolDir("first"), SpoolDir("second")};
  TestSpool first(dirs[0], "server", 1);
  TestSpool second(dirs[1], "server", 2);
  const auto shipper = NewShipperOf(dirs[0]);
  const auto rival = NewShipperOf(dirs[1]);
  const auto mirror = NewMirror();
  for (int i = 0; i < 200; ++i) {
    first.Append();
    second.Append();
    if (i % 20 == 19) first.Rotate();
    if (i % 30 == 29) second.Rotate();
    Ship(shipper.get());
    EXPECT_THAT(rival->Poll(),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("spool.writer_id"),
                               HasSubstr("s.server"), HasSubstr(dirs[1]))));
    Take(mirror.get());
    now_us_ += 1'000'000;
  }
  // The segments of the first are removed where they were published, and the
  // copy has them all; those of the second are there.
  EXPECT_EQ(SegmentsOf(CopyDir()).size(), 11u);
  EXPECT_EQ(SegmentsOf(dirs[1]).size(), 7u);
  EXPECT_EQ(Value("sortition_mirror_refused_total"), 0);
}

// The disk of a spool was lost: its server begins an empty one, which takes the
// place of the first once that has been silent for 30 s. The first, if it comes
// back, then finds that it is the second.
TEST_F(StreamWritersTest, ASpoolMayTakeThePlaceOfASilentOne) {
  const std::string dirs[] = {SpoolDir("first"), SpoolDir("second")};
  TestSpool first(dirs[0], "server", 1);
  first.Append();
  const auto shipper = NewShipperOf(dirs[0]);
  Ship(shipper.get());
  TestSpool second(dirs[1], "server", 2);
  for (int i = 0; i < 3; ++i) second.Rotate();
  second.Append();
  auto heir = NewShipperOf(dirs[1]);
  EXPECT_THAT(heir->Poll(), StatusIs(absl::StatusCode::kUnavailable));
  now_us_ += 29'000'000;
  EXPECT_THAT(heir->Poll(), StatusIs(absl::StatusCode::kUnavailable));
  now_us_ += 1'000'000;
  Ship(heir.get());
  first.Append();
  EXPECT_OK(shipper->Poll());  // Finds that its last message is not the newest.
  EXPECT_THAT(shipper->Poll(), StatusIs(absl::StatusCode::kUnavailable,
                                        HasSubstr("spool.writer_id")));
}

// A shipper that restarts, with or without its position, is no rival of itself.
TEST_F(StreamWritersTest, ARestartIsNoRival) {
  TestSpool spool(SpoolDir(), "server", 1);
  for (const bool is_lost : {false, true}) {
    spool.Append();
    auto shipper = NewShipper();
    Ship(shipper.get());
    if (is_lost) std::filesystem::remove(SpoolDir() + "/.published");
    spool.Append();
    shipper = NewShipper();
    Ship(shipper.get());
  }
  const auto mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
}

// Publishers of an older release do not look for others: what the mirror cannot
// put in order is counted, not taken for known.
TEST_F(StreamWritersTest, AnOlderSegmentOfAnotherSpoolIsRefused) {
  Publish("s.w", "w", "0000000000000005-w-000000.seg", HeaderOf("w"), "one");
  Publish("s.w", "w", "0000000000000003-w-000000.seg", HeaderOf("w"), "two");
  Publish("s.w", "w", "0000000000000003-w-000000.seg", HeaderOf("w"), "one");
  const auto mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(Value("sortition_mirror_refused_total"), 1);
  EXPECT_EQ(Value("sortition_mirror_redelivered_total"), 1);
}

// The broker checks subjects and not what messages say of themselves: a forged
// segment of another writer would make all that comes from it "known".
TEST_F(StreamWritersTest, AMessageIsOfTheWriterOfItsSubject) {
  TestSpool spool(SpoolDir(), "server", 1);
  const auto shipper = NewShipper();
  const auto mirror = NewMirror();
  Publish("s.intruder", "server", "ffffffffffffffff-server-000000.seg");
  Publish("other.server", "server", "ffffffffffffffff-server-000000.seg");
  Publish("s", "server", "ffffffffffffffff-server-000000.seg");
  Take(mirror.get());
  for (int i = 0; i < 300; ++i) spool.Append();
  Ship(shipper.get());
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir()), SegmentsOf(SpoolDir()));
  EXPECT_THAT(Mirrored(), UnorderedElementsAre(".position", "server"));
  EXPECT_EQ(Value("sortition_mirror_refused_total"), 3);
}

// Names of files of the mirror, and of other things than a directory.
TEST_F(StreamWritersTest, WritersWithForbiddenNamesAreRefused) {
  auto mirror = NewMirror();
  ASSERT_OK(WriteFile(MirrorDir() + "/sidecar.lock", ""));
  ASSERT_OK(WriteFile(MirrorDir() + "/notes", ""));
  for (const std::string writer :
       {"sidecar.lock", "x.tmp", ".position", "notes", "a/b", ".."}) {
    Publish("s." + writer, writer,
            absl::StrCat("0000000000000001-", writer, "-000000.seg"));
  }
  Publish("s.good", "good", "0000000000000001-good-000000.seg",
          HeaderOf("good"));
  for (int starts = 0; starts < 2; ++starts) {
    Take(mirror.get());
    EXPECT_THAT(Mirrored(), UnorderedElementsAre(".position", "sidecar.lock",
                                                 "notes", "good"));
    mirror.reset();
    mirror = NewMirror();
  }
  EXPECT_EQ(Value("sortition_mirror_refused_total"), 6);
}

// Each writer takes descriptors: too many of them once ended the consumer at
// every start.
TEST_F(StreamWritersTest, TooManyWritersAreRefusedAndNoOthers) {
  constexpr int kWriters = 1200;
  constexpr size_t kMaxWriters = 100;
  for (int i = 0; i < kWriters; ++i) {
    const std::string writer = absl::StrCat("w", i);
    Publish("s." + writer, writer,
            absl::StrCat("0000000000000001-", writer, "-000000.seg"),
            HeaderOf(writer));
  }
  Publish("s.w0", "w0", "0000000000000002-w0-000001.seg", HeaderOf("w0"));
  testing::internal::CaptureStderr();
  auto mirror = NewMirror();
  Take(mirror.get());
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(Mirrored().size(), kMaxWriters + 1);
  EXPECT_EQ(Value("sortition_mirror_refused_total"), kWriters - kMaxWriters);
  EXPECT_THAT(log, HasSubstr("consume.max_writers = 100"));
  mirror.reset();
  mirror = NewMirror();
  Take(mirror.get());
}

// The join would end at such headers.
TEST_F(StreamWritersTest, HeadersOfOthersAndOfLaterFormatsAreRefused) {
  const std::string segment = "0000000000000001-w-000000.seg";
  Publish("s.w", "w", segment, HeaderOf("v"));
  Publish("s.w", "w", segment, HeaderOf("w", 2));
  Publish("s.w", "w", segment, HeaderOf("w").substr(0, 20));
  const auto mirror = NewMirror();
  Take(mirror.get());
  EXPECT_EQ(Value("sortition_mirror_refused_total"), 3);
  EXPECT_THAT(Mirrored(), UnorderedElementsAre());
  Publish("s.w", "w", segment, HeaderOf("w"));
  Take(mirror.get());
  EXPECT_EQ(SegmentsOf(CopyDir("w")).size(), 1u);
}

}  // namespace
}  // namespace sortition::testing_stream
