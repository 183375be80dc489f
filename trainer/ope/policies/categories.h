#pragma once
// Categories of candidates, by which weights are marginalised.
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

class Categories {
 public:
  // Parses OpeOptions.categories. InvalidArgument unless it is empty, "ids" or
  // "feature:N" with N below `num_features`.
  static absl::StatusOr<Categories> Parse(absl::string_view text,
                                          uint32_t num_features);

  bool is_set() const { return by_ids_ || feature_.has_value(); }

  // Finds which candidates are of the category of the one that was selected.
  // InvalidArgument if candidates have no ids and these say the category.
  absl::Status Mark(const LoggedDecision& decision);

  // The probability that a policy selects one of these.
  double ProbabilityOf(const PolicyView& view) const;

 private:
  bool by_ids_ = false;
  std::optional<uint32_t> feature_;
  bool abstained_ = false;
  std::vector<bool> is_alike_;
};

}  // namespace sortition
