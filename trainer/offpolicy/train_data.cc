#include "trainer/offpolicy/train_data.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/learners/counterfactual/network_tuple_policy.h"
#include "core/learners/rankings/ranking_risk.h"
#include "core/policies/distribution_factory.h"
#include "trainer/offpolicy/frame_options.h"
#include "trainer/offpolicy/label_train_data.h"
#include "trainer/offpolicy/linear_train_data.h"
#include "trainer/offpolicy/rank_marginals.h"
#include "trainer/tuples/labels/label_reader.h"
#include "trainer/tuples/tuple_reader.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using Poem = config::v1::PoemOptions;

uint64_t VersionOf(const std::optional<StoredModel>& baseline) {
  return baseline.has_value() ? baseline->model.version() : 0;
}

// Makes the filter. The tuples must fit the version to be replaced, if there is
// one.
TupleFilter MakeFilter(const TrainOptions& options,
                       const std::optional<StoredModel>& baseline,
                       const ModelFrame& frame) {
  TupleFilter filter;
  filter.features = frame.features;
  filter.rank_marginals = MakeRankMarginals(options);
  filter.baseline_version = VersionOf(baseline);
  filter.baseline_is_of_log = options.baseline() == "log";
  if (baseline.has_value()) {
    const model::v1::Policy& policy = baseline->model.policy();
    filter.action_kind = ActionKindOf(policy);
    if (filter.action_kind == ActionKind::kSelect) {
      filter.can_abstain = policy.softmax_selection().has_abstain_score();
    }
    if (filter.action_kind == ActionKind::kSubset) {
      filter.fixed_size = SubsetSize(policy) > 0;
    }
  }
  if (frame.has_schema()) {
    filter.num_features = 0;
  } else if (frame.model.num_features() > 0) {
    filter.num_features = frame.model.num_features();
  }
  if (options.action() == "select") filter.action_kind = ActionKind::kSelect;
  if (options.action() == "rank") filter.action_kind = ActionKind::kRank;
  if (options.action() == "label") filter.action_kind = ActionKind::kSubset;
  return filter;
}

// InvalidArgument if what options or the version to be replaced say of the kind
// of action is no ranking, and the objective learns from ranks.
absl::Status CheckRanks(const TrainOptions& options,
                        const std::optional<StoredModel>& baseline) {
  if (!NeedsOf(options.poem()).any()) return absl::OkStatus();
  const std::string option = RankOptionText(options.poem());
  if (!options.action().empty() && options.action() != "rank") {
    return absl::InvalidArgumentError(absl::StrCat(
        "action is '", options.action(), "', must be rank as ", option));
  }
  if (options.action().empty() && baseline.has_value() &&
      ActionKindOf(baseline->model.policy()) != ActionKind::kRank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "version ", VersionOf(baseline), " of model '", options.model(),
        "' makes no rankings, must do so as ", option));
  }
  return absl::OkStatus();
}

// InvalidArgument if rankings of the newest law have no gradient by rank.
absl::Status CheckRanksOfLog(const TrainOptions& options,
                             const TupleData& data) {
  const model::v1::Policy& newest = data.newest_policy;
  if (!NeedsOf(options.poem()).any() ||
      (!newest.has_boltzmann_ranking() &&
       newest.plackett_luce().rank_factors().empty())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      RankOptionText(options.poem()), ", version ", data.newest_version, " is ",
      newest.has_boltzmann_ranking() ? "boltzmann_ranking"
                                     : "plackett_luce with rank_factors",
      " and is learned as such, must be plackett_luce without: others have no "
      "gradient by rank"));
}

// Checks that the objective exists for the logged kind of action.
absl::Status CheckObjective(const TrainOptions& options,
                            const TupleData& data) {
  RETURN_IF_ERROR(CheckRanksOfLog(options, data));
  if (NeedsOf(options.poem()).any() ||
      options.poem().objective() != Poem::DOUBLY_ROBUST) {
    return absl::OkStatus();
  }
  if (data.action_kind == ActionKind::kSubset) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, must be another for subsets: the "
        "loss is modelled by candidate");
  }
  if (data.newest_policy.has_boltzmann_ranking()) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, must be another for "
        "boltzmann_ranking: the modelled loss is followed for a softmax of the "
        "first rank");
  }
  if (data.newest_policy.plackett_luce().rank_factors_size() > 0) {
    return absl::InvalidArgumentError(
        "poem.objective is DOUBLY_ROBUST, must be another for plackett_luce "
        "with rank_factors: the modelled loss is followed for a softmax of the "
        "first rank");
  }
  return absl::OkStatus();
}

// Contexts have neither times nor users, and nothing is shown of them.
absl::Status CheckOptionsOfLabels(const TrainOptions& options) {
  const auto must_be = [](absl::string_view name, absl::string_view value,
                          absl::string_view permitted) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is '", value, "', must be ", permitted, " for labels"));
  };
  // It must not be asked for: every set of labels has support without it.
  if (options.has_uniform_mixture() && options.uniform_mixture() != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("uniform_mixture is ", options.uniform_mixture(),
                     ", must be 0 for labels, whose policies have no mixture"));
  }
  if (!options.features().empty() || !options.trees().empty() ||
      options.hidden_units() > 0) {
    return absl::InvalidArgumentError(
        "features, trees or hidden_units is set, must be unset for labels");
  }
  if (options.parts() != "unit_hash") {
    return must_be("parts", options.parts(), "unit_hash");
  }
  if (options.baseline() == "log") {
    return must_be("baseline", options.baseline(), "serving or newest");
  }
  if (!options.decay().empty()) {
    return must_be("decay", options.decay(), "empty");
  }
  if (options.guardrails_size() + options.rewards_size() > 0) {
    return absl::InvalidArgumentError(
        "rewards or guardrails are set, must be empty for labels");
  }
  return absl::OkStatus();
}

LabelFilter MakeLabelFilter(const std::optional<StoredModel>& baseline) {
  LabelFilter filter{.baseline_version = VersionOf(baseline)};
  if (baseline.has_value()) {
    const model::v1::Model& model = baseline->model;
    filter.num_features = model.num_features();
    filter.num_labels = model.policy().independent_labels().num_labels();
  }
  return filter;
}

// Reads tuples as the frame says and fits the size of subsets to what serves.
absl::StatusOr<TupleData> ReadFramed(const TrainOptions& options,
                                     const std::optional<StoredModel>& baseline,
                                     const ModelFrame& frame) {
  ASSIGN_OR_RETURN(TupleData data,
                   ReadTuples(options, MakeFilter(options, baseline, frame)));
  if (data.action_kind == ActionKind::kSubset) {
    const uint32_t served =
        baseline.has_value() ? SubsetSize(baseline->model.policy()) : 0;
    if (data.subset_size > 0 && served > 0) data.subset_size = served;
  }
  return data;
}

// Returns the frame with a hidden layer that is learned from the tuples.
absl::StatusOr<ModelFrame> AddHiddenLayer(
    const TrainOptions& options, const std::optional<StoredModel>& baseline,
    const ModelFrame& without) {
  ModelFrame bare = without;
  bare.model.clear_trees();
  bare.model.clear_hidden_layer();
  ASSIGN_OR_RETURN(bare, FrameOf(bare.model));
  ASSIGN_OR_RETURN(const TupleData data,
                   ReadFramed(WithoutRankRewards(options), baseline, bare));
  absl::StatusOr<model::v1::HiddenLayer> layer =
      LearnHiddenLayer({.family = FamilyOf(data, options),
                        .tuples = data.train,
                        .options = options.poem(),
                        .num_units = options.hidden_units(),
                        .seed = options.poem().seed()});
  RETURN_IF_ERROR(data.ReadStatus());
  if (!layer.ok()) {
    return absl::Status(layer.status().code(),
                        absl::StrCat("hidden_units is ", options.hidden_units(),
                                     ": ", layer.status().message()));
  }
  model::v1::Model model = without.model;
  model.set_num_features(data.num_features);
  *model.mutable_hidden_layer() = *std::move(layer);
  ASSIGN_OR_RETURN(ModelFrame frame, FrameOf(model));
  frame.drafted_features = without.drafted_features;
  return frame;
}

}  // namespace

TrainOptions WithoutRankRewards(TrainOptions options) {
  Poem* const poem = options.mutable_poem();
  poem->clear_rank_weights();
  if (poem->objective() == Poem::EXPOSURE) {
    poem->set_objective(Poem::CLIPPED_IPS);
  }
  return options;
}

absl::StatusOr<std::unique_ptr<TrainData>> ReadTrainData(
    const TrainOptions& options, const std::optional<StoredModel>& baseline) {
  RETURN_IF_ERROR(CheckRanks(options, baseline));
  bool labels = options.action() == "labels";
  if (baseline.has_value() && baseline->model.policy().has_label_chain()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "version ", VersionOf(baseline), " of model '", options.model(),
        "' is a label_chain, which is not served: there is no log to learn "
        "from; give another model"));
  }
  if (baseline.has_value()) {
    const bool of_labels = baseline->model.policy().has_independent_labels();
    if (options.action().empty()) labels = of_labels;
    if (labels != of_labels) {
      return absl::FailedPreconditionError(
          absl::StrCat("action is '", options.action(), "', version ",
                       VersionOf(baseline), " of model '", options.model(),
                       "' chooses ", of_labels ? "labels" : "candidates",
                       ", must be the same; give another model"));
    }
  }
  if (labels) {
    RETURN_IF_ERROR(CheckOptionsOfLabels(options));
    ASSIGN_OR_RETURN(LabelData data,
                     ReadLabelTuples(options, MakeLabelFilter(baseline)));
    return std::make_unique<LabelTrainData>(std::move(data));
  }
  ASSIGN_OR_RETURN(ModelFrame frame, MakeFrame(options, baseline));
  if (options.hidden_units() > 0) {
    ASSIGN_OR_RETURN(frame, AddHiddenLayer(options, baseline, frame));
  }
  ASSIGN_OR_RETURN(TupleData data, ReadFramed(options, baseline, frame));
  RETURN_IF_ERROR(CheckObjective(options, data));
  return std::make_unique<LinearTrainData>(std::move(data), std::move(frame),
                                           options);
}

}  // namespace sortition
