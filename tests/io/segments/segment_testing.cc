#include "tests/io/segments/segment_testing.h"

#include <fstream>
#include <sstream>

#include "gtest/gtest.h"

namespace sortition {

log::v1::LogRecord FeedbackRecord(const std::string& id) {
  log::v1::LogRecord record;
  record.mutable_feedback()->set_feedback_id(id);
  record.mutable_feedback()->set_decision_id("d");
  record.mutable_feedback()->set_reward(1);
  return record;
}

log::v1::SegmentHeader SpoolHeader() {
  log::v1::SegmentHeader header;
  header.set_format_version(1);
  header.set_kind(log::v1::SegmentHeader::SPOOL);
  header.set_writer_id("w");
  header.set_first_sequence(40);
  return header;
}

std::unique_ptr<SegmentWriter> NewSegment(const std::string& dir,
                                          uint64_t preallocate_bytes,
                                          const std::string& name) {
  SegmentWriter::Options options;
  options.dir = dir;
  options.name = name;
  options.preallocate_bytes = preallocate_bytes;
  options.header = SpoolHeader();
  auto writer = SegmentWriter::Create(options);
  EXPECT_TRUE(writer.ok()) << writer.status();
  return *std::move(writer);
}

void WriteClosedSegment(const std::string& dir,
                        const std::vector<std::string>& ids) {
  const auto writer = NewSegment(dir, 4096);
  for (const std::string& id : ids) {
    const absl::Status status = writer->Append(FeedbackRecord(id));
    EXPECT_TRUE(status.ok()) << status;
  }
  const absl::Status status = writer->Close();
  EXPECT_TRUE(status.ok()) << status;
}

std::vector<std::string> Contents::Ids() const {
  std::vector<std::string> ids;
  for (const log::v1::LogRecord& record : records) {
    if (record.has_feedback()) ids.push_back(record.feedback().feedback_id());
    if (record.has_decision()) ids.push_back(record.decision().decision_id());
  }
  return ids;
}

Contents ReadAll(SegmentReader* reader) {
  Contents contents;
  while (true) {
    absl::string_view payload;
    uint64_t offset = 0;
    const auto outcome = reader->Next(&payload, &offset);
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    if (!outcome.ok()) return contents;
    switch (*outcome) {
      case SegmentReader::Outcome::kRecord:
        EXPECT_TRUE(contents.records.emplace_back().ParseFromArray(
            payload.data(), static_cast<int>(payload.size())));
        contents.offsets.push_back(offset);
        break;
      case SegmentReader::Outcome::kCorrupt:
        contents.corrupt_offsets.push_back(offset);
        contents.corrupt_bytes += payload.size();
        break;
      case SegmentReader::Outcome::kEnd:
      case SegmentReader::Outcome::kIncomplete:
        contents.end = *outcome;
        return contents;
    }
  }
}

Contents ReadAll(const std::string& path) {
  const auto reader = SegmentReader::Open(path);
  EXPECT_TRUE(reader.ok()) << reader.status();
  return reader.ok() ? ReadAll(reader->get()) : Contents();
}

std::string ReadBytes(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace sortition
