#pragma once
// Names in a stream. They come from outside and become file names.
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/stream.pb.h"

namespace sortition {

// Returns the writer id in a segment's name (SegmentName()); empty if it is no
// such name.
std::string WriterOfSegment(absl::string_view segment);

// InvalidArgument if the message names what cannot be a writer or its segment.
absl::Status ValidateNames(const log::v1::StreamMessage& message);

}  // namespace sortition
