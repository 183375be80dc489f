#pragma once
// A spool, a broker, and a mirror in one directory.
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "io/files.h"
#include "io/segments/segment.h"
#include "io/spool/writer_state.h"
#include "process/metrics.h"
#include "sidecar/stream/shipper.h"
#include "sidecar/stream/stream_mirror.h"
#include "tests/sidecar/spool_testing.h"
#include "tests/sidecar/stream/fake_stream.h"
#include "tests/testing/status_matchers.h"
#include "tests/testing/temp_dir.h"

namespace sortition::testing_stream {

// Longer than the interval of 10 s at which a shipper checks the stream.
inline constexpr int64_t kLongUs = 11'000'000;

// Returns the contents of all segments of a spool by name, up to the last whole
// record.
inline std::map<std::string, std::string> SegmentsOf(const std::string& dir) {
  std::map<std::string, std::string> segments;
  const auto names = ListSegments(dir);
  if (!names.ok()) return segments;
  for (const std::string& name : *names) {
    const auto reader = SegmentReader::Open(dir + "/" + name);
    EXPECT_OK(reader);
    SegmentReader::Outcome outcome = SegmentReader::Outcome::kRecord;
    while (outcome == SegmentReader::Outcome::kRecord ||
           outcome == SegmentReader::Outcome::kCorrupt) {
      absl::string_view payload;
      uint64_t offset = 0;
      outcome = (*reader)->Next(&payload, &offset).value();
    }
    segments[name] =
        ReadFile(dir + "/" + name).value().substr(0, (*reader)->offset());
  }
  return segments;
}

// A server's spool under control. Records differ in size up to some 20 kB.
class TestSpool {
 public:
  TestSpool(std::string dir, std::string writer, uint32_t seed)
      : dir_(std::move(dir)), writer_(std::move(writer)), random_(seed) {
    Rotate();
  }

  void Append() {
    log::v1::LogRecord record = testing_sidecar::DecisionRecord(
        absl::StrCat("d", num_records_), 1000 + num_records_);
    ++num_records_;
    record.mutable_decision()->set_model(
        std::string(random_() % 8 == 0 ? 20000 : random_() % 300, 'm'));
    ASSERT_OK(segment_->Append(record));
  }
  // Begins another segment; the one before is closed, or left as by a dead
  // writer.
  void Rotate(bool dies = false) {
    if (segment_ != nullptr && !dies) Close(false);
    segment_.reset();
    segment_ = testing_sidecar::NewSegment(dir_, 1000 + num_segments_,
                                           num_segments_, writer_);
    ++num_segments_;
  }
  void Close(bool is_last = true) { ASSERT_OK(segment_->Close(is_last)); }
  void SayState(const WriterState& state) {
    ASSERT_OK(
        WriteFile(dir_ + "/" + kWriterLockFile, EncodeWriterState(state)));
  }

 private:
  const std::string dir_;
  const std::string writer_;
  std::mt19937 random_;
  std::unique_ptr<SegmentWriter> segment_;
  uint64_t num_segments_ = 0;
  int num_records_ = 0;
};

class StreamTest : public testing::Test {
 protected:
  StreamTest() : broker_stream_(&broker_), mirror_stream_(&broker_) {}

  std::string SpoolDir(const std::string& writer = "server") const {
    return directory_ / ("spool-" + writer);
  }
  std::string MirrorDir() const { return directory_ / "mirror"; }
  std::string CopyDir(const std::string& writer = "server") const {
    return MirrorDir() + "/" + writer;
  }
  std::unique_ptr<Shipper> NewShipper(const std::string& writer = "server",
                                      bool deletes = false,
                                      double keep_seconds = 0,
                                      uint64_t keep_bytes = 1 << 30) {
    return std::make_unique<Shipper>(
        Shipper::Options{SpoolDir(writer), "s", deletes, keep_seconds,
                         keep_bytes},
        &broker_stream_, &metrics_, [this] { return now_us_; },
        [this] { return now_us_; });
  }
  std::unique_ptr<StreamMirror> NewMirror(double retain_seconds = -1) {
    auto mirror = StreamMirror::Open({MirrorDir(), "s", retain_seconds, 3600},
                                     &mirror_stream_, &metrics_,
                                     [this] { return now_us_; });
    EXPECT_OK(mirror);
    return *std::move(mirror);
  }
  // Publishes all that is there.
  void Ship(Shipper* shipper) {
    for (int i = 0; i < 100000; ++i) {
      const absl::StatusOr<bool> is_busy = shipper->Poll();
      if (is_busy.ok() && !*is_busy) return;
    }
    FAIL() << "no end";
  }
  void Take(StreamMirror* mirror) {
    for (int i = 0; i < 100000; ++i) {
      const absl::StatusOr<size_t> taken = mirror->Poll(0);
      ASSERT_OK(taken);
      if (*taken == 0) return;
    }
    FAIL() << "no end";
  }
  double Value(const std::string& counter) {
    return metrics_.Counter(counter, "")->value();
  }

  TempDir directory_{FastParent()};
  FakeBroker broker_;
  FakeStream broker_stream_;
  FakeStream mirror_stream_;
  Metrics metrics_;
  int64_t now_us_ = 1'000'000'000;
};

}  // namespace sortition::testing_stream
