#include "sidecar/run_stream.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "io/clocks.h"
#include "io/spool/find_spools.h"
#include "process/log.h"
#include "process/repeated_log.h"
#include "sidecar/segment_sequence.h"
#include "sidecar/stream/nats_stream.h"
#include "sidecar/stream/shipper.h"

namespace sortition {
namespace {

constexpr double kRetrySeconds = 0.2;
constexpr double kFetchSeconds = 0.2;
// Longest work after a signal; the rest stays in the spool.
constexpr int64_t kDrainUs = 5000000;

// Logs the first of several failures in a row, then one a minute, and their
// end.
class FailureLog {
 public:
  explicit FailureLog(const char* what) : what_(what) {}

  void Failed(const absl::Status& status) {
    const uint64_t failures = lines_.Count(SteadyUs());
    if (failures == 0) return;
    LogWarning(what_, {{"error", std::string(status.message())},
                       {"failures", failures}});
  }
  void Worked() {
    if (lines_.End()) LogInfo("the stream works again");
  }

 private:
  const char* const what_;
  RepeatedLog lines_;
};

bool WillPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsResourceExhausted(status);
}

// Publishes until there is nothing more now. Unavailable if the stream does not
// take it.
absl::Status PublishAll(Shipper* shipper,
                        const std::function<bool()>& must_stop) {
  bool is_busy = true;
  while (is_busy && !must_stop()) {
    ASSIGN_OR_RETURN(is_busy, shipper->Poll());
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateStreamOptions(const config::v1::SidecarOptions& options) {
  const bool publishes = !options.publish().url().empty();
  const bool consumes = !options.consume().url().empty();
  if (publishes && consumes) {
    return absl::InvalidArgumentError(
        "publish.url and consume.url: only one may be set");
  }
  if (!publishes && options.tuples().empty()) {
    return absl::InvalidArgumentError(
        "flag --tuples: required unless publish.url is set");
  }
  if (publishes &&
      (options.spool_size() != 1 || IsSpoolPattern(options.spool(0)))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "flag --spool = '", absl::StrJoin(options.spool(), ","),
        "': must be one directory if publish.url is set: a sidecar for each"));
  }
  if (consumes == options.mirror().empty()) {
    return absl::InvalidArgumentError(
        "consume.url and mirror must be set both or not at all");
  }
  return absl::OkStatus();
}

absl::Status RunShipper(const config::v1::SidecarOptions& options,
                        Metrics* metrics,
                        const std::function<bool(double)>& wait_for_stop) {
  const std::string& spool = options.spool(0);
  RETURN_IF_ERROR(MakeDirectories(spool));
  ASSIGN_OR_RETURN(const DirectoryLock lock, DirectoryLock::Take(spool));
  const config::v1::PublishOptions& publish = options.publish();
  NatsStreamOptions nats{
      .url = publish.url(),
      .stream = publish.stream(),
      .durable = "",
      .nats = options.nats(),
      .make_stream = true,
      .replicas = publish.replicas(),
      .max_bytes = publish.max_bytes(),
      .duplicate_window_seconds = publish.duplicate_window_seconds()};
  ASSIGN_OR_RETURN(const std::unique_ptr<MessageStream> stream,
                   OpenNatsStream(std::move(nats)));
  Shipper shipper({.spool = spool,
                   .stream = publish.stream(),
                   .delete_spool = options.delete_spool(),
                   .keep_seconds = publish.keep_seconds(),
                   .keep_bytes = publish.keep_bytes()},
                  stream.get(), metrics, NowUs, SteadyUs);
  LogInfo(
      "sidecar publishes",
      {{"spool", spool}, {"url", publish.url()}, {"stream", publish.stream()}});
  FailureLog failures("the stream takes no messages; the spool keeps them");
  while (!wait_for_stop(0)) {
    const absl::Status status =
        PublishAll(&shipper, [&] { return wait_for_stop(0); });
    if (status.ok()) {
      failures.Worked();
    } else if (WillPass(status)) {
      failures.Failed(status);
    } else {
      return status;
    }
    wait_for_stop(status.ok() ? options.poll_seconds() : kRetrySeconds);
  }
  const int64_t end_us = SteadyUs() + kDrainUs;
  const absl::Status status =
      PublishAll(&shipper, [&] { return SteadyUs() >= end_us; });
  LogInfo("sidecar stopped",
          {{"drained", status.ok() && shipper.is_drained()}});
  return status.ok() || WillPass(status) ? absl::OkStatus() : status;
}

absl::StatusOr<std::unique_ptr<MirrorThread>> MirrorThread::Start(
    const config::v1::SidecarOptions& options, Metrics* metrics) {
  const config::v1::ConsumeOptions& consume = options.consume();
  if (consume.url().empty()) return nullptr;
  RETURN_IF_ERROR(MakeDirectories(options.mirror()));
  std::unique_ptr<MirrorThread> thread(new MirrorThread);
  ASSIGN_OR_RETURN(thread->lock_, DirectoryLock::Take(options.mirror()));
  NatsStreamOptions nats{.url = consume.url(),
                         .stream = consume.stream(),
                         .durable = consume.durable(),
                         .nats = options.nats()};
  ASSIGN_OR_RETURN(thread->stream_, OpenNatsStream(std::move(nats)));
  ASSIGN_OR_RETURN(
      thread->mirror_,
      StreamMirror::Open({.dir = options.mirror(),
                          .stream = consume.stream(),
                          .retain_seconds = consume.retain_seconds(),
                          .max_silence_seconds = consume.max_silence_seconds(),
                          .max_writers = consume.max_writers()},
                         thread->stream_.get(), metrics, SteadyUs));
  thread->failures_ =
      metrics->Counter("sortition_mirror_failures_total",
                       "Attempts to read the stream that failed");
  LogInfo("sidecar reads a stream", {{"url", consume.url()},
                                     {"stream", consume.stream()},
                                     {"mirror", options.mirror()}});
  thread->thread_ = std::thread([mirror = thread.get()] { mirror->Run(); });
  return thread;
}

MirrorThread::~MirrorThread() { Stop(); }

void MirrorThread::Stop() {
  must_stop_ = true;
  if (thread_.joinable()) thread_.join();
}

absl::Status MirrorThread::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

void MirrorThread::Run() {
  FailureLog failures("the stream cannot be read");
  while (!must_stop_) {
    const absl::StatusOr<size_t> taken = mirror_->Poll(kFetchSeconds);
    if (taken.ok()) {
      failures.Worked();
      continue;
    }
    failures_->Increment();
    if (!WillPass(taken.status())) {
      const std::lock_guard lock(mutex_);
      status_ = taken.status();
      return;
    }
    failures.Failed(taken.status());
    poll(nullptr, 0, static_cast<int>(kRetrySeconds * 1e3));
  }
}

}  // namespace sortition
