#pragma once
// What the sidecar that a server names last said of itself.
#include <cstdint>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// InvalidArgument unless `json` is the Status of a sidecar, not larger than a
// sidecar makes it, and with numbers that a sidecar can have.
absl::StatusOr<status::v1::Sidecar> ParseSidecar(const std::string& json);

// Thread-safe.
class SidecarFigures {
 public:
  // An answer that is older is shown no more, microseconds.
  static constexpr int64_t kOldestUs = 10'000'000;

  // `address`: host:port; empty: there is no sidecar to ask.
  explicit SidecarFigures(std::string address) : address_(std::move(address)) {}

  // Asks the sidecar, for a second at most but for the look-up of a name. Times
  // are of a clock that is never set.
  void Ask(int64_t (*steady_us)());

  // Takes an answer, or why there is none, which names the sidecar.
  void Take(absl::StatusOr<status::v1::Sidecar> answer, int64_t steady_us);

  // Sets sidecar, or else sidecar_problem; neither where there is no sidecar to
  // ask.
  void Fill(int64_t steady_us, status::v1::Status* status) const;

 private:
  const std::string address_;
  mutable std::mutex mutex_;
  bool has_answer_ = false;  // Guarded by `mutex_`, as are the next.
  int64_t answer_us_ = 0;
  status::v1::Sidecar sidecar_;
  std::string problem_ = "not asked yet";
};

}  // namespace sortition
