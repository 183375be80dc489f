#include "trainer/offpolicy/learner_options.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/poem_options.h"
#include "trainer/tuples/rank_use.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using Poem = config::v1::PoemOptions;

absl::StatusOr<StoredModel> LoadPrior(const TrainOptions& options,
                                      const ModelStore& store) {
  absl::StatusOr<StoredModel> prior =
      store.Load(options.model(), options.prior_version());
  if (prior.ok()) return prior;
  return absl::FailedPreconditionError(
      absl::StrCat("prior_version is ", options.prior_version(),
                   ", must be a version of model '", options.model(), "' in ",
                   options.model_store(), ": ", prior.status().message()));
}

}  // namespace

// The percentiles by which a learner chooses its clip are of single choices:
// those of orders of different lengths say how long these are, and weights that
// are products need a clip more than others. How many decisions a prior is
// worth depends on what it was learned from, not on the log: the grid is wide.
// Sets of labels are drawn with probabilities so small that plain weights are
// those of a few tuples: on each of four data sets smoothed ones learn as well
// or better (./dev bench poem_choice).
Poem LearnerOptions(const TrainOptions& options, const TrainData& data) {
  constexpr double kClipOfOrders = 10;
  Poem poem = options.poem();
  if (!poem.has_objective()) poem.set_objective(data.objective());
  if (HasClip(poem.objective()) && poem.clip() == 0 &&
      data.counts().orders > 0) {
    poem.set_clip(kClipOfOrders);
  }
  if (data.has_label_sets() && poem.objective() == Poem::CRM &&
      poem.smoothing().empty()) {
    for (const double beta : {0.7, 1.0}) poem.add_smoothing(beta);
  }
  if (options.prior_version() > 0 && poem.l2().empty() &&
      poem.prior_decisions().empty()) {
    for (const double decisions : {10, 100, 1000}) {
      poem.add_prior_decisions(decisions);
    }
  }
  // Sets of labels have no sparse features, and weights that batches fit to a
  // few tuples.
  if (data.has_label_sets() && !poem.has_optimiser() &&
      poem.objective() != Poem::SELF_NORMALISED) {
    poem.set_optimiser(Poem::STOCHASTIC);
  }
  return WithOptimiser(poem, data.num_train());
}

absl::StatusOr<bool> LearnsFromPrefixes(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  const Poem& poem = options.poem();
  if (poem.has_rank_weights() ||
      (poem.objective() != Poem::CRM && poem.objective() != Poem::IPS &&
       poem.objective() != Poem::CLIPPED_IPS) ||
      !(options.action().empty() || options.action() == "rank")) {
    return false;
  }
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  const auto has_gradient_by_rank = [](const model::v1::Policy& policy) {
    return policy.kind_case() == model::v1::Policy::KIND_NOT_SET ||
           (policy.has_plackett_luce() &&
            policy.plackett_luce().rank_factors().empty());
  };
  bool fits =
      !baseline.has_value() || has_gradient_by_rank(baseline->model.policy());
  bool has_rewards = false;
  RETURN_IF_ERROR(VisitNewest(log, [&](const log::v1::BanditTuple& tuple) {
    const log::v1::Decision& decision = tuple.decision();
    if (selection.ReasonToSkip(decision)) return false;
    fits = fits && decision.action_kind() == log::v1::RANK &&
           has_gradient_by_rank(decision.policy());
    has_rewards |= tuple.rank_rewards_size() > 0 &&
                   decision.action_size() > 1 &&
                   HasFiniteRankPropensities(decision);
    return true;
  }));
  return fits && has_rewards;
}

Eigen::VectorXd ParentStart(const TrainOptions& options,
                            const ModelStore& store, const TrainData& data) {
  const uint64_t version = data.counts().newest_version;
  if (version == 0) return {};
  const absl::StatusOr<StoredModel> parent =
      store.Load(options.model(), version);
  if (!parent.ok()) return {};
  return data.ParametersOf(parent->model).value_or(Eigen::VectorXd());
}

absl::Status CheckPrior(const TrainOptions& options, const ModelStore& store) {
  if (options.prior_version() == 0) return absl::OkStatus();
  const Poem& poem = options.poem();
  if (poem.penalty() != Poem::PROXIMAL) {
    return absl::InvalidArgumentError(
        absl::StrCat("prior_version is ", options.prior_version(),
                     ", must be 0 unless poem.penalty is PROXIMAL, which is ",
                     Poem::Penalty_Name(poem.penalty())));
  }
  return LoadPrior(options, store).status();
}

absl::StatusOr<Eigen::VectorXd> PriorOf(const TrainOptions& options,
                                        const ModelStore& store,
                                        const TrainData& data) {
  if (options.prior_version() == 0) return Eigen::VectorXd();
  ASSIGN_OR_RETURN(const StoredModel prior, LoadPrior(options, store));
  std::optional<Eigen::VectorXd> parameters = data.ParametersOf(prior.model);
  if (parameters.has_value()) return *std::move(parameters);
  return absl::FailedPreconditionError(absl::StrCat(
      "prior_version is ", options.prior_version(),
      ", must be a version of the family that is learned: the same kind of "
      "action, law of rankings, features, trees and hidden units"));
}

}  // namespace sortition
