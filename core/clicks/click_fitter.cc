#include "core/clicks/click_fitter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/clicks/click_unknowns.h"

namespace sortition {
namespace {

absl::Status CheckOption(absl::string_view name, double value, bool is_right,
                         absl::string_view range) {
  if (is_right) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " is ", value, ", must be ", range));
}

absl::Status CheckOptions(const ClickFitOptions& options) {
  RETURN_IF_ERROR(CheckOption("max_iterations", options.max_iterations,
                              options.max_iterations >= 1, "at least 1"));
  const std::pair<absl::string_view, double> amounts[] = {
      {"tolerance", options.tolerance},
      {"prior_hits", options.prior_hits},
      {"prior_misses", options.prior_misses},
      {"l2", options.l2}};
  for (const auto& [name, value] : amounts) {
    RETURN_IF_ERROR(CheckOption(name, value, value >= 0 && std::isfinite(value),
                                "finite and at least 0"));
  }
  RETURN_IF_ERROR(CheckOption(
      "first_offset", options.first_offset,
      options.first_offset >= 0 && options.first_offset < 1, "in [0, 1)"));
  const double first_slope = options.FirstSlope();
  RETURN_IF_ERROR(
      CheckOption("first_slope", first_slope,
                  first_slope > 0 && first_slope <= 1 - options.first_offset,
                  absl::StrCat("in (0, ", 1 - options.first_offset,
                               "], 1 minus first_offset")));
  const double perseverance = options.perseverance.value_or(1);
  return CheckOption("perseverance", perseverance,
                     perseverance >= 0 && perseverance <= 1, "in [0, 1]");
}

absl::Status CheckOneClick(const ClickSessions& sessions) {
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    int clicks = 0;
    for (size_t r = 0; r < session.size(); ++r) clicks += session.clicked(r);
    if (clicks <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("session ", s, " has ", clicks,
                     " clicks, must have at most 1 for a cascade"));
  }
  return absl::OkStatus();
}

// EM with the squared extrapolation SQUAREM [VaradhanRoland08, step length S3].
class Ascent {
 public:
  Ascent(const ClickFitOptions& options, const ClickMaximisation& maximisation,
         const ClickExpectation& expectation)
      : options_(options),
        maximisation_(maximisation),
        expectation_(expectation) {}

  absl::StatusOr<FittedClicks> Run(ClickUnknowns unknowns) {
    unknowns_ = std::move(unknowns);
    objective_ = Expect(unknowns_, &counts_);
    trace_.push_back(objective_);
    while (!converged_ && iterations_ < options_.max_iterations) {
      const ClickUnknowns origin = unknowns_;
      RETURN_IF_ERROR(Step());
      if (!options_.accelerate || IsOver()) continue;
      const ClickUnknowns first = unknowns_;
      RETURN_IF_ERROR(Step());
      if (IsOver()) continue;
      Extrapolate(origin, first);
    }
    FittedClicks fitted = maximisation_.Finish(unknowns_, counts_);
    fitted.log_likelihood = counts_.log_likelihood;
    fitted.objective = objective_;
    fitted.iterations = iterations_;
    fitted.converged = converged_;
    fitted.trace = std::move(trace_);
    return fitted;
  }

 private:
  double Expect(const ClickUnknowns& unknowns, ExpectedCounts* counts) {
    ++iterations_;
    expectation_.Compute(unknowns, counts);
    return counts->log_likelihood + maximisation_.LogPrior(unknowns);
  }
  bool IsOver() const {
    return converged_ || iterations_ >= options_.max_iterations;
  }

  absl::Status Step() {
    ASSIGN_OR_RETURN(ClickUnknowns next,
                     maximisation_.Step(unknowns_, counts_));
    const double objective = Expect(next, &counts_);
    converged_ = objective - objective_ < options_.tolerance;
    unknowns_ = std::move(next);
    objective_ = objective;
    trace_.push_back(objective_);
    return absl::OkStatus();
  }

  // With the steps r = x_1 - x_0 and r + v = x_2 - x_1, tries
  // x_0 + 2 s r + s² v, s = ‖r‖ / ‖v‖; s = 1 is x_2, where EM is.
  void Extrapolate(const ClickUnknowns& origin, const ClickUnknowns& first) {
    const std::vector<double> x0 = maximisation_.Flatten(origin);
    const std::vector<double> x1 = maximisation_.Flatten(first);
    std::vector<double> x2 = maximisation_.Flatten(unknowns_);
    double step_squares = 0;
    double turn_squares = 0;
    for (size_t k = 0; k < x0.size(); ++k) {
      const double step = x1[k] - x0[k];
      const double turn = x2[k] - x1[k] - step;
      step_squares += step * step;
      turn_squares += turn * turn;
    }
    const double length = std::sqrt(step_squares / turn_squares);
    if (!(length > 1) || !std::isfinite(length)) return;
    for (size_t k = 0; k < x0.size(); ++k) {
      const double step = x1[k] - x0[k];
      const double turn = x2[k] - x1[k] - step;
      x2[k] = x0[k] + 2 * length * step + length * length * turn;
    }
    ClickUnknowns far = maximisation_.Unflatten(x2, unknowns_);
    ExpectedCounts counts;
    const double objective = Expect(far, &counts);
    if (!(objective >= objective_)) return;
    unknowns_ = std::move(far);
    counts_ = std::move(counts);
    objective_ = objective;
    trace_.push_back(objective_);
  }

  const ClickFitOptions& options_;
  const ClickMaximisation& maximisation_;
  const ClickExpectation& expectation_;
  ClickUnknowns unknowns_;
  ExpectedCounts counts_;  // At unknowns_, as is the objective.
  double objective_ = 0;
  uint32_t iterations_ = 0;
  bool converged_ = false;
  std::vector<double> trace_;
};

}  // namespace

ClickFitter::ClickFitter(const ClickSessions* sessions,
                         const ClickFitOptions& options,
                         const ClickFeatures& features)
    : sessions_(sessions), options_(options), features_(features) {
  if (options.kind == ClickModelKind::kPositionBased ||
      options.kind == ClickModelKind::kTrustBias) {
    cells_ = std::make_shared<ClickCells>(*sessions);
  }
}

absl::StatusOr<ClickFitter> ClickFitter::Create(const ClickSessions* sessions,
                                                const ClickFitOptions& options,
                                                const ClickFeatures& features) {
  RETURN_IF_ERROR(CheckOptions(options));
  if (sessions->size() == 0) {
    return absl::InvalidArgumentError(
        "number of sessions is 0, must be at least 1");
  }
  constexpr size_t kMost = std::numeric_limits<uint32_t>::max() - size_t{1};
  RETURN_IF_ERROR(CheckOption(
      "number of impressions", static_cast<double>(sessions->num_impressions()),
      sessions->num_impressions() <= kMost, absl::StrCat("at most ", kMost)));
  if (features.num_features > 0 || !features.rows.empty()) {
    RETURN_IF_ERROR(CheckClickFeatures(features, sessions->num_items()));
  }
  if (options.kind == ClickModelKind::kCascade) {
    RETURN_IF_ERROR(CheckOneClick(*sessions));
  }
  return ClickFitter(sessions, options, features);
}

std::unique_ptr<ClickExpectation> ClickFitter::Expectation(
    std::span<const double> multipliers) const {
  const WeightedSessions weighted = {sessions_, multipliers};
  if (cells_ != nullptr) {
    return IndependentExpectation(options_.kind, cells_.get(), weighted);
  }
  const bool skips_are_followed =
      options_.kind != ClickModelKind::kBayesianNetwork ||
      options_.perseverance == std::optional<double>(1);
  return ReadingExpectation(options_.kind, skips_are_followed, weighted);
}

absl::StatusOr<FittedClicks> ClickFitter::Fit(
    std::span<const double> multipliers, const FittedClicks* start) const {
  if (!multipliers.empty()) {
    RETURN_IF_ERROR(CheckOption(
        "number of multipliers", static_cast<double>(multipliers.size()),
        multipliers.size() == sessions_->size(),
        absl::StrCat("that of sessions, ", sessions_->size())));
    double sum = 0;
    for (size_t s = 0; s < multipliers.size(); ++s) {
      const double multiplier = multipliers[s];
      sum += multiplier;
      if (multiplier >= 0 && std::isfinite(multiplier)) continue;
      return CheckOption(absl::StrCat("multipliers[", s, "]"), multiplier,
                         false, "finite and at least 0");
    }
    RETURN_IF_ERROR(
        CheckOption("sum of multipliers", sum, sum > 0, "positive"));
  }
  const std::unique_ptr<ClickExpectation> expectation =
      Expectation(multipliers);
  const ClickMaximisation maximisation(options_, features_);
  ClickUnknowns unknowns = start != nullptr
                               ? maximisation.Unfinish(*start)
                               : maximisation.Start({sessions_, multipliers});
  return Ascent(options_, maximisation, *expectation).Run(std::move(unknowns));
}

}  // namespace sortition
