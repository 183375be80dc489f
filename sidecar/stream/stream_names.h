#pragma once
// Names in a stream. They come from outside and become file names.
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/stream.pb.h"

namespace sortition {

// Returns the writer id in a segment's name (SegmentName()); empty if it is no
// such name.
std::string WriterOfSegment(absl::string_view segment);

// Returns the writer whose spool is published to `subject`, which is
// "<stream>.<writer id>". InvalidArgument if that cannot be a writer: its copy
// is a directory of this name beside the files of the mirror.
absl::StatusOr<std::string> WriterOfSubject(absl::string_view subject,
                                            absl::string_view stream);

// InvalidArgument unless the message is of `writer` and of one of its segments.
absl::Status ValidateNames(absl::string_view writer,
                           const log::v1::StreamMessage& message);

}  // namespace sortition
