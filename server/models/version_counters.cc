#include "server/models/version_counters.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr char kAnswers[] = "sortition_version_answers_total";
constexpr char kSeconds[] = "sortition_version_seconds_total";

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
    for (const Code& code : kNamed) {
      shared->metrics->RemoveCounter(kAnswers, LabelsOf(model, version, code));
    }
    shared->metrics->RemoveCounter(kSeconds, LabelsOf(model, version));
  };
  auto counters = std::make_unique<VersionCounters>();
  for (size_t i = 0; i < kNamed.size(); ++i) {
    counters->answers_[i] = shared_->metrics->Counter(
        kAnswers, "Decisions of a version, by the code of the answer",
        LabelsOf(model, version, kNamed[i]));
  }
  counters->seconds_ = shared_->metrics->Counter(
      kSeconds, "Time that the decisions of a version took, seconds",
      LabelsOf(model, version));
  std::shared_ptr<VersionCounters> held(counters.release(), leave);
  entry.newest = held;
  return held;
}

}  // namespace sortition
