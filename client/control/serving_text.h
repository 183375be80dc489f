#pragma once
// States of serving as text for people, and shares of traffic from text.
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/serving.pb.h"
#include "sortition/v1/models.pb.h"

namespace sortition {

// Returns the state in one line: "pinned to 7; 8 has 1 %; label canary is 8".
std::string ServingText(const model::v1::Serving& serving);

// What a request needs: "46" features, or "3 columns".
std::string InputText(const v1::ModelStatus& status);

// Returns `text`, of which anyone with access to the store may be the author,
// with control characters as in "\\x0a": it cannot pretend to be further lines.
std::string OneLine(absl::string_view text);

// Returns a line for each entry of the store that is passed over: "not a
// version: ads/v2: …". `kind` is "version" or "model", `folder` is "ads/" or
// "".
std::string IgnoredText(
    absl::string_view kind, absl::string_view folder,
    const google::protobuf::RepeatedPtrField<v1::IgnoredEntry>& ignored);

// Returns a change of a state: "change 3, 2026-11-24T10:00:00Z, ops: reason".
std::string ChangeText(const model::v1::Serving& serving);

// Returns "2026-11-24 10:00:00Z"; empty for 0.
std::string TimeText(int64_t time_us);

// Returns parts of 10,000 of a share such as "1%" or "0.25%". InvalidArgument
// unless it is a whole number of parts in [1, 10000].
absl::StatusOr<uint32_t> ParseShare(absl::string_view text);

}  // namespace sortition
