#pragma once
// What /status.json of a sidecar says (status.proto). The pipeline tells it
// what happens; two threads make text and history, while somebody asks.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Thread-safe. Sums start anew with the process, at Sidecar.since_us.
class SidecarStatusSource {
 public:
  // `now_us`: the time of the start, microseconds since the epoch.
  static std::unique_ptr<SidecarStatusSource> Create(int64_t now_us);
  ~SidecarStatusSource();

  // Takes a tuple that was written and is not censored: `tuple` without its
  // decision, and the serialised Decision, of which features are not read.
  void AddTuple(const log::v1::BanditTuple& tuple, absl::string_view decision);

  // Takes the figures as they are now, all but the worths and since_us, and
  // every 5 seconds a sample of the history. `steady_us`: the time of a clock
  // that is never set.
  void Update(const status::v1::Sidecar& figures, int64_t now_us,
              int64_t steady_us);

  // Returns the Status as JSON. It is made anew once a second at most, whoever
  // asks. `query` is that of the address: "history=0" leaves the history out.
  std::string Json(absl::string_view query = "");

 private:
  struct Rep;
  explicit SidecarStatusSource(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace sortition
