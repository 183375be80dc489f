#include "process/tracing/span_exporter.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "io/clocks.h"
#include "process/log.h"
#include "process/repeated_log.h"
#include "process/tracing/otlp_json.h"

namespace sortition {
namespace {

using std::chrono::milliseconds;

// Longest time that a span waits for others to be sent with it.
constexpr milliseconds kExportDelay(500);
// Longest time that one export may take.
constexpr milliseconds kExportTime(5000);
// Attempts at one export; the wait before each doubles.
constexpr int kAttempts = 4;
constexpr milliseconds kFirstRetry(250);

}  // namespace

struct SpanExporter::Rep {
  Rep(Collector to, std::vector<SpanAttribute> from, size_t most)
      : collector(std::move(to)), resource(std::move(from)), max_spans(most) {}

  const Collector collector;
  const std::vector<SpanAttribute> resource;
  const size_t max_spans;

  std::mutex mutex;
  // All guarded by `mutex`.
  std::condition_variable changed;
  std::deque<Span> waiting;
  size_t num_sending = 0;
  bool is_stopping = false;
  bool is_done = false;  // The thread has ended.
  bool is_left = false;  // The exporter and its metrics are destroyed.
  MetricCounter* exported = nullptr;  // Null: not exposed; so are the next.
  MetricCounter* dropped_full = nullptr;
  MetricCounter* dropped_failed = nullptr;
  std::map<ExportOutcome, MetricCounter*> failures;
  RepeatedLog failure_log;

  void SetUp(Metrics* metrics);
  // The loop of the thread.
  void Run();
  // Waits for spans. Returns the next ones; none: it ends.
  std::vector<Span> Take(std::unique_lock<std::mutex>* lock);
  // Posts the spans, with further attempts if that helps.
  ExportResult Send(const std::vector<Span>& spans);
  // Waits before the next attempt. Returns false if there must not be one.
  bool WaitToRetry(milliseconds time);
  // Counts what became of an export. Requires `mutex`.
  void Count(const ExportResult& result, size_t num_spans);
};

void SpanExporter::Rep::SetUp(Metrics* metrics) {
  if (metrics == nullptr) return;
  exported = metrics->Counter("sortition_spans_exported_total",
                              "Spans that the collector has taken");
  const auto dropped = [metrics](const char* reason) {
    return metrics->Counter(
        "sortition_spans_dropped_total",
        "Spans that were not exported: the queue was full, or the export "
        "failed",
        {{"reason", reason}});
  };
  dropped_full = dropped("queue_full");
  dropped_failed = dropped("export_failed");
  for (const ExportOutcome outcome :
       {ExportOutcome::kUnreachable, ExportOutcome::kTimeout,
        ExportOutcome::kRejected, ExportOutcome::kOverloaded}) {
    failures[outcome] =
        metrics->Counter("sortition_span_export_failures_total",
                         "Attempts to send spans that failed",
                         {{"reason", std::string(OutcomeName(outcome))}});
  }
}

void SpanExporter::Rep::Run() {
  std::unique_lock lock(mutex);
  while (true) {
    const std::vector<Span> spans = Take(&lock);
    if (spans.empty()) break;
    lock.unlock();
    const ExportResult result = Send(spans);
    lock.lock();
    num_sending = 0;
    if (!is_left) Count(result, spans.size());
  }
  is_done = true;
  changed.notify_all();
}

std::vector<Span> SpanExporter::Rep::Take(std::unique_lock<std::mutex>* lock) {
  changed.wait(*lock, [this] { return is_stopping || !waiting.empty(); });
  changed.wait_for(*lock, kExportDelay, [this] {
    return is_stopping || waiting.size() >= kSpansPerExport;
  });
  const size_t count = std::min(waiting.size(), kSpansPerExport);
  const auto end = waiting.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<Span> spans(std::make_move_iterator(waiting.begin()),
                          std::make_move_iterator(end));
  waiting.erase(waiting.begin(), end);
  // They are in memory until they are sent.
  num_sending = count;
  return spans;
}

ExportResult SpanExporter::Rep::Send(const std::vector<Span>& spans) {
  const std::string body = OtlpJson(resource, spans);
  milliseconds wait = kFirstRetry;
  for (int attempt = 1;; ++attempt) {
    ExportResult result = collector.Post(body, kExportTime);
    if (!MayRetry(result.outcome) || attempt == kAttempts) return result;
    {
      const std::lock_guard lock(mutex);
      if (!is_left) Count(result, 0);
    }
    if (!WaitToRetry(wait)) return result;
    wait *= 2;
  }
}

bool SpanExporter::Rep::WaitToRetry(milliseconds time) {
  std::unique_lock lock(mutex);
  return !changed.wait_for(lock, time, [this] { return is_stopping; });
}

void SpanExporter::Rep::Count(const ExportResult& result, size_t num_spans) {
  if (result.outcome == ExportOutcome::kSent) {
    if (exported != nullptr) {
      exported->Increment(static_cast<double>(num_spans));
    }
    if (failure_log.End()) {
      LogInfo("the collector takes spans again",
              {{"endpoint", collector.address}});
    }
    return;
  }
  if (exported != nullptr) {
    failures[result.outcome]->Increment();
    dropped_failed->Increment(static_cast<double>(num_spans));
  }
  const uint64_t count = failure_log.Count(NowUs());
  if (count == 0) return;
  LogWarning("spans could not be exported",
             {{"endpoint", collector.address},
              {"reason", OutcomeName(result.outcome)},
              {"error", result.message},
              {"failures", count}});
}

SpanExporter::SpanExporter(Collector collector,
                           std::vector<SpanAttribute> resource,
                           size_t max_spans, Metrics* metrics)
    : rep_(std::make_shared<Rep>(std::move(collector), std::move(resource),
                                 max_spans)) {
  rep_->SetUp(metrics);
  std::thread([rep = rep_] { rep->Run(); }).detach();
}

SpanExporter::~SpanExporter() { Stop(); }

void SpanExporter::Add(std::vector<Span> spans) {
  const std::lock_guard lock(rep_->mutex);
  if (rep_->is_left) return;
  const size_t before = rep_->waiting.size();
  if (before + rep_->num_sending + spans.size() > rep_->max_spans) {
    if (rep_->dropped_full != nullptr) {
      rep_->dropped_full->Increment(static_cast<double>(spans.size()));
    }
    return;
  }
  for (Span& span : spans) rep_->waiting.push_back(std::move(span));
  // The thread waits for the first span, and then for a full batch.
  const bool is_full =
      before < kSpansPerExport && rep_->waiting.size() >= kSpansPerExport;
  if (before == 0 || is_full) rep_->changed.notify_all();
}

void SpanExporter::Stop() {
  std::unique_lock lock(rep_->mutex);
  if (rep_->is_left) return;
  rep_->is_stopping = true;
  rep_->changed.notify_all();
  rep_->changed.wait_for(lock, std::chrono::duration<double>(kFlushSeconds),
                         [this] { return rep_->is_done; });
  const size_t num_left = rep_->waiting.size() + rep_->num_sending;
  rep_->waiting.clear();
  rep_->is_left = true;
  if (num_left == 0) return;
  if (rep_->dropped_failed != nullptr) {
    rep_->dropped_failed->Increment(static_cast<double>(num_left));
  }
  LogWarning("the last spans were not exported in time",
             {{"endpoint", rep_->collector.address}, {"spans", num_left}});
}

}  // namespace sortition
