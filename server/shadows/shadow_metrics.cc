#include "server/shadows/shadow_metrics.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace sortition {

ShadowMetrics::ShadowMetrics(Metrics* metrics)
    : metrics_(metrics),
      dropped_(metrics->Counter(
          "sortition_shadow_dropped_total",
          "Views of shadows that were not logged: too many waited, the version "
          "cannot judge the query, or the log had no room")) {}

void ShadowMetrics::CountView(const log::v1::ShadowView& view, bool agrees) {
  OfVersion& of = versions_[{view.model(), view.version()}];
  if (of.views == nullptr) {
    const MetricLabels labels = {{"model", view.model()},
                                 {"version", absl::StrCat(view.version())}};
    of.views = metrics_->Counter("sortition_shadow_views_total",
                                 "Decisions that a shadow has looked on at, "
                                 "by its version",
                                 labels);
    of.agreements = metrics_->Counter(
        "sortition_shadow_agreements_total",
        "Views of shadows whose most probable action was served", labels);
    of.propensities = metrics_->Histogram(
        "sortition_shadow_propensity",
        "Probability that a shadow gives to what was served",
        {1e-6, 1e-4, 0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.8, 0.9, 0.99}, labels);
  }
  of.views->Increment();
  if (agrees) of.agreements->Increment();
  of.propensities->Observe(std::exp(view.log_propensity()));
}

void ShadowMetrics::CountDropped(uint64_t views) {
  if (views > 0) dropped_->Increment(static_cast<double>(views));
}

}  // namespace sortition
