#include "server/models/version_counters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr char kAnswers[] = "sortition_version_answers_total";
constexpr char kSeconds[] = "sortition_version_seconds_total";
constexpr char kAbstentions[] = "sortition_version_abstentions_total";
constexpr char kPropensity[] = "sortition_version_propensity";
constexpr char kEntropy[] = "sortition_version_entropy_nats";

struct Code {
  absl::StatusCode code;
  const char* name;
};
// The last stands for all others.
constexpr std::array<Code, 5> kNamed = {{
    {absl::StatusCode::kOk, "OK"},
    {absl::StatusCode::kInvalidArgument, "INVALID_ARGUMENT"},
    {absl::StatusCode::kResourceExhausted, "RESOURCE_EXHAUSTED"},
    {absl::StatusCode::kUnavailable, "UNAVAILABLE"},
    {absl::StatusCode::kUnknown, "OTHER"},
}};

MetricLabels LabelsOf(const std::string& model, uint64_t version) {
  return {{"model", model}, {"version", absl::StrCat(version)}};
}

MetricLabels LabelsOf(const std::string& model, uint64_t version,
                      const Code& code) {
  MetricLabels labels = LabelsOf(model, version);
  labels["code"] = code.name;
  return labels;
}

}  // namespace

void VersionCounters::Count(absl::StatusCode code, double seconds) const {
  if (seconds_ == nullptr) return;  // The table was detached before.
  const auto* const named =
      std::find_if(kNamed.begin(), kNamed.end() - 1,
                   [code](const Code& each) { return each.code == code; });
  answers_[static_cast<size_t>(named - kNamed.begin())]->Increment();
  seconds_->Increment(seconds);
}

void VersionCounters::CountAbstention() const {
  if (abstentions_ != nullptr) abstentions_->Increment();
}

void VersionCounters::ObservePropensity(double propensity) const {
  if (propensities_ != nullptr) propensities_->Observe(propensity);
}

void VersionCounters::ObserveEntropy(double entropy) const {
  if (entropies_ != nullptr) entropies_->Observe(entropy);
}

void VersionCounterTable::Add(const std::string& model, uint64_t version,
                              Metrics* metrics, VersionCounters* counters) {
  for (size_t i = 0; i < kNamed.size(); ++i) {
    counters->answers_[i] = metrics->Counter(
        kAnswers, "Decisions of a version, by the code of the answer",
        LabelsOf(model, version, kNamed[i]));
  }
  const MetricLabels labels = LabelsOf(model, version);
  counters->seconds_ = metrics->Counter(
      kSeconds, "Time that the decisions of a version took, seconds", labels);
  counters->abstentions_ = metrics->Counter(
      kAbstentions, "Select decisions of a version that chose no candidate",
      labels);
  counters->propensities_ = metrics->Histogram(
      kPropensity,
      "Probability of the candidate that a version selected or placed first",
      PropensityBuckets(), labels);
  counters->entropies_ = metrics->Histogram(
      kEntropy,
      "Entropy of a version's first choice, nats, of one decision in 256",
      EntropyBuckets(), labels);
}

void VersionCounterTable::Remove(const std::string& model, uint64_t version,
                                 Metrics* metrics) {
  for (const Code& code : kNamed) {
    metrics->RemoveCounter(kAnswers, LabelsOf(model, version, code));
  }
  const MetricLabels labels = LabelsOf(model, version);
  metrics->RemoveCounter(kSeconds, labels);
  metrics->RemoveCounter(kAbstentions, labels);
  metrics->RemoveHistogram(kPropensity, labels);
  metrics->RemoveHistogram(kEntropy, labels);
}

VersionCounterTable::VersionCounterTable(Metrics* metrics)
    : shared_(std::make_shared<Shared>()) {
  shared_->metrics = metrics;
}

VersionCounterTable::~VersionCounterTable() { Detach(); }

void VersionCounterTable::Detach() const {
  const std::lock_guard lock(shared_->mutex);
  shared_->metrics = nullptr;
}

std::shared_ptr<const VersionCounters> VersionCounterTable::For(
    const std::string& model, uint64_t version) const {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->metrics == nullptr) return std::make_shared<VersionCounters>();
  Entry& entry = shared_->counters[{model, version}];
  if (auto held = entry.newest.lock(); held != nullptr) return held;
  ++entry.num_alive;
  const auto leave = [shared = shared_, model,
                      version](VersionCounters* counters) {
    delete counters;
    const std::lock_guard leaving(shared->mutex);
    const auto found = shared->counters.find({model, version});
    // Somebody may have asked for them anew in this moment. Whoever leaves last
    // removes the series: all others have counted by then.
    if (--found->second.num_alive > 0) return;
    shared->counters.erase(found);
    if (shared->metrics == nullptr) return;
    Remove(model, version, shared->metrics);
  };
  auto counters = std::make_unique<VersionCounters>();
  Add(model, version, shared_->metrics, counters.get());
  std::shared_ptr<VersionCounters> held(counters.release(), leave);
  entry.newest = held;
  return held;
}

}  // namespace sortition
