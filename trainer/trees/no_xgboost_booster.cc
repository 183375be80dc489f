// Without XGBoost.
#include "absl/status/status.h"
#include "trainer/trees/xgboost_booster.h"

namespace sortition {
namespace {

absl::Status NoXgboost() {
  return absl::UnimplementedError(
      "this program was built without XGBoost (SORTITION_XGBOOST): cannot "
      "train trees");
}

}  // namespace

bool HasXgboost() { return false; }

absl::StatusOr<XgboostMatrix> XgboostMatrix::Create(
    std::span<const LabelledItems>, uint32_t) {
  return NoXgboost();
}

absl::Status XgboostMatrix::SetStart(std::span<const float>) {
  return NoXgboost();
}

absl::StatusOr<XgboostBooster> XgboostBooster::Create(
    const XgboostParameters&, std::span<const XgboostMatrix>) {
  return NoXgboost();
}

absl::StatusOr<XgboostBooster> XgboostBooster::Load(absl::string_view) {
  return NoXgboost();
}

absl::Status XgboostBooster::Update(int, const XgboostMatrix&) {
  return NoXgboost();
}

absl::StatusOr<std::vector<float>> XgboostBooster::Margins(
    const XgboostMatrix&) const {
  return NoXgboost();
}

absl::Status XgboostBooster::MarginsInPlace(std::span<const float>, uint32_t,
                                            std::span<float>) const {
  return NoXgboost();
}

absl::StatusOr<std::string> XgboostBooster::Save(absl::string_view) const {
  return NoXgboost();
}

}  // namespace sortition
