#pragma once
// The text of /status.json, and the parts of it that every process has.
#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Returns the text, or, where it is not UTF-8, one with '?' in place of every
// byte that is not ASCII: strings of protos are UTF-8.
std::string Utf8Text(absl::string_view text);
// Returns the same, cut to about kKeptBytes: nobody reads more on a page.
std::string ShownText(absl::string_view text);

// Sets process and warnings. `role`: "server" or "sidecar".
void SetProcess(absl::string_view role, int64_t now_us,
                status::v1::Status* status);

// Returns the JSON form of the status, which has no history: field names as in
// the proto, and all fields that are not messages.
std::string StatusJson(const status::v1::Status& status);
// Returns the same with a history, in the JSON form of History::Json(); empty:
// none.
std::string WithHistory(std::string status_json, absl::string_view history);

// Returns the JSON of a process that has not told its figures yet.
std::string JsonBeforeTheFirst(absl::string_view role, int64_t now_us);

// Whether `query`, what comes after '?' in an address, asks for the history: it
// does unless it has history=0.
bool WantsHistory(absl::string_view query);

}  // namespace sortition
