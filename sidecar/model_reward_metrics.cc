#include "sidecar/model_reward_metrics.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace sortition {
namespace {

constexpr char kTuples[] = "sortition_sidecar_tuples_total";
constexpr char kRewards[] = "sortition_sidecar_reward_total";
constexpr char kSquares[] = "sortition_sidecar_reward_squares_total";
constexpr char kOther[] = "other";

MetricLabels Labels(const std::string& model, const std::string& version,
                    bool has_feedback) {
  return {{"model", model},
          {"version", version},
          {"has_feedback", has_feedback ? "true" : "false"}};
}

MetricLabels WithSign(MetricLabels labels, bool is_negative) {
  labels["sign"] = is_negative ? "negative" : "positive";
  return labels;
}

}  // namespace

void ModelRewardMetrics::Series::Add(bool has_feedback, double reward) {
  tuples[has_feedback]->Increment();
  rewards[has_feedback][reward < 0]->Increment(std::abs(reward));
  squares[has_feedback]->Increment(reward * reward);
}

void ModelRewardMetrics::Version::Add(bool has_feedback, double reward) {
  series.Add(has_feedback, reward);
  ++count;
  const double difference = reward - mean;
  mean += difference / static_cast<double>(count);
  squares += difference * (reward - mean);
}

double ModelRewardMetrics::Version::StandardError() const {
  const auto n = static_cast<double>(count);
  return std::sqrt(squares / (n - 1) / n);
}

void ModelRewardMetrics::MeanGauges::Set(const Version& version) const {
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  const bool is_known = version.count >= kFewestTuples;
  mean->Set(is_known ? version.mean : kUnknown);
  error->Set(is_known ? version.StandardError() : kUnknown);
}

ModelRewardMetrics::Series ModelRewardMetrics::MakeSeries(
    const std::string& model, const std::string& version) {
  Series series{};
  for (const bool has_feedback : {false, true}) {
    const MetricLabels labels = Labels(model, version, has_feedback);
    series.tuples[has_feedback] = metrics_->Counter(
        kTuples, "Tuples written, by the model and version that decided",
        labels);
    for (const bool is_negative : {false, true}) {
      series.rewards[has_feedback][is_negative] = metrics_->Counter(
          kRewards, "Sum of the rewards of these tuples, without their sign",
          WithSign(labels, is_negative));
    }
    series.squares[has_feedback] = metrics_->Counter(
        kSquares, "Sum of the squares of these rewards", labels);
  }
  return series;
}

ModelRewardMetrics::MeanGauges ModelRewardMetrics::MakeMeanGauges(
    const std::string& model, const char* of) {
  const MetricLabels labels = {{"model", model}, {"of", of}};
  return {metrics_->Gauge("sortition_sidecar_mean_reward",
                          "Mean reward of the tuples of the newest version and "
                          "of the one before; NaN: fewer than 100 tuples",
                          labels),
          metrics_->Gauge("sortition_sidecar_mean_reward_error",
                          "Standard error of this mean", labels)};
}

ModelRewardMetrics::Model* ModelRewardMetrics::FindModel(
    absl::string_view name) {
  const auto found = models_.find(name);
  if (found != models_.end()) return &found->second;
  if (models_.size() >= kMaxModels) return nullptr;
  const std::string key(name);
  Model model{.versions = {},
              .other = std::nullopt,
              .newest = MakeMeanGauges(key, "newest"),
              .previous = std::nullopt};
  return &models_.emplace(key, std::move(model)).first->second;
}

ModelRewardMetrics::Version* ModelRewardMetrics::FindVersion(
    const std::string& name, uint64_t version, Model* model) {
  auto& versions = model->versions;
  const auto found = versions.find(version);
  if (found != versions.end()) return &found->second;
  if (versions.size() >= kMaxVersions) {
    const auto oldest = std::prev(versions.end());
    if (version < oldest->first) return nullptr;
    RemoveSeries(name, oldest->first);
    versions.erase(oldest);
  }
  Version added{.series = MakeSeries(name, absl::StrCat(version))};
  return &versions.emplace(version, added).first->second;
}

void ModelRewardMetrics::RemoveSeries(const std::string& model,
                                      uint64_t version) {
  for (const bool has_feedback : {false, true}) {
    const MetricLabels labels =
        Labels(model, absl::StrCat(version), has_feedback);
    metrics_->RemoveCounter(kTuples, labels);
    for (const bool is_negative : {false, true}) {
      metrics_->RemoveCounter(kRewards, WithSign(labels, is_negative));
    }
    metrics_->RemoveCounter(kSquares, labels);
  }
}

void ModelRewardMetrics::AddOther(const std::string& model, bool has_feedback,
                                  double reward, std::optional<Series>* other) {
  if (!other->has_value()) *other = MakeSeries(model, kOther);
  (*other)->Add(has_feedback, reward);
}

void ModelRewardMetrics::Add(absl::string_view model, uint64_t version,
                             bool has_feedback, double reward) {
  Model* const known = FindModel(model);
  if (known == nullptr) {
    AddOther(kOther, has_feedback, reward, &other_);
    return;
  }
  const std::string name(model);
  Version* const its_version = FindVersion(name, version, known);
  if (its_version == nullptr) {
    AddOther(name, has_feedback, reward, &known->other);
    return;
  }
  its_version->Add(has_feedback, reward);
  auto newest = known->versions.begin();
  known->newest.Set(newest->second);
  if (++newest == known->versions.end()) return;
  if (!known->previous) known->previous = MakeMeanGauges(name, "previous");
  known->previous->Set(newest->second);
}

}  // namespace sortition
