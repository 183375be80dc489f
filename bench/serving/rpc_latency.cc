#include "bench/serving/rpc_latency.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/serving/open_loop.h"
#include "bench/support/statistics.h"
#include "core/base/status_macros.h"
#include "process/drawing/band_chart.h"
#include "process/json_writer.h"

namespace sortition {
namespace {

constexpr double kMostRatio = 1.3;
constexpr double kShown[] = {0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999};

// Requires ascending latencies, at least one.
double Quantile(const std::vector<double>& latencies, double share) {
  const auto count = static_cast<double>(latencies.size());
  return latencies[std::min(static_cast<size_t>(share * count),
                            latencies.size() - 1)];
}

BandChart::Series SeriesOf(const std::string& name,
                           const std::vector<double>& latencies) {
  BandChart::Series series{.name = name};
  for (const double share : kShown) {
    const double value = Quantile(latencies, share);
    series.spots.push_back({1 / (1 - share), value, value, value});
  }
  return series;
}

}  // namespace

absl::Status MeasureLatencies(const v1::RankRequest& request,
                              const LatencyOptions& options,
                              LatencyComparison* comparison) {
  const OpenLoopOptions open = {
      .method = "/sortition.v1.Ranking/Rank",
      .request = request.SerializeAsString(),
      .channels = options.channels,
      .requests_per_second = comparison->requests_per_second,
      .warmup_seconds = 0.5,
      .seconds = options.seconds};
  std::vector<double> ratios;
  for (int pair = 0; pair < options.pairs; ++pair) {
    double p99 = 0;
    double echo_p99 = 0;
    for (const bool subject : {pair % 2 == 0, pair % 2 != 0}) {
      ASSIGN_OR_RETURN(
          const OpenLoopResult result,
          RunOpenLoop(subject ? comparison->port : comparison->echo_port,
                      open));
      const std::vector<double>& latencies = result.milliseconds;
      if (result.refused + result.expired > 0 || result.failed > 0) {
        return absl::UnavailableError(absl::StrCat(
            result.refused, " requests refused and ", result.expired,
            " expired per second, ", result.failed, " failed"));
      }
      (subject ? p99 : echo_p99) = Quantile(latencies, 0.99);
      auto& all = subject ? comparison->latencies : comparison->echo_latencies;
      all.insert(all.end(), latencies.begin(), latencies.end());
    }
    ratios.push_back(p99 / echo_p99);
  }
  std::sort(comparison->latencies.begin(), comparison->latencies.end());
  std::sort(comparison->echo_latencies.begin(),
            comparison->echo_latencies.end());
  comparison->p99_ratio = MedianOf(std::move(ratios));
  return absl::OkStatus();
}

void PrintLatencies(const std::vector<LatencyComparison>& comparisons) {
  absl::PrintF("%-16s %6s %8s %8s %8s %8s  %8s %8s %8s %8s\n", "open loop",
               "load", "req/s", "p50 ms", "p99 ms", "p99.9", "echo p50",
               "p99 ms", "p99.9", "p99 ratio");
  for (const LatencyComparison& c : comparisons) {
    if (!c.is_measured()) continue;
    absl::PrintF(
        "%-16s %6.2f %8.0f %8.3f %8.3f %8.3f  %8.3f %8.3f %8.3f %8.2f\n",
        c.name, c.share, c.requests_per_second, Quantile(c.latencies, 0.5),
        Quantile(c.latencies, 0.99), Quantile(c.latencies, 0.999),
        Quantile(c.echo_latencies, 0.5), Quantile(c.echo_latencies, 0.99),
        Quantile(c.echo_latencies, 0.999), c.p99_ratio);
  }
}

std::vector<Target> LatencyTargets(
    const std::vector<LatencyComparison>& comparisons) {
  std::vector<Target> targets;
  for (const LatencyComparison& c : comparisons) {
    targets.push_back({absl::StrFormat("p99 of %s at %.0f %% load / echo",
                                       c.name, 100 * c.share),
                       c.p99_ratio, kMostRatio});
  }
  return targets;
}

std::string LatenciesJson(const std::vector<LatencyComparison>& comparisons) {
  JsonWriter json;
  json.BeginArray();
  for (const LatencyComparison& c : comparisons) {
    if (!c.is_measured()) continue;
    json.BeginObject();
    json.Key("subject").String(c.name).Key("load").Number(c.share);
    json.Key("requests_per_second").Number(c.requests_per_second);
    json.Key("p99_ratio").Number(c.p99_ratio);
    for (const auto& [key, latencies] :
         {std::pair{"milliseconds", &c.latencies},
          std::pair{"echo_milliseconds", &c.echo_latencies}}) {
      json.Key(key).BeginObject();
      for (const double share : kShown) {
        json.Key(absl::StrCat("p", 100 * share))
            .Number(Quantile(*latencies, share));
      }
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndArray();
  return json.text();
}

std::string DrawLatencies(const std::vector<LatencyComparison>& comparisons) {
  BandChart chart{.title = "Latencies under an open load",
                  .x_name = "share of requests",
                  .y_name = "milliseconds",
                  .logarithmic = true};
  for (const double share : kShown) {
    chart.x_ticks.push_back(
        {-std::log10(1 - share), absl::StrFormat("%g %%", 100 * share)});
  }
  for (const LatencyComparison& c : comparisons) {
    if (!c.is_measured()) continue;
    const std::string load = absl::StrFormat(", %.0f %%", 100 * c.share);
    chart.series.push_back(SeriesOf(c.name + load, c.latencies));
    chart.series.push_back(
        SeriesOf(absl::StrCat("echo, ", c.name, load), c.echo_latencies));
  }
  constexpr Panel kPanel{60, 40, 600, 320};
  Svg svg(700, kPanel.y + kPanel.height + 60 +
                   BandChartLegendHeight(chart, kPanel.width));
  DrawBandChart(chart, kPanel, &svg);
  return std::move(svg).Finish();
}

}  // namespace sortition
