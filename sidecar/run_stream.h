#pragma once
// The sidecar at either end of a stream.
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "sidecar/directory_lock.h"
#include "sidecar/stream/message_stream.h"
#include "sidecar/stream/stream_mirror.h"
#include "sortition/config/v1/sidecar.pb.h"

namespace sortition {

// InvalidArgument if the options of streams do not fit together.
absl::Status ValidateStreamOptions(const config::v1::SidecarOptions& options);

// Publishes the spool until `wait_for_stop` returns true, and then what is left
// of it.
absl::Status RunShipper(const config::v1::SidecarOptions& options,
                        Metrics* metrics,
                        const std::function<bool(double)>& wait_for_stop);

// Fills the mirror in a thread of its own. It keeps the copies locked: destroy
// it after whatever follows them.
class MirrorThread {
 public:
  // Returns null if the options name no stream to read.
  static absl::StatusOr<std::unique_ptr<MirrorThread>> Start(
      const config::v1::SidecarOptions& options, Metrics* metrics);
  ~MirrorThread();

  // Takes no more messages.
  void Stop();
  // An error if the mirror cannot be written.
  absl::Status status() const;

 private:
  MirrorThread() = default;
  void Run();

  DirectoryLock lock_;
  std::unique_ptr<MessageStream> stream_;
  std::unique_ptr<StreamMirror> mirror_;
  MetricCounter* failures_ = nullptr;
  std::atomic<bool> must_stop_{false};
  mutable std::mutex mutex_;
  absl::Status status_;  // Guarded by `mutex_`.
  std::thread thread_;
};

}  // namespace sortition
