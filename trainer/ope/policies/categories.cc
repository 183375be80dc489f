#include "trainer/ope/policies/categories.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace sortition {
namespace {

float FeatureOf(const Candidates& candidates, size_t i, uint32_t feature) {
  if (!candidates.sparse()) {
    return candidates.values()[i * candidates.num_features() + feature];
  }
  const auto begin = candidates.columns().begin();
  const auto first = begin + candidates.row_offsets()[i];
  const auto last = begin + candidates.row_offsets()[i + 1];
  const auto found = std::lower_bound(first, last, feature);
  return found == last || *found != feature
             ? 0
             : candidates.values()[static_cast<size_t>(found - begin)];
}

absl::string_view CategoryOf(const std::string& id) {
  return absl::string_view(id).substr(0, id.find(':'));
}

}  // namespace

absl::StatusOr<Categories> Categories::Parse(absl::string_view text,
                                             uint32_t num_features) {
  Categories categories;
  if (text.empty()) return categories;
  if (text == "ids") {
    categories.by_ids_ = true;
    return categories;
  }
  uint32_t feature = 0;
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, "feature:") ||
      !absl::SimpleAtoi(rest, &feature) || feature >= num_features) {
    return absl::InvalidArgumentError(absl::StrCat(
        "categories is '", text, "', must be ids, or feature:N with N in [0, ",
        num_features, ")"));
  }
  categories.feature_ = feature;
  return categories;
}

absl::Status Categories::Mark(const LoggedDecision& decision) {
  const int32_t chosen = decision.action[0];
  const Candidates& candidates = decision.query.candidates;
  const size_t n = candidates.num_candidates();
  is_alike_.assign(n, false);
  abstained_ = chosen == kAbstain;
  if (abstained_) return absl::OkStatus();
  if (feature_) {
    const float category =
        FeatureOf(candidates, static_cast<size_t>(chosen), *feature_);
    for (size_t i = 0; i < n; ++i) {
      is_alike_[i] = FeatureOf(candidates, i, *feature_) == category;
    }
    return absl::OkStatus();
  }
  const auto& ids = decision.decision->candidate_ids();
  if (static_cast<size_t>(ids.size()) != n) {
    return absl::InvalidArgumentError(absl::StrCat(
        "categories is 'ids', but decision '", decision.decision->decision_id(),
        "' has ", ids.size(), " candidate_ids, must have ", n,
        ", one for each candidate"));
  }
  const absl::string_view category = CategoryOf(ids[chosen]);
  for (size_t i = 0; i < n; ++i) {
    is_alike_[i] = CategoryOf(ids[static_cast<int>(i)]) == category;
  }
  return absl::OkStatus();
}

double Categories::ProbabilityOf(const PolicyView& view) const {
  if (abstained_) return view.abstain;
  double sum = 0;
  for (size_t i = 0; i < view.first.size(); ++i) {
    if (is_alike_[i]) sum += view.first[i];
  }
  return sum;
}

}  // namespace sortition
