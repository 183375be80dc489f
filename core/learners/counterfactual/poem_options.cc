#include "core/learners/counterfactual/poem_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/crm.h"
#include "core/learners/counterfactual/poem.h"

namespace sortition {
namespace {

using config::v1::PoemOptions;

bool HasLambda(PoemOptions::Objective objective) {
  return objective != PoemOptions::IPS &&
         objective != PoemOptions::CLIPPED_IPS &&
         objective != PoemOptions::EXPOSURE;
}

// Returns "field is value, must be permitted".
absl::Status Bad(absl::string_view field, absl::string_view value,
                 absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " is ", value, ", must be ", permitted));
}

// Returns "field is value, must be permitted for objective NAME".
absl::Status Unfit(absl::string_view field, absl::string_view value,
                   absl::string_view permitted, const PoemOptions& options) {
  return Bad(field, value,
             absl::StrCat(permitted, " for objective ",
                          PoemOptions::Objective_Name(options.objective())));
}

absl::Status ValidateLambdas(
    const PoemOptions& options, absl::string_view field,
    const google::protobuf::RepeatedField<double>& values) {
  for (const double value : values) {
    if (value != 0 && !HasLambda(options.objective())) {
      return Unfit(field, absl::StrCat(value), "0 or unset", options);
    }
    if (!(value > 0) && options.objective() == PoemOptions::LOG_SMOOTHING) {
      return Unfit(field, absl::StrCat(value), "positive", options);
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateGrids(const PoemOptions& options) {
  if (options.lambda_size() > 0 && options.lambda_factor_size() > 0) {
    return Bad("lambda_factor", absl::StrCat(options.lambda_factor(0)),
               "unset where lambda is set");
  }
  RETURN_IF_ERROR(ValidateLambdas(options, "lambda", options.lambda()));
  RETURN_IF_ERROR(
      ValidateLambdas(options, "lambda_factor", options.lambda_factor()));
  if (options.prior_decisions_size() == 0) return absl::OkStatus();
  const std::string decisions = absl::StrCat(options.prior_decisions(0));
  if (options.penalty() != PoemOptions::PROXIMAL) {
    return Bad("prior_decisions", decisions,
               absl::StrCat("unset for penalty ",
                            PoemOptions::Penalty_Name(options.penalty())));
  }
  if (options.l2_size() > 0) {
    return Bad("prior_decisions", decisions, "unset where l2 is set");
  }
  return absl::OkStatus();
}

absl::Status ValidateRankWeights(const PoemOptions& options) {
  const std::string name =
      PoemOptions::RankWeights_Name(options.rank_weights());
  if (options.rank_weights() == PoemOptions::ORDER) return absl::OkStatus();
  switch (options.objective()) {
    case PoemOptions::CRM:
    case PoemOptions::IPS:
    case PoemOptions::CLIPPED_IPS:
    case PoemOptions::LOG_SMOOTHING:
      return absl::OkStatus();
    case PoemOptions::DOUBLY_ROBUST:
      if (options.rank_weights() == PoemOptions::PREFIXES) {
        return absl::OkStatus();
      }
      return Unfit("rank_weights", name, "ORDER or PREFIXES", options);
    case PoemOptions::SELF_NORMALISED:
    case PoemOptions::EXPOSURE:
      break;
  }
  return Unfit("rank_weights", name, "ORDER", options);
}

// Smoothing is of the propensities of whole actions. Exposures and the weights
// of ranks come from the policies that logged.
absl::Status ValidateSmoothing(const PoemOptions& options) {
  for (const double smoothing : options.smoothing()) {
    if (!(smoothing > 0 && smoothing <= 1)) {
      return Bad("smoothing", absl::StrCat(smoothing), "in (0, 1]");
    }
    if (smoothing == 1) continue;
    if (options.objective() == PoemOptions::EXPOSURE) {
      return Unfit("smoothing", absl::StrCat(smoothing), "1 or unset", options);
    }
    if (options.rank_weights() != PoemOptions::ORDER) {
      return Bad(
          "smoothing", absl::StrCat(smoothing),
          absl::StrCat("1 or unset for rank_weights ",
                       PoemOptions::RankWeights_Name(options.rank_weights())));
    }
  }
  return absl::OkStatus();
}

// Checks that what EXPOSURE alone has is not set.
absl::Status ValidateNoExposure(const PoemOptions& options) {
  if (options.examination_size() > 0) {
    return Unfit("examination", absl::StrCat(options.examination(0)), "unset",
                 options);
  }
  if (options.click_offsets_size() > 0) {
    return Unfit("click_offsets", absl::StrCat(options.click_offsets(0)),
                 "unset", options);
  }
  if (options.failure_probability() != 0) {
    return Unfit("failure_probability",
                 absl::StrCat(options.failure_probability()), "0 or unset",
                 options);
  }
  if (options.sampled_orders() != 0) {
    return Unfit("sampled_orders", absl::StrCat(options.sampled_orders()),
                 "0 or unset", options);
  }
  return absl::OkStatus();
}

absl::Status ValidateExposure(const PoemOptions& options) {
  const auto& examination = options.examination();
  if (std::none_of(examination.begin(), examination.end(),
                   [](double value) { return value > 0; })) {
    return absl::InvalidArgumentError(
        "examination: there are 0 values above 0, must be at least 1 for "
        "objective EXPOSURE");
  }
  if (options.click_offsets_size() > 0 &&
      options.click_offsets_size() != examination.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "click_offsets: there are ", options.click_offsets_size(), ", must be ",
        examination.size(), " as of examination, or none"));
  }
  for (int k = 0; k < options.click_offsets_size(); ++k) {
    const double offset = options.click_offsets(k);
    constexpr double kRounding = 1e-9;  // 0.1 is more than 1 - 0.9.
    if (!(offset >= 0 && offset + examination[k] <= 1 + kRounding)) {
      return absl::InvalidArgumentError(
          absl::StrCat("click_offsets[", k, "] is ", offset,
                       ", must be in [0, 1 - examination[", k,
                       "]]: a look and a click "
                       "without an interest exclude each other"));
    }
    if (options.failure_probability() > 0 && offset > 0 &&
        !(examination[k] > 0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "examination[", k,
          "] is 0, must be above 0 with failure_probability "
          "where click_offsets[",
          k, "] is ", offset, ": clicks that no look explains have no bound"));
    }
  }
  const std::string optimiser =
      PoemOptions::Optimiser_Name(options.optimiser());
  if (options.failure_probability() > 0 &&
      options.optimiser() != PoemOptions::BATCH) {
    return Bad("optimiser", optimiser, "BATCH with failure_probability");
  }
  if (options.sampled_orders() > 0 &&
      options.optimiser() != PoemOptions::STOCHASTIC) {
    return Bad("optimiser", optimiser, "STOCHASTIC with sampled_orders");
  }
  return absl::OkStatus();
}

absl::Status ValidateMostClicks(const PoemOptions& options) {
  if (options.most_clicks() == 0) return absl::OkStatus();
  const std::string clicks = absl::StrCat(options.most_clicks());
  if (!(options.failure_probability() > 0)) {
    return Bad("most_clicks", clicks, "0 or unset without failure_probability");
  }
  if (!(options.most_clicks() >= 1)) {
    return Bad("most_clicks", clicks, "0 or at least 1");
  }
  return absl::OkStatus();
}

// Returns the factors for options that give none.
std::vector<double> DefaultFactors(PoemOptions::Objective objective) {
  switch (objective) {
    case PoemOptions::IPS:
    case PoemOptions::CLIPPED_IPS:
    case PoemOptions::EXPOSURE:
      return {0};
    case PoemOptions::SELF_NORMALISED:
      return {0, 0.01, 0.1, 1};
    // LogSmoothingBound() exceeds the risk by about λ E[ρ² δ²] / 2 for the
    // smoothing and log(1/η) / (λ n) for chance. The sum is least at λ = √(2
    // log(1/η) / E[ρ² δ²]) / √n. For η = 0.05 that root is 8 if E[ρ² δ²] = 0.1
    // (a policy near the logging one), and 0.1 if it is 600.
    case PoemOptions::LOG_SMOOTHING:
      return {0.1, 1, 10};
    case PoemOptions::CRM:
    case PoemOptions::DOUBLY_ROBUST:
      break;
  }
  return {0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1};  // Sec. 6.
}

// Returns λ for c = 1. For doubly robust terms it is CRM's of plain weights:
// their own would need the whole distribution of the logging policy, and the
// scale is the same, whatever β, which leaves the model's part as it is.
absl::StatusOr<double> LambdaUnit(PoemOptions::Objective objective,
                                  const TuplePolicy& policy, double smoothing) {
  switch (objective) {
    case PoemOptions::IPS:
    case PoemOptions::CLIPPED_IPS:
    case PoemOptions::SELF_NORMALISED:
    case PoemOptions::EXPOSURE:
      return 1;
    case PoemOptions::LOG_SMOOTHING:
      return 1 / std::sqrt(MomentsOfLogging(policy).total());
    case PoemOptions::DOUBLY_ROBUST:
      return CalibratedLambda(policy);
    case PoemOptions::CRM:
      break;
  }
  return CalibratedLambda(policy, smoothing);
}

}  // namespace

bool AreFewTuples(size_t num_tuples) { return num_tuples <= 50000; }

PoemOptions WithOptimiser(PoemOptions options, size_t num_tuples) {
  if (options.has_optimiser()) return options;
  if (options.objective() == PoemOptions::SELF_NORMALISED ||
      options.failure_probability() > 0) {
    options.set_optimiser(PoemOptions::BATCH);
  } else if (options.sampled_orders() > 0 || !AreFewTuples(num_tuples)) {
    options.set_optimiser(PoemOptions::STOCHASTIC);
  } else {
    options.set_optimiser(PoemOptions::TRY_BOTH);
  }
  return options;
}

absl::Status ValidatePoemOptions(const PoemOptions& options) {
  RETURN_IF_ERROR(ValidateGrids(options));
  if (options.objective() == PoemOptions::SELF_NORMALISED &&
      options.optimiser() != PoemOptions::BATCH) {
    return Unfit("optimiser", PoemOptions::Optimiser_Name(options.optimiser()),
                 "BATCH", options);
  }
  if (options.clip() != 0 && !HasClip(options.objective())) {
    return Unfit("clip", absl::StrCat(options.clip()), "0 or unset", options);
  }
  if (options.clip() != 0 && !(options.clip() >= 1)) {
    return Unfit("clip", absl::StrCat(options.clip()), "0 or at least 1",
                 options);
  }
  RETURN_IF_ERROR(ValidateRankWeights(options));
  RETURN_IF_ERROR(ValidateSmoothing(options));
  RETURN_IF_ERROR(options.objective() == PoemOptions::EXPOSURE
                      ? ValidateExposure(options)
                      : ValidateNoExposure(options));
  return ValidateMostClicks(options);
}

bool HasClip(PoemOptions::Objective objective) {
  return objective == PoemOptions::CRM ||
         objective == PoemOptions::CLIPPED_IPS ||
         objective == PoemOptions::DOUBLY_ROBUST;
}

std::vector<double> ListSmoothings(const PoemOptions& options) {
  if (options.smoothing_size() == 0) return {1};
  return {options.smoothing().begin(), options.smoothing().end()};
}

double ClipOf(const PoemOptions& options, const TuplePolicy& policy) {
  if (!HasClip(options.objective())) {
    return std::numeric_limits<double>::infinity();
  }
  return options.clip() > 0 ? options.clip() : DefaultClip(policy);
}

absl::StatusOr<std::vector<LambdaChoice>> ListLambdas(
    const PoemOptions& options, const TuplePolicy& policy, double smoothing) {
  std::vector<LambdaChoice> choices;
  for (const double lambda : options.lambda()) {
    choices.push_back({std::nullopt, lambda});
  }
  if (!choices.empty()) return choices;
  std::vector<double> factors(options.lambda_factor().begin(),
                              options.lambda_factor().end());
  if (factors.empty()) factors = DefaultFactors(options.objective());
  for (const double factor : factors) {
    LambdaChoice choice{factor, 0};
    if (factor != 0) {
      ASSIGN_OR_RETURN(const double unit,
                       LambdaUnit(options.objective(), policy, smoothing));
      choice.lambda = factor * unit;
    }
    choices.push_back(choice);
  }
  return choices;
}

std::vector<double> ListL2s(const PoemOptions& options,
                            const TuplePolicy& policy) {
  if (options.l2_size() > 0) return {options.l2().begin(), options.l2().end()};
  if (options.prior_decisions_size() > 0) {
    std::vector<double> l2s(options.prior_decisions().begin(),
                            options.prior_decisions().end());
    const double decisions = MomentsOfLogging(policy).total();
    for (double& l2 : l2s) l2 /= decisions;
    return l2s;
  }
  // λ regularises, too. Penalties that pull to the parent have to be as large
  // as the risk that can be gained.
  if (options.penalty() == PoemOptions::NORM) return {1e-6};
  return {0.01, 0.1, 1};
}

}  // namespace sortition
