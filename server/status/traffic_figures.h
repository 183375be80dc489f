#pragma once
// What metrics say of calls, decisions and drift, as figures of status.proto.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

// What metrics say of the versions of a model. The samples are those of the
// metrics that were grouped.
struct ModelSamples {
  std::vector<const MetricSample*> answers;  // That were OK.
  std::vector<const MetricSample*> drift;
  double decisions = 0;  // Of all versions.
};
using SamplesByModel = std::map<std::string, ModelSamples>;

// Groups by model, in one pass.
SamplesByModel GroupByModel(const MetricSamples& now);

// Adds decisions and drift of the versions of a model. `now`: the metrics that
// the samples are of.
void AddTraffic(const MetricSamples& now, const MetricWindow::Before& minute,
                const ModelSamples& samples, status::v1::Model* model);
void AddDrift(const ModelSamples& samples, status::v1::Model* model);

// Adds calls, refusals and decisions since `last`; of the versions those that
// decided most.
void AddTrafficSeries(const MetricSamples& now,
                      const MetricWindow::Before& last, HistorySample* sample);

}  // namespace sortition
