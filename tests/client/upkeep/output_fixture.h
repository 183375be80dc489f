#pragma once
// Directories of segments as sidecars write them.
#include <memory>
#include <vector>

#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "sortition/log/v1/log.pb.h"
#include "tests/testing/refusals.h"
#include "tests/testing/temp_dir.h"

namespace sortition {

class OutputFixture : public testing::Test {
 protected:
  static log::v1::LogRecord Tuple(const std::string& id, int64_t time_us,
                                  const std::string& unit = "") {
    log::v1::LogRecord record;
    log::v1::BanditTuple& tuple = *record.mutable_tuple();
    tuple.mutable_position()->set_segment("s");
    tuple.mutable_position()->set_offset(static_cast<uint64_t>(time_us));
    tuple.set_reward(0.5);
    tuple.set_keep_probability(0.25);
    tuple.add_censored(log::v1::LOST);
    tuple.mutable_decision()->set_decision_id(id);
    tuple.mutable_decision()->set_time_us(time_us);
    tuple.mutable_decision()->set_unit_id(unit);
    tuple.mutable_decision()->add_dense_values(1);
    return record;
  }

  // Writes a segment that begins at `time_us`, and returns its path. It is
  // closed unless `open` is set, which then gets its writer.
  static std::string Write(
      const std::string& dir, int64_t time_us,
      const std::vector<log::v1::LogRecord>& records,
      const std::string& options_text = "",
      log::v1::SegmentHeader::Kind kind = log::v1::SegmentHeader::TUPLES,
      std::unique_ptr<SegmentWriter>* open = nullptr) {
    SegmentWriter::Options options;
    options.dir = dir;
    options.name = SegmentName(time_us, "tuples", 0);
    options.header.set_format_version(1);
    options.header.set_kind(kind);
    options.header.set_writer_id("tuples");
    options.header.set_options(options_text);
    options.header.set_created_time_us(time_us);
    auto writer = SegmentWriter::Create(options);
    EXPECT_OK(writer);
    for (const auto& record : records) EXPECT_OK((*writer)->Append(record));
    if (open == nullptr) {
      EXPECT_OK((*writer)->Close());
    } else {
      *open = *std::move(writer);
    }
    return dir + "/" + options.name;
  }

  // Returns all records in order, the header of each segment first.
  static std::vector<log::v1::LogRecord> Read(const std::string& dir) {
    std::vector<log::v1::LogRecord> records;
    const auto names = ListSegments(dir);
    EXPECT_OK(names);
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      auto reader = SegmentReader::Open(dir + "/" + name);
      EXPECT_OK(reader);
      absl::string_view payload;
      uint64_t offset = 0;
      while (*(*reader)->Next(&payload, &offset) ==
             SegmentReader::Outcome::kRecord) {
        EXPECT_TRUE(records.emplace_back().ParseFromArray(
            payload.data(), static_cast<int>(payload.size())));
      }
    }
    return records;
  }

  const TempDir root_;
};

}  // namespace sortition
