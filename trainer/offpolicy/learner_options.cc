#include "trainer/offpolicy/learner_options.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/poem_options.h"

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
  return poem;
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
