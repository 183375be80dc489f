#pragma once
// How often a model would do what the caller's baseline does: whether it can
// take over is read from that.
#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "process/metrics.h"
#include "sortition/model/v1/serving.pb.h"

namespace sortition {

// Whose agreement it is.
struct AgreementKey {
  std::string model;
  uint64_t version = 0;
  model::v1::LearningMode mode = model::v1::APPRENTICE;
  friend auto operator<=>(const AgreementKey&, const AgreementKey&) = default;
};

struct AgreementSums {
  uint64_t asked = 0;         // Decisions in which the model was asked.
  double propensity_sum = 0;  // Of the baseline's action under the model.
  uint64_t modes = 0;         // Those whose most probable action is known.
  uint64_t agreements = 0;    // That is the baseline's.
};

// Thread-safe.
class BaselineAgreement {
 public:
  // `metrics` must outlive it.
  explicit BaselineAgreement(Metrics* metrics) : metrics_(metrics) {}

  // Counts a decision in which the baseline had a part.
  void CountDecision(const std::string& model, model::v1::LearningMode mode);
  // Counts what the model thinks of the baseline's action, whoever decided;
  // `agrees` unset: it was not asked for its most probable one.
  void CountAsked(const AgreementKey& key, double log_propensity,
                  std::optional<bool> agrees, int64_t now_us);

  // Returns the sums of the last hour, minute by minute.
  AgreementSums LastHour(const AgreementKey& key, int64_t now_us) const;

 private:
  static constexpr int64_t kMinutes = 60;
  struct Minute {
    int64_t number = -1;  // Since the epoch.
    AgreementSums sums;
  };
  using Window = std::array<Minute, kMinutes>;
  struct Counters {
    MetricCounter* decisions = nullptr;
    MetricCounter* asked = nullptr;
    MetricCounter* propensity_sum = nullptr;
    MetricCounter* modes = nullptr;
    MetricCounter* agreements = nullptr;
  };

  // Both require `mutex_`.
  Counters& CountersOf(const std::string& model, model::v1::LearningMode mode);
  Window& WindowOf(const AgreementKey& key, int64_t minute);

  Metrics* const metrics_;
  mutable std::mutex mutex_;  // Held for moments.
  std::map<std::pair<std::string, int>, Counters> counters_;
  std::map<AgreementKey, Window> windows_;
};

}  // namespace sortition
