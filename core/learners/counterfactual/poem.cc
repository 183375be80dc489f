#include "core/learners/counterfactual/poem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/weighted_terms.h"
#include "core/optim/adagrad.h"

namespace sortition {
namespace {

// The factors of the mean of u and of u² in G.
struct Majoriser {
  double linear = 1;     // a
  double quadratic = 0;  // b
};

// If parameters are longer, the run has diverged. Below this, scores stay
// finite even with float features up to 3e38.
constexpr double kLargestSquaredNorm = 1e200;

enum class EpochEnd { kAllBatches, kSmallDirection, kDiverged };

// The state of one training run.
class Trainer {
 public:
  Trainer(TupleTerms* terms, const PoemRun& run)
      : terms_(terms),
        run_(run),
        adagrad_(terms->dimension(), run.adagrad.step_size()),
        order_(terms->num_tuples()),
        gradient_(Eigen::VectorXd::Zero(terms->dimension())),
        parameters_(run.start.size() > 0
                        ? run.start
                        : Eigen::VectorXd::Zero(terms->dimension())) {}

  // Returns nothing if the run diverged; `*epochs` then says after how many
  // epochs.
  std::optional<PoemResult> Run(uint32_t* epochs) {
    PoemResult result{.parameters = parameters_};
    double best = std::numeric_limits<double>::infinity();
    uint32_t epochs_without_best = 0;
    while (result.epochs < run_.adagrad.max_epochs()) {
      *epochs = ++result.epochs;
      const EpochEnd end = Epoch(result.epochs);
      if (end == EpochEnd::kDiverged) return std::nullopt;
      const double progressive =
          CrmValue(progressive_, parameters_.squaredNorm(), run_.crm);
      if (run_.on_epoch) run_.on_epoch(result.epochs);
      if (progressive < best) {
        best = progressive;
        epochs_without_best = 0;
        result.parameters = parameters_;
      } else {
        ++epochs_without_best;
      }
      if (end == EpochEnd::kSmallDirection) {
        result.termination = PoemTermination::kGradient;
        break;
      }
      if (epochs_without_best >= run_.adagrad.patience()) {
        result.termination = PoemTermination::kProgressiveValidation;
        break;
      }
    }
    return result;
  }

 private:
  Majoriser MajoriseHere() {
    if (run_.crm.lambda == 0) return {};
    Moments terms;
    terms.Add(AllValues(parameters_, terms_));
    const VarianceMajoriser majoriser = MajoriseStandardDeviation(terms);
    const double factor =
        run_.crm.lambda * std::sqrt(static_cast<double>(order_.size()));
    return {1 + factor * majoriser.linear, factor * majoriser.quadratic};
  }

  EpochEnd Epoch(uint32_t epoch) {
    const Majoriser majoriser = MajoriseHere();
    ShuffleTuples(run_.seed, epoch, order_);
    progressive_ = Moments();
    double longest = 0;
    const std::span<const uint32_t> order(order_);
    for (size_t begin = 0; begin < order.size();) {
      const size_t size =
          std::min<size_t>(run_.adagrad.batch_size(), order.size() - begin);
      terms_->Prefetch(order.subspan(
          begin + size, std::min<size_t>(run_.adagrad.batch_size(),
                                         order.size() - begin - size)));
      BatchGradient(order.subspan(begin, size), majoriser);
      begin += size;
      const AdaGradStep step = Step();
      longest = std::max(longest, step.direction_norm);
      // The comparison is also false for NaN.
      if (!(step.point_squared_norm < kLargestSquaredNorm)) {
        return EpochEnd::kDiverged;
      }
    }
    if (!(parameters_.squaredNorm() < kLargestSquaredNorm)) {
      return EpochEnd::kDiverged;
    }
    // Tests a whole epoch, not one batch: in a batch without rewards the
    // gradient is 0 at w = 0.
    return longest < run_.adagrad.gradient_tolerance()
               ? EpochEnd::kSmallDirection
               : EpochEnd::kAllBatches;
  }

  // Estimates ∇G, without the penalty, from a batch and adds it to gradient_,
  // which must be 0. Adds the batch's u to progressive_.
  void BatchGradient(std::span<const uint32_t> batch,
                     const Majoriser& majoriser) {
    factors_.resize(batch.size());
    terms_->Values(parameters_, batch, factors_);
    progressive_.Add(factors_);
    const double size = static_cast<double>(batch.size());
    for (double& factor : factors_) {
      factor = (majoriser.linear + 2 * majoriser.quadratic * factor) / size;
    }
    terms_->AddGradient(factors_, &gradient_);
  }

  // Moves the parameters along gradient_, which becomes 0.
  AdaGradStep Step() {
    if (run_.crm.l2 == 0) {
      if (const auto entries = terms_->gradient_entries()) {
        return adagrad_.StepSparse(*entries, &gradient_, &parameters_);
      }
    }
    return adagrad_.Step(run_.crm.l2, &gradient_, &parameters_);
  }

  TupleTerms* terms_;
  const PoemRun& run_;
  AdaGrad adagrad_;
  std::vector<uint32_t> order_;
  Eigen::VectorXd gradient_;
  Eigen::VectorXd parameters_;
  // For each tuple of a batch: u, then the factor of ∇u.
  std::vector<double> factors_;
  // Each u of this epoch, as it was before the step that used it.
  Moments progressive_;
};

}  // namespace

absl::string_view PoemTerminationName(PoemTermination termination) {
  switch (termination) {
    case PoemTermination::kGradient:
      return "gradient";
    case PoemTermination::kProgressiveValidation:
      return "progressive validation";
    case PoemTermination::kMaxEpochs:
      return "max epochs";
  }
  return "";
}

void ShuffleTuples(uint64_t seed, uint32_t epoch, std::span<uint32_t> order) {
  std::iota(order.begin(), order.end(), 0u);
  RandomSequence random(
      StableHash(HashDomain::kTraining,
                 {"poem", absl::StrCat(seed), absl::StrCat(epoch)}));
  for (size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random.Below(i)]);
  }
}

absl::StatusOr<PoemResult> TrainPoem(TuplePolicy* policy, const PoemRun& run) {
  RETURN_IF_ERROR(ValidateCrm(*policy, run.crm));
  ASSIGN_OR_RETURN(
      WeightedTerms terms,
      WeightedTerms::Create(policy, ClippedTerm(run.crm.clip), nullptr));
  return TrainPoemOnTerms(&terms, run);
}

absl::StatusOr<PoemResult> TrainPoemOnTerms(TupleTerms* terms,
                                            const PoemRun& run) {
  ASSIGN_OR_RETURN(const TermObjective objective,
                   TermObjective::Create(terms, run.crm.lambda, run.crm.l2));
  if (run.start.size() != 0 && run.start.size() != terms->dimension()) {
    return absl::InvalidArgumentError(
        absl::StrCat("start has ", run.start.size(), " entries, must have ",
                     terms->dimension()));
  }
  uint32_t epochs = 0;
  std::optional<PoemResult> result = Trainer(terms, run).Run(&epochs);
  if (!result.has_value()) {
    return absl::InternalError(absl::StrCat(
        "training diverged in epoch ", epochs, " at lambda ", run.crm.lambda,
        ", l2 ", run.crm.l2,
        ": a parameter is not finite or beyond 1e100; try a smaller "
        "step_size"));
  }
  result->objective = objective.Evaluate(result->parameters, nullptr);
  return *std::move(result);
}

double DefaultClip(const TuplePolicy& policy) {
  constexpr double kSmallest = 10;
  constexpr double kLargest = 1000;
  if (policy.num_tuples() == 0) return kSmallest;
  std::vector<double> log_propensities(policy.num_tuples());
  for (size_t i = 0; i < log_propensities.size(); ++i) {
    log_propensities[i] = policy.log_propensity(i);
  }
  const auto percentile = [&](size_t percent) {
    const auto nth =
        log_propensities.begin() +
        static_cast<ptrdiff_t>((log_propensities.size() - 1) * percent / 100);
    std::nth_element(log_propensities.begin(), nth, log_propensities.end());
    return *nth;
  };
  const double log_ratio = percentile(90) - percentile(10);
  return std::clamp(std::exp(log_ratio), kSmallest, kLargest);
}

}  // namespace sortition
