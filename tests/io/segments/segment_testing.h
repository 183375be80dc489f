#pragma once
// Segments for the tests of io.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/segments/segment.h"
#include "io/segments/segment_writer.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Feedback on decision "d"; only the id differs.
log::v1::LogRecord FeedbackRecord(const std::string& id);

// Header of the first spool segment of writer "w".
log::v1::SegmentHeader SpoolHeader();

std::unique_ptr<SegmentWriter> NewSegment(const std::string& dir,
                                          uint64_t preallocate_bytes,
                                          const std::string& name = "1.seg");

// Writes a closed segment with these feedback records.
void WriteClosedSegment(const std::string& dir,
                        const std::vector<std::string>& ids);

// What a reader returns for a segment up to its present end.
struct Contents {
  std::vector<log::v1::LogRecord> records;  // Header and footer too.
  std::vector<uint64_t> offsets;            // Where the frames begin.
  std::vector<uint64_t> corrupt_offsets;
  uint64_t corrupt_bytes = 0;
  SegmentReader::Outcome end = SegmentReader::Outcome::kEnd;

  // The ids of the feedback and decision records, in order.
  std::vector<std::string> Ids() const;
};
Contents ReadAll(SegmentReader* reader);
Contents ReadAll(const std::string& path);

std::string ReadBytes(const std::string& path);
void WriteBytes(const std::string& path, const std::string& bytes);

}  // namespace sortition
