#pragma once
// How the rewards of a tuple segment were joined.
#include <string>

#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Returns the options of the join that say what a reward means, as "SUM of 600
// s, default 0": two segments with the same text were joined in the same way.
// Empty where no sidecar joined them: converted and imported tuples.
std::string RewardJoinText(const log::v1::SegmentHeader& header);
// The same of the text form of a sidecar's options.
std::string RewardJoinText(const std::string& options_text);

// Returns the time, in seconds, that the sidecar waits for rewards of a
// decision before it writes the tuple; 0 where no sidecar joined them.
double RewardWaitSeconds(const log::v1::SegmentHeader& header);

}  // namespace sortition
