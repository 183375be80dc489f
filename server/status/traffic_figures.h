#pragma once
// What metrics say of calls, decisions and drift, as figures of status.proto.
#include <cstdint>
#include <string>

#include "process/metrics.h"
#include "process/status/history.h"
#include "server/status/metric_window.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// The metrics of which earlier values are needed.
inline constexpr const char* kComparedMetrics[] = {
    "sortition_requests_total", "sortition_request_seconds",
    "sortition_requests_refused_total", "sortition_spool_refused_total",
    "sortition_version_answers_total"};

// Sets methods and refusals of the server, rates and percentiles since
// `minute`.
void SetCalls(const MetricSamples& now, const MetricWindow::Before& minute,
              status::v1::Server* server);

// Adds the decisions and the drift of the versions of `model`, by its name.
void AddTraffic(const MetricSamples& now, const MetricWindow::Before& minute,
                status::v1::Model* model);
void AddDrift(const MetricSamples& now, status::v1::Model* model);

// Adds calls, refusals and decisions since `last`.
void AddTrafficSeries(const MetricSamples& now,
                      const MetricWindow::Before& last, HistorySample* sample);

}  // namespace sortition
