#include "core/clicks/fitted_clicks.h"

#include "core/base/check.h"

namespace sortition {

ShownList FittedList::Look(const FittedClicks& fitted,
                           const ClickSession& session) {
  const bool has_satisfactions = !fitted.satisfactions.empty();
  attractions_.resize(session.size());
  clicks_.resize(session.size());
  satisfactions_.resize(has_satisfactions ? session.size() : 0);
  for (size_t r = 0; r < session.size(); ++r) {
    attractions_[r] = fitted.attractions[session.item(r)];
    clicks_[r] = session.clicked(r) ? 1 : 0;
    if (has_satisfactions) {
      satisfactions_[r] = fitted.satisfactions[session.item(r)];
    }
  }
  return {attractions_, satisfactions_};
}

absl::string_view ClickParameterName(ClickParameterKind kind) {
  switch (kind) {
    case ClickParameterKind::kExamination:
      return "examination";
    case ClickParameterKind::kSlope:
      return "slope";
    case ClickParameterKind::kOffset:
      return "offset";
    case ClickParameterKind::kContinuation:
      return "continuation";
    case ClickParameterKind::kPerseverance:
      return "perseverance";
    case ClickParameterKind::kAttractionWeight:
      return "attraction_weight";
    case ClickParameterKind::kSatisfactionWeight:
      return "satisfaction_weight";
    case ClickParameterKind::kAttraction:
      return "attraction";
    case ClickParameterKind::kSatisfaction:
      return "satisfaction";
  }
  CHECK(false);
}

std::vector<ClickParameter> ClickParametersOf(const FittedClicks& fitted,
                                              bool with_items) {
  std::vector<ClickParameter> parameters;
  const auto add = [&](ClickParameterKind kind,
                       std::span<const double> values) {
    for (size_t i = 0; i < values.size(); ++i) {
      parameters.push_back({kind, static_cast<uint32_t>(i), values[i]});
    }
  };
  const auto add_weights = [&](ClickParameterKind kind,
                               const Eigen::VectorXd& weights) {
    add(kind, {weights.data(), static_cast<size_t>(weights.size())});
  };
  const ClickModel& model = fitted.model;
  add(ClickParameterKind::kExamination, model.examination);
  add(ClickParameterKind::kSlope, model.slopes);
  add(ClickParameterKind::kOffset, model.offsets);
  add(ClickParameterKind::kContinuation, model.continuations);
  if (model.kind == ClickModelKind::kBayesianNetwork) {
    add(ClickParameterKind::kPerseverance, {&model.perseverance, 1});
  }
  add_weights(ClickParameterKind::kAttractionWeight, fitted.attraction_weights);
  add_weights(ClickParameterKind::kSatisfactionWeight,
              fitted.satisfaction_weights);
  if (with_items) {
    add(ClickParameterKind::kAttraction, fitted.attractions);
    add(ClickParameterKind::kSatisfaction, fitted.satisfactions);
  }
  return parameters;
}

}  // namespace sortition
