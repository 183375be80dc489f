#include "trainer/offpolicy/stored_overlap.h"

#include <cmath>
#include <string>
#include <utility>

namespace sortition {
namespace {

model::v1::Finding::Gravity StoredGravity(Gravity gravity) {
  switch (gravity) {
    case Gravity::kContradiction:
      return model::v1::Finding::CONTRADICTION;
    case Gravity::kUnsupported:
      return model::v1::Finding::UNSUPPORTED;
    case Gravity::kCaution:
      break;
  }
  return model::v1::Finding::CAUTION;
}

}  // namespace

void StoreOverlap(const Overlap& overlap, model::v1::Overlap* stored) {
  stored->set_tuples(overlap.num_tuples);
  stored->set_mean_weight(overlap.weight.value);
  stored->set_mean_weight_error(overlap.weight.error);
  stored->set_effective_sample_size(overlap.effective_sample_size);
  stored->set_largest_share(overlap.largest_share);
  stored->set_half_weight_tuples(overlap.half_weight_tuples);
  if (std::isfinite(overlap.clip)) stored->set_clip(overlap.clip);
  stored->set_clipped_fraction(overlap.clipped_fraction);
  stored->set_clipped_mass(overlap.clipped_mass);
  stored->set_median_weight(overlap.median_weight);
  stored->set_weight_p90(overlap.weight_p90);
  stored->set_weight_p99(overlap.weight_p99);
  stored->set_largest_weight(overlap.largest_weight);
  stored->set_smallest_propensity(overlap.smallest_propensity);
  stored->set_deterministic_fraction(overlap.deterministic_fraction);
  stored->set_shown_otherwise_fraction(overlap.shown_otherwise_fraction);
  stored->set_without_full_support_fraction(
      overlap.without_full_support_fraction);
  stored->set_uniform_mean_weight(overlap.uniform_weight.value);
  stored->set_uniform_mean_weight_error(overlap.uniform_weight.error);
  stored->set_largest_uniform_weight(overlap.largest_uniform_weight);
}

std::vector<model::v1::Finding> StoredFindings(const Overlap& overlap,
                                               TupleUse use) {
  std::vector<model::v1::Finding> stored;
  for (Finding& finding : JudgeOverlap(overlap, use)) {
    model::v1::Finding& added = stored.emplace_back();
    added.set_gravity(StoredGravity(finding.gravity));
    added.set_kind(std::string(FindingKindName(finding.kind)));
    added.set_sentence(std::move(finding.sentence));
  }
  return stored;
}

}  // namespace sortition
