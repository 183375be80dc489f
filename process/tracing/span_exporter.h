#pragma once
// Sends spans to a collector in the background.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "process/metrics.h"
#include "process/tracing/collector.h"
#include "process/tracing/span.h"

namespace sortition {

// A bounded queue with one thread, which posts batches of at most
// kSpansPerExport spans, at most kExportDelay after a span was added. Add()
// never waits for the collector: if it is slow or away, spans wait in the
// queue, and further spans are dropped and counted. An export is tried again,
// for some seconds, if the collector could not be reached or asked for that;
// otherwise its spans are dropped.
//
// Thread-safe.
class SpanExporter {
 public:
  static constexpr size_t kSpansPerExport = 512;

  // `resource` describes the program. At most `max_spans` spans wait.
  // `metrics` must outlive the exporter; null: the counts are not exposed.
  SpanExporter(Collector collector, std::vector<SpanAttribute> resource,
               size_t max_spans, Metrics* metrics);
  // Calls Stop().
  ~SpanExporter();
  SpanExporter(const SpanExporter&) = delete;
  SpanExporter& operator=(const SpanExporter&) = delete;

  // Queues the spans: all of them, or none if there is not enough room.
  void Add(std::vector<Span> spans);

  // Waits until all spans are sent or dropped, at most kFlushSeconds, and ends.
  // Spans that are left then are dropped, and so are those that are added
  // later. A thread that still waits for the collector is left behind; it
  // touches nothing outside the exporter's own memory.
  void Stop();
  static constexpr double kFlushSeconds = 1;

 private:
  struct Rep;
  const std::shared_ptr<Rep> rep_;  // Shared with the thread.
};

}  // namespace sortition
