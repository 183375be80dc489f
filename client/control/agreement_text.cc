#include "client/control/agreement_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {
namespace {

// Fewer say too little: a share of one half is then known to ±0.03 or less.
constexpr uint64_t kFewestDecisions = 1000;

std::string Percent(double share) {
  return absl::StrFormat("%.3g %%", 100 * share);
}

}  // namespace

std::string AgreementText(const v1::ModelStatus& status) {
  const v1::BaselineAgreement& agreement = status.agreement();
  std::string text =
      absl::StrFormat("agreement %.3g over %d decisions of the last hour",
                      agreement.propensity(), agreement.decisions());
  if (agreement.has_mode_agreement()) {
    absl::StrAppend(&text, " (of the most probable action ",
                    absl::StrFormat("%.3g", agreement.mode_agreement()), ")");
  }
  if (agreement.decisions() < kFewestDecisions) {
    return absl::StrCat(text, ": wait for ", kFewestDecisions,
                        " before you change the mode");
  }
  const double changed = 1 - agreement.propensity();
  if (status.serving().mode() == model::v1::EXPLORE_ABOVE_BASELINE) {
    constexpr double kParts = 10'000;
    const double share = status.serving().explore_parts() / kParts;
    return absl::StrCat(text, ": the model changes ", Percent(share * changed),
                        " of the decisions, in mode ONLINE it would change ",
                        Percent(changed));
  }
  return absl::StrCat(text, ": EXPLORE_ABOVE_BASELINE would now change ",
                      Percent(changed),
                      " of the decisions that it gives the model");
}

}  // namespace sortition
