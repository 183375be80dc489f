#pragma once
// A rough model of clicks, for doubly robust estimates and objectives.
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/clicks/page_world.h"

namespace sortition {

// P(click on d at rank k) = examination[k] · attractions[page][d], whoever the
// users are.
struct PageModel {
  std::vector<double> examination;
  std::vector<std::vector<double>> attractions;
};

// Fits attractions as a logistic function of features to 5,000 sessions of
// `seed`, which should be no log that is judged or learned from. Errors as
// ClickFitter.
absl::StatusOr<PageModel> FitPageModel(const PagePolicy& log,
                                       const ClickUser& user, uint64_t seed);

}  // namespace sortition
