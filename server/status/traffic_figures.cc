#include "server/status/traffic_figures.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "process/status/metric_figures.h"
#include "process/status/status_text.h"

namespace sortition {
namespace {

constexpr char kRequests[] = "sortition_requests_total";
constexpr char kSeconds[] = "sortition_request_seconds";
constexpr char kRefused[] = "sortition_requests_refused_total";
constexpr char kSpoolRefused[] = "sortition_spool_refused_total";
constexpr char kAnswers[] = "sortition_version_answers_total";
constexpr char kOk[] = "OK";

// Most series of one kind in the history.
constexpr size_t kMostMethods = 12;
constexpr size_t kMostVersions = 16;

uint64_t Whole(double value) { return static_cast<uint64_t>(value); }

uint64_t VersionOf(const MetricSample& sample) {
  uint64_t version = 0;
  return absl::SimpleAtoi(LabelOf(sample, "version"), &version) ? version : 0;
}

void SetMethod(const MetricSample& latency, const MetricSamples& now,
               const MetricWindow::Before& minute, status::v1::Method* method) {
  method->set_method(LabelOf(latency, "method"));
  double answers = 0;
  for (const MetricSample& code : SamplesOf(now, kRequests)) {
    if (LabelOf(code, "method") != method->method()) continue;
    status::v1::Count& count = *method->add_codes();
    count.set_name(LabelOf(code, "code"));
    count.set_count(Whole(code.value));
    answers += IncreaseOf(now, *minute.samples, kRequests, code.labels);
  }
  method->set_per_second(answers / minute.seconds);
  const std::vector<uint64_t> bins =
      BinIncreases(now, *minute.samples, kSeconds, latency.labels);
  const auto quantile = [&](double probability) {
    return QuantileOfBins(latency.bounds, bins, probability);
  };
  method->set_p50_seconds(quantile(0.5));
  method->set_p90_seconds(quantile(0.9));
  method->set_p99_seconds(quantile(0.99));
  method->set_p999_seconds(quantile(0.999));
}

// Returns refusals by reason, each once. Overload and the log have reasons of
// their own, and do not count as a status.
std::map<std::string, double> Refusals(const MetricSamples& now) {
  std::map<std::string, double> refusals;
  double overload = 0;
  for (const MetricSample& sample : SamplesOf(now, kRefused)) {
    overload += sample.value;
    refusals[absl::StrCat("overload: ", LabelOf(sample, "reason"))] +=
        sample.value;
  }
  for (const MetricSample& sample : SamplesOf(now, kSpoolRefused)) {
    refusals["log"] += sample.value;
  }
  for (const MetricSample& sample : SamplesOf(now, kRequests)) {
    const std::string& code = LabelOf(sample, "code");
    if (code != kOk) refusals[code] += sample.value;
  }
  // The log refuses with RESOURCE_EXHAUSTED where it is full, as overload does,
  // and with UNAVAILABLE where the disk fails. Others answer UNAVAILABLE, too.
  const double exhausted = refusals["RESOURCE_EXHAUSTED"];
  refusals.erase("RESOURCE_EXHAUSTED");
  const double full = std::max(0.0, exhausted - overload);
  double& unavailable = refusals["UNAVAILABLE"];
  unavailable -= std::clamp(refusals["log"] - full, 0.0, unavailable);
  return refusals;
}

// Returns how many more there are of all `codes` than before.
double AnswersSince(const MetricSamples& now, const MetricSamples& before,
                    bool is_ok) {
  double answers = 0;
  for (const MetricSample& sample : SamplesOf(now, kRequests)) {
    if ((LabelOf(sample, "code") == kOk) != is_ok) continue;
    answers += IncreaseOf(now, before, kRequests, sample.labels);
  }
  return answers;
}

void AddMethodSeries(const MetricSample& latency, const MetricSamples& now,
                     const MetricWindow::Before& last, HistorySample* sample) {
  const std::vector<uint64_t> bins =
      BinIncreases(now, *last.samples, kSeconds, latency.labels);
  double calls = 0;
  for (const uint64_t bin : bins) calls += static_cast<double>(bin);
  const MetricLabels& labels = latency.labels;
  (*sample)[{"requests_per_second", labels, "1/s"}] = {.value = calls /
                                                                last.seconds};
  if (calls == 0) return;
  (*sample)[{"p50_seconds", labels, "s"}] = {
      .value = QuantileOfBins(latency.bounds, bins, 0.5)};
  (*sample)[{"p99_seconds", labels, "s"}] = {
      .value = QuantileOfBins(latency.bounds, bins, 0.99)};
}

// Adds the versions that have decided most since `last`, or else in all.
void AddVersionSeries(const MetricSamples& now,
                      const MetricWindow::Before& last, HistorySample* sample) {
  struct Version {
    double since_last;
    double in_all;
    const MetricSample* answers;
  };
  std::vector<Version> versions;
  for (const MetricSample& answers : SamplesOf(now, kAnswers)) {
    if (LabelOf(answers, "code") != kOk || answers.value == 0) continue;
    versions.push_back(
        {IncreaseOf(now, *last.samples, kAnswers, answers.labels),
         answers.value, &answers});
  }
  std::stable_sort(versions.begin(), versions.end(),
                   [](const Version& a, const Version& b) {
                     return std::tie(a.since_last, a.in_all) >
                            std::tie(b.since_last, b.in_all);
                   });
  versions.resize(std::min(versions.size(), kMostVersions));
  for (const Version& version : versions) {
    MetricLabels labels = version.answers->labels;
    labels.erase("code");
    (*sample)[{"decisions_per_second", labels, "1/s"}] = {
        .value = version.since_last / last.seconds};
  }
}

uint64_t CountOf(const MetricSample& histogram) {
  uint64_t count = 0;
  for (const uint64_t bin : histogram.counts) count += bin;
  return count;
}

}  // namespace

void SetCalls(const MetricSamples& now, const MetricWindow::Before& minute,
              status::v1::Server* server) {
  for (const MetricSample& latency : SamplesOf(now, kSeconds)) {
    SetMethod(latency, now, minute, server->add_methods());
  }
  for (const auto& [name, value] : Refusals(now)) {
    if (value == 0) continue;
    status::v1::Count& refusal = *server->add_refusals();
    refusal.set_name(name);
    refusal.set_count(Whole(value));
  }
}

SamplesByModel GroupByModel(const MetricSamples& now) {
  SamplesByModel models;
  for (const MetricSample& answers : SamplesOf(now, kAnswers)) {
    if (LabelOf(answers, "code") != kOk) continue;
    ModelSamples& model = models[LabelOf(answers, "model")];
    model.answers.push_back(&answers);
    model.decisions += answers.value;
  }
  for (const MetricSample& drift : SamplesOf(now, "sortition_drift")) {
    models[LabelOf(drift, "model")].drift.push_back(&drift);
  }
  return models;
}

void AddTraffic(const MetricSamples& now, const MetricWindow::Before& minute,
                const ModelSamples& samples, status::v1::Model* model) {
  for (const MetricSample* const answers : samples.answers) {
    MetricLabels labels = answers->labels;
    labels.erase("code");
    status::v1::Traffic& traffic = *model->add_traffic();
    traffic.set_version(VersionOf(*answers));
    traffic.set_decisions(Whole(answers->value));
    traffic.set_abstentions(
        Whole(ValueOf(now, "sortition_version_abstentions_total", labels)));
    traffic.set_decisions_per_second(
        IncreaseOf(now, *minute.samples, kAnswers, answers->labels) /
        minute.seconds);
    if (const MetricSample* const found =
            FindSample(now, "sortition_version_propensity", labels)) {
      SetHistogram(*found, traffic.mutable_propensities());
    }
    if (const MetricSample* const found =
            FindSample(now, "sortition_version_entropy_nats", labels)) {
      SetHistogram(*found, traffic.mutable_entropies());
    }
  }
  std::sort(
      model->mutable_traffic()->begin(), model->mutable_traffic()->end(),
      [](const auto& a, const auto& b) { return a.version() > b.version(); });
}

void AddDrift(const ModelSamples& samples, status::v1::Model* model) {
  constexpr int kMost = 20;
  for (const MetricSample* const sample : samples.drift) {
    status::v1::Drift& drift = *model->add_drift();
    drift.set_version(VersionOf(*sample));
    drift.set_kind(LabelOf(*sample, "kind"));
    drift.set_name(ShownText(LabelOf(*sample, "name")));
    drift.set_index(sample->value);
  }
  auto& drifts = *model->mutable_drift();
  std::stable_sort(
      drifts.begin(), drifts.end(),
      [](const auto& a, const auto& b) { return a.index() > b.index(); });
  if (drifts.size() > kMost)
    drifts.DeleteSubrange(kMost, drifts.size() - kMost);
}

void AddTrafficSeries(const MetricSamples& now,
                      const MetricWindow::Before& last, HistorySample* sample) {
  size_t num_methods = 0;
  for (const MetricSample& latency : SamplesOf(now, kSeconds)) {
    // Methods that nobody has called have no series.
    if (CountOf(latency) == 0 || ++num_methods > kMostMethods) continue;
    AddMethodSeries(latency, now, last, sample);
  }
  (*sample)[{"refusals_per_second", {}, "1/s"}] = {
      .value =
          AnswersSince(now, *last.samples, /*is_ok=*/false) / last.seconds};
  AddVersionSeries(now, last, sample);
}

}  // namespace sortition
