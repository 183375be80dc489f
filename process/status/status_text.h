#pragma once
// The text of /status.json, and the parts of it that every process has.
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Returns the text, or, where it is not UTF-8, one with '?' in place of every
// byte that is not ASCII: strings of protos are UTF-8.
std::string Utf8Text(absl::string_view text);

// Sets process and warnings. `role`: "server" or "sidecar".
void SetProcess(absl::string_view role, int64_t now_us,
                status::v1::Status* status);

// Returns the JSON form of the status, which has no history: field names as in
// the proto, and all fields that are not messages.
std::string StatusJson(const status::v1::Status& status);
// Returns the same with a history, in the JSON form of History::Json(); empty:
// none.
std::string WithHistory(std::string status_json, absl::string_view history);

// Whether `query`, what comes after '?' in an address, asks for the history: it
// does unless it has history=0.
bool WantsHistory(absl::string_view query);

// A text that is made anew once in a while, and shared by all who ask for it.
// Thread-safe.
class SharedText {
 public:
  explicit SharedText(std::chrono::milliseconds age) : age_(age) {}

  // Returns what `make` returned last, if that is not older than `age`; calls
  // it otherwise. Others wait meanwhile.
  std::string Get(absl::FunctionRef<std::string()> make);

 private:
  const std::chrono::milliseconds age_;
  std::mutex mutex_;
  bool is_made_ = false;  // Guarded by `mutex_`, as are the next.
  std::chrono::steady_clock::time_point time_;
  std::string text_;
};

}  // namespace sortition
