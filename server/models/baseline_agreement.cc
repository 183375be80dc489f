#include "server/models/baseline_agreement.h"

#include <algorithm>
#include <cmath>

namespace sortition {
namespace {

int64_t MinuteOf(int64_t time_us) { return time_us / 60'000'000; }

}  // namespace

BaselineAgreement::Counters& BaselineAgreement::CountersOf(
    const std::string& model, model::v1::LearningMode mode) {
  Counters& counters = counters_[{model, static_cast<int>(mode)}];
  if (counters.decisions != nullptr) return counters;
  const MetricLabels labels = {{"model", model},
                               {"mode", model::v1::LearningMode_Name(mode)}};
  counters.decisions = metrics_->Counter(
      "sortition_baseline_decisions_total",
      "Decisions in which the caller's baseline has a part, by learning mode",
      labels);
  counters.asked = metrics_->Counter(
      "sortition_baseline_asked_total",
      "Of these, in which the model said how probable the baseline's action is",
      labels);
  counters.propensity_sum = metrics_->Counter(
      "sortition_baseline_propensity_total",
      "Sum of the model's probabilities of the baseline's actions", labels);
  counters.modes = metrics_->Counter(
      "sortition_baseline_modes_total",
      "Of those asked, in which the model named its most probable action",
      labels);
  counters.agreements =
      metrics_->Counter("sortition_baseline_agreements_total",
                        "Of these, in which that is the baseline's", labels);
  return counters;
}

BaselineAgreement::Window& BaselineAgreement::WindowOf(const AgreementKey& key,
                                                       int64_t minute) {
  const auto found = windows_.find(key);
  if (found != windows_.end()) return found->second;
  // Versions come and go: what is older than the window is forgotten.
  std::erase_if(windows_, [minute](const auto& window) {
    return std::all_of(window.second.begin(), window.second.end(),
                       [minute](const Minute& each) {
                         return each.number <= minute - kMinutes;
                       });
  });
  return windows_[key];
}

void BaselineAgreement::CountDecision(const std::string& model,
                                      model::v1::LearningMode mode) {
  const std::lock_guard lock(mutex_);
  CountersOf(model, mode).decisions->Increment();
}

void BaselineAgreement::CountAsked(const AgreementKey& key,
                                   double log_propensity,
                                   std::optional<bool> agrees, int64_t now_us) {
  const double propensity = std::exp(log_propensity);
  const int64_t number = MinuteOf(now_us);
  const std::lock_guard lock(mutex_);
  Counters& counters = CountersOf(key.model, key.mode);
  counters.asked->Increment();
  counters.propensity_sum->Increment(propensity);
  Minute& minute =
      WindowOf(key, number)[static_cast<size_t>(number % kMinutes)];
  if (minute.number != number) minute = {number, {}};
  ++minute.sums.asked;
  minute.sums.propensity_sum += propensity;
  if (!agrees.has_value()) return;
  counters.modes->Increment();
  ++minute.sums.modes;
  if (!*agrees) return;
  counters.agreements->Increment();
  ++minute.sums.agreements;
}

AgreementSums BaselineAgreement::LastHour(const AgreementKey& key,
                                          int64_t now_us) const {
  AgreementSums sums;
  const std::lock_guard lock(mutex_);
  const auto window = windows_.find(key);
  if (window == windows_.end()) return sums;
  for (const Minute& minute : window->second) {
    if (minute.number <= MinuteOf(now_us) - kMinutes) continue;
    sums.asked += minute.sums.asked;
    sums.propensity_sum += minute.sums.propensity_sum;
    sums.modes += minute.sums.modes;
    sums.agreements += minute.sums.agreements;
  }
  return sums;
}

}  // namespace sortition
