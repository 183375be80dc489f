#include "core/learners/counterfactual/poem.h"

#include <algorithm>
#include <array>
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
#include "core/counterfactual/penalised_mean.h"
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

// With a larger 2 η μ, idle parameters shrink so fast that steps at once cost
// more than one by one: as much at 1e-5, 5 times as much at 2e-3, and without
// limit near 2. Up to here, 250 steps are a short series
// (core/optim/idle_steps.h).
constexpr double kLargestIdleDecay = 4e-6;

enum class EpochEnd { kAllBatches, kSmallDirection, kDiverged };

Eigen::VectorXd StartOf(const PoemRun& run, Eigen::Index dimension) {
  if (run.start.size() > 0) return run.start;
  return Eigen::VectorXd::Zero(dimension);
}

// The state of one training run.
class Trainer {
 public:
  Trainer(TupleTerms* terms, const PoemRun& run)
      : terms_(terms),
        run_(run),
        weights_(terms->weights()),
        total_weight_(TotalWeight(*terms)),
        adagrad_(terms->dimension(), run.adagrad.step_size(), run.frame),
        order_(terms->num_tuples()),
        gradient_(Eigen::VectorXd::Zero(terms->dimension())),
        parameters_(StartOf(run, terms->dimension())) {}

  // Returns nothing if the run diverged; `*epochs` then says after how many
  // epochs.
  std::optional<PoemResult> Run(uint32_t* epochs) {
    PoemResult result;
    double best = std::numeric_limits<double>::infinity();
    uint32_t epochs_without_best = 0;
    while (result.epochs < run_.adagrad.max_epochs()) {
      *epochs = ++result.epochs;
      const EpochEnd end = Epoch(result.epochs);
      if (end == EpochEnd::kDiverged) return std::nullopt;
      const double progressive = ProgressiveValue();
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
    // No epoch had a comparable value.
    if (result.parameters.size() == 0) {
      result.parameters = StartOf(run_, terms_->dimension());
    }
    return result;
  }

 private:
  static double TotalWeight(const TupleTerms& terms) {
    const std::span<const double> weights = terms.weights();
    return weights.empty()
               ? static_cast<double>(terms.num_tuples())
               : std::accumulate(weights.begin(), weights.end(), 0.0);
  }

  double ProgressiveValue() const {
    return PenalisedMean(progressive_, run_.crm.lambda).value() / run_.unit +
           run_.pull_weight * progressive_pull_.mean() +
           run_.crm.l2 * run_.frame.SquaredNorm(parameters_);
  }

  Majoriser MajoriseHere() {
    if (run_.crm.lambda == 0) return {};
    const VarianceMajoriser majoriser = MajoriseStandardDeviation(
        MomentsOf(*terms_, AllValues(parameters_, terms_)));
    const double factor = run_.crm.lambda * std::sqrt(total_weight_);
    return {1 + factor * majoriser.linear, factor * majoriser.quadratic};
  }

  EpochEnd Epoch(uint32_t epoch) {
    const Majoriser majoriser = MajoriseHere();
    ShuffleTuples(run_.seed, epoch, order_);
    progressive_ = Moments();
    progressive_pull_ = Moments();
    double longest = 0;
    const std::span<const uint32_t> order(order_);
    std::optional<EntryGroups> entries;
    for (size_t begin = 0; begin < order.size();) {
      const size_t size =
          std::min<size_t>(run_.adagrad.batch_size(), order.size() - begin);
      terms_->Prefetch(order.subspan(
          begin + size, std::min<size_t>(run_.adagrad.batch_size(),
                                         order.size() - begin - size)));
      const std::span<const uint32_t> batch = order.subspan(begin, size);
      entries = EntriesOf(batch);
      CatchUp(entries);
      BatchGradient(batch, majoriser);
      begin += size;
      const AdaGradStep step = Step(entries);
      longest = std::max(longest, step.direction_norm);
      // The comparison is also false for NaN.
      if (!(step.point_squared_norm < kLargestSquaredNorm)) {
        return EpochEnd::kDiverged;
      }
    }
    CatchUp(std::nullopt);
    if (!(parameters_.squaredNorm() < kLargestSquaredNorm)) {
      return EpochEnd::kDiverged;
    }
    // Sparse steps leave out what the penalty does to idle entries. It hardly
    // changes in an epoch that is about to be the last one.
    if (entries.has_value() && longest < run_.adagrad.gradient_tolerance()) {
      longest = std::hypot(longest, adagrad_.IdleDirectionNorm(
                                        run_.crm.l2, *entries, parameters_));
    }
    // Tests a whole epoch, not one batch: in a batch without rewards the
    // gradient is 0 at w = 0.
    return longest < run_.adagrad.gradient_tolerance()
               ? EpochEnd::kSmallDirection
               : EpochEnd::kAllBatches;
  }

  // Estimates ∇G, without the L2 penalty, from a batch and adds it to
  // gradient_, which must be 0. Adds the batch's u to progressive_.
  void BatchGradient(std::span<const uint32_t> batch,
                     const Majoriser& majoriser) {
    factors_.resize(batch.size());
    batch_weights_.clear();
    if (!weights_.empty()) {
      for (const uint32_t i : batch) batch_weights_.push_back(weights_[i]);
    }
    terms_->Values(parameters_, batch, factors_);
    AddTo(&progressive_);
    const double size = static_cast<double>(batch.size()) * run_.unit;
    for (double& factor : factors_) {
      factor = (majoriser.linear + 2 * majoriser.quadratic * factor) / size;
    }
    WeighFactors();
    terms_->AddGradient(factors_, &gradient_);
    if (run_.pull == nullptr) return;
    run_.pull->Values(parameters_, batch, factors_);
    AddTo(&progressive_pull_);
    std::fill(factors_.begin(), factors_.end(),
              run_.pull_weight / static_cast<double>(batch.size()));
    WeighFactors();
    run_.pull->AddGradient(factors_, &gradient_);
  }

  // Adds the values in factors_.
  void AddTo(Moments* moments) const {
    if (batch_weights_.empty()) {
      moments->Add(factors_);
    } else {
      moments->Add(factors_, batch_weights_);
    }
  }

  // Multiplies factors_ by the weights of the tuples over their mean.
  void WeighFactors() {
    const double inverse_mean =
        static_cast<double>(order_.size()) / total_weight_;
    for (size_t k = 0; k < batch_weights_.size(); ++k) {
      factors_[k] *= batch_weights_[k] * inverse_mean;
    }
  }

  // Returns the entries that a batch reads and moves; nullopt: all. A pull has
  // one wherever the terms have one.
  std::optional<EntryGroups> EntriesOf(std::span<const uint32_t> batch) {
    if (2 * run_.adagrad.step_size() * run_.crm.l2 > kLargestIdleDecay) {
      return std::nullopt;
    }
    std::optional<EntryGroups> entries = terms_->Entries(batch);
    if (entries.has_value() && run_.pull != nullptr) {
      entries = run_.pull->Entries(batch);
    }
    // Passes over memory in order are faster than half of it in pieces, twice.
    if (entries.has_value() && run_.crm.l2 > 0 &&
        2 * entries->num_entries() > static_cast<size_t>(gradient_.size())) {
      return std::nullopt;
    }
    return entries;
  }

  // Brings the parameters that a batch reads to where the penalty has moved
  // them.
  void CatchUp(const std::optional<EntryGroups>& entries) {
    if (entries.has_value()) {
      adagrad_.CatchUp(run_.crm.l2, *entries, &parameters_);
    } else {
      adagrad_.CatchUpAll(run_.crm.l2, &parameters_);
    }
  }

  // Moves the parameters along gradient_, which becomes 0.
  AdaGradStep Step(const std::optional<EntryGroups>& entries) {
    return entries.has_value()
               ? adagrad_.StepSparse(run_.crm.l2, *entries, &gradient_,
                                     &parameters_)
               : adagrad_.Step(run_.crm.l2, &gradient_, &parameters_);
  }

  TupleTerms* terms_;
  const PoemRun& run_;
  std::span<const double> weights_;  // Empty: all 1.
  double total_weight_;
  AdaGrad adagrad_;
  std::vector<uint32_t> order_;
  Eigen::VectorXd gradient_;
  Eigen::VectorXd parameters_;
  // For each tuple of a batch: u, then the factor of ∇u.
  std::vector<double> factors_;
  std::vector<double> batch_weights_;  // Empty: all 1.
  // Each u of this epoch, as it was before the step that used it.
  Moments progressive_;
  Moments progressive_pull_;  // The same of the pull.
};

// Returns κ times what is minimised.
absl::StatusOr<double> ObjectiveAt(const Eigen::VectorXd& parameters,
                                   TupleTerms* terms, const PoemRun& run) {
  ASSIGN_OR_RETURN(const TermObjective risk,
                   TermObjective::Create(terms, run.crm.lambda, 0));
  double value = risk.Evaluate(parameters, nullptr);
  value += run.unit * run.crm.l2 * run.frame.SquaredNorm(parameters);
  if (run.pull == nullptr) return value;
  ASSIGN_OR_RETURN(const TermObjective pull,
                   TermObjective::Create(run.pull, 0, 0));
  return value +
         run.unit * run.pull_weight * pull.Evaluate(parameters, nullptr);
}

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
  const CounterRandom random(
      StableHash(HashDomain::kTraining,
                 {"poem", absl::StrCat(seed), absl::StrCat(epoch)}));
  // Swaps are drawn ahead, so that their places in memory can be requested.
  std::array<double, 256> numbers;
  std::array<size_t, 256> places;
  uint32_t block = 0;
  for (size_t left = order.size(); left > 1;) {
    random.UniformBlocks(block, numbers);
    block += static_cast<uint32_t>(numbers.size() / 2);
    const size_t size = std::min(numbers.size(), left - 1);
    for (size_t k = 0; k < size; ++k) {
      places[k] =
          static_cast<size_t>(numbers[k] * static_cast<double>(left - k));
      __builtin_prefetch(&order[places[k]], 1);
    }
    for (size_t k = 0; k < size; ++k, --left) {
      std::swap(order[left - 1], order[places[k]]);
    }
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
  RETURN_IF_ERROR(
      TermObjective::Create(terms, run.crm.lambda, run.crm.l2).status());
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
  ASSIGN_OR_RETURN(result->objective,
                   ObjectiveAt(result->parameters, terms, run));
  Eigen::VectorXd start = StartOf(run, terms->dimension());
  ASSIGN_OR_RETURN(const double at_start, ObjectiveAt(start, terms, run));
  if (at_start < result->objective) {
    result->objective = at_start;
    result->parameters = std::move(start);
  }
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
