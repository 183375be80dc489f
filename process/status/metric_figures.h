#pragma once
// Figures that follow from metrics read once, or at two times.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "process/metrics.h"
#include "sortition/status/v1/status.pb.h"

namespace sortition {

// Returns the samples of a metric; none where there is no such metric.
const std::vector<MetricSample>& SamplesOf(const MetricSamples& samples,
                                           const std::string& name);
// Returns a label's value, empty where there is none.
const std::string& LabelOf(const MetricSample& sample,
                           const std::string& label);
// Null where there is none with exactly these labels. Searches by halves: the
// samples ascend by their labels, as Metrics::Read() returns them.
const MetricSample* FindSample(const MetricSamples& samples,
                               const std::string& name,
                               const MetricLabels& labels);
// Returns the value of a counter or gauge, 0 where there is none.
double ValueOf(const MetricSamples& samples, const std::string& name,
               const MetricLabels& labels);

// Returns what has come to a counter since `before`; all, where it was not
// there before or has begun again.
double IncreaseOf(const MetricSamples& now, const MetricSamples& before,
                  const std::string& name, const MetricLabels& labels);
// The same of each bin of a histogram; empty where there is none now.
std::vector<uint64_t> BinIncreases(const MetricSamples& now,
                                   const MetricSamples& before,
                                   const std::string& name,
                                   const MetricLabels& labels);

// Returns the value below which a share `probability`, in (0, 1), of the values
// in the bins is, as if they were spread evenly in each bin; the first one
// begins at 0. Of the last one, which has no end, only its beginning is known.
// 0 where the bins are empty.
double QuantileOfBins(std::span<const double> bounds,
                      std::span<const uint64_t> counts, double probability);

// Copies a histogram.
void SetHistogram(const MetricSample& sample, status::v1::Histogram* histogram);

}  // namespace sortition
