#pragma once
// Supplies tuples of one kind of action to `train`, the rest of which does not
// depend on the kind.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "Eigen/Core"
#include "absl/status/statusor.h"
#include "core/counterfactual/evaluation/missing_mass.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "core/learners/counterfactual/counterfactual_grid.h"
#include "core/learners/counterfactual/weighted_tuples.h"
#include "io/models/model_store.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {

// Training, validation and test tuples. Immutable.
class TrainData : public GridData {
 public:
  virtual const TupleCounts& counts() const = 0;
  // ModelFrame::drafted_features.
  virtual std::string drafted_features() const { return ""; }
  // Whether actions are sets of labels, the same for every context.
  virtual bool has_label_sets() const { return false; }
  // The objective to learn with if the options name none.
  virtual config::v1::PoemOptions::Objective objective() const {
    return config::v1::PoemOptions::CRM;
  }
  // Number of tuples for training, validation and the test.
  virtual size_t num_train() const = 0;
  virtual size_t num_validation() const = 0;
  virtual size_t num_test() const = 0;
  // The rewards of the test part that must not fall.
  virtual std::vector<GuardedReward> guarded() const { return {}; }
  // Returns the losses of the training tuples whose action was shown.
  virtual std::vector<double> ShownLosses() const = 0;

  // Returns the importance weights of the policy with `parameters`.
  virtual absl::StatusOr<WeightedParts> Weigh(
      const Eigen::VectorXd& parameters) const = 0;

  // Returns the test tuples, with the features that the policy's weights
  // multiply; none for sets of labels.
  virtual std::span<const BanditTuple> test_tuples() const { return {}; }
  // Returns the missing mass of the policy with `parameters` in each test
  // tuple, in the order of WeightedParts::test. `logging` is the version that
  // logged them; unset: version 0, which draws uniformly. `logged` has the same
  // tuples with the features of that version. Returns an empty vector if the
  // missing mass is not known (MissingMassOfTuples()).
  virtual std::vector<MissingMass> MissingMassOfTest(
      const Eigen::VectorXd& /*parameters*/,
      const std::optional<model::v1::Model>& /*logging*/,
      const TrainData& /*logged*/) const {
    return {};
  }

  // Returns the parameters that give what `model` serves; empty if it is of
  // another family.
  virtual std::optional<Eigen::VectorXd> ParametersOf(
      const model::v1::Model& model) const = 0;
  // Sets all that servers need but name and version.
  virtual void SetPolicy(const Eigen::VectorXd& parameters,
                         model::v1::Model* model) const = 0;
  // Returns the first error of reading tuples so far. After an error, nothing
  // computed from them may be used.
  virtual absl::Status ReadStatus() const { return absl::OkStatus(); }
  // Returns queries for the warm-up of servers.
  virtual std::vector<log::v1::Decision> Warmup() const { return {}; }
};

// Returns options that read the same tuples without what is known of their
// ranks.
config::v1::TrainOptions WithoutRankRewards(config::v1::TrainOptions options);

// Reads the tuples of the kind that `options` say or, if they do not, that of
// the version to be replaced. That version is `baseline`, unset if there is
// none, and tuples must fit it. Errors as ReadTuples() and ReadLabelTuples();
// FailedPrecondition if only one of option and version chooses labels;
// InvalidArgument if the objective does not exist for that kind, or for the law
// of what logged.
absl::StatusOr<std::unique_ptr<TrainData>> ReadTrainData(
    const config::v1::TrainOptions& options,
    const std::optional<StoredModel>& baseline);

}  // namespace sortition
