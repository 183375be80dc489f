#include "trainer/offpolicy/frame_options.h"

#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/blocks/spec_check.h"
#include "core/features/feature_learning.h"
#include "core/features/feature_transform.h"
#include "core/features/schema/bound_columns.h"
#include "io/columns/word_vector_file.h"
#include "io/files.h"
#include "io/models/text_message.h"
#include "process/log.h"
#include "trainer/suggest/column_sources.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {
namespace {

using config::v1::TrainOptions;
using Assumption = config::v1::LabelledReport::Assumption;

// The value of `trees` that leaves out those of the version before.
constexpr char kNoTrees[] = "none";

Assumption MakeAssumption(absl::string_view option, std::string sentence) {
  Assumption assumption;
  assumption.set_option(std::string(option));
  assumption.set_sentence(std::move(sentence));
  return assumption;
}

// Learns the features of `spec` from the columns of the decisions that are
// read, whatever came of them.
absl::StatusOr<model::v1::Features> LearnFromLog(
    const TrainOptions& options, const model::v1::FeatureSpec& spec) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  ASSIGN_OR_RETURN(const model::v1::WordVectors vectors, ReadVectors(options));
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  RETURN_IF_ERROR(CheckedSpec(schema, spec).status());
  BoundColumns bound;
  uint64_t num_tuples = 0;
  uint64_t num_selected = 0;
  uint64_t num_queries = 0;
  uint64_t num_others = 0;
  absl::Status first_other;
  std::string others;  // OtherModelsText()
  ScanEnds ends;
  // Visits the columns whose types are those of the schema.
  const auto queries = [&](QueryVisitor visit) {
    TupleCounts counts;
    num_tuples = num_selected = num_queries = num_others = 0;
    const absl::Status status = ScanTuples(
        log,
        [&](const log::v1::BanditTuple& tuple) -> absl::Status {
          const log::v1::Decision& decision = tuple.decision();
          ++num_tuples;
          if (const auto reason = selection.ReasonToSkip(decision)) {
            counts.LeaveOut(*reason, tuple);
            return absl::OkStatus();
          }
          ++num_selected;
          if (!decision.has_columns()) return absl::OkStatus();
          const absl::Status fits = bound.Bind(schema, decision.columns(),
                                               {.absent_is_missing = true});
          if (fits.ok()) {
            ++num_queries;
            return visit(decision.columns());
          }
          if (num_others++ == 0) {
            first_other = absl::Status(
                fits.code(), absl::StrCat("decision '", decision.decision_id(),
                                          "': ", fits.message()));
          }
          return absl::OkStatus();
        },
        &counts, &ends);
    others = OtherModelsText(counts);
    return status;
  };
  absl::StatusOr<model::v1::Features> features =
      LearnFeatures(spec, queries, vectors);
  if (num_queries > 0) {
    if (num_others > 0) {
      LogWarning(
          "decisions left out of learning features, columns have other "
          "types",
          {{"decisions", num_others},
           {"first", std::string(first_other.message())}});
    }
    return features;
  }
  if (num_others > 0) return first_other;
  if (num_tuples == 0) return NoTuplesYet(options.tuples());
  if (num_selected == 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "model is '", options.model(), "', but none of the ", num_tuples,
        " tuples in ", options.tuples(),
        " is one that this training reads (model, versions, since, until): "
        "features cannot be learned of them",
        others.empty() ? "" : "; ", others));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "features is '", options.features(), "', must be empty: no decision in ",
      options.tuples(), " has columns"));
}

// Returns the number of features that most of the newest decisions have; 0
// where there are none, or they have columns.
absl::StatusOr<uint32_t> FeaturesOfLog(const TrainOptions& options) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  ASSIGN_OR_RETURN(const std::optional<uint32_t> newest,
                   NewestNumFeatures(log, [&](const auto& tuple) {
                     return !selection.ReasonToSkip(tuple.decision());
                   }));
  return newest.value_or(0);
}

// Returns whether the newest decisions have columns.
absl::StatusOr<bool> LogHasColumns(const TrainOptions& options) {
  ASSIGN_OR_RETURN(
      const TupleLog log,
      TupleLog::Open(options.tuples(),
                     {.mix_joins = options.mix_joins(),
                      .allow_incomplete = options.allow_incomplete(),
                      .scratch = options.scratch()}));
  ASSIGN_OR_RETURN(const TupleSelection selection,
                   TupleSelection::Create(options, log));
  const auto is_read = [&](const log::v1::BanditTuple& tuple) {
    return !selection.ReasonToSkip(tuple.decision());
  };
  ASSIGN_OR_RETURN(const std::optional<uint32_t> num_features,
                   NewestNumFeatures(log, is_read));
  if (num_features != 0u) return false;
  return HasTuple(log, [&](const log::v1::BanditTuple& tuple) {
    return is_read(tuple) && tuple.decision().has_columns();
  });
}

// Drafts features from the columns of the log; also returns them as text.
absl::StatusOr<std::pair<model::v1::FeatureSpec, std::string>> DraftFeatures(
    const TrainOptions& options, uint64_t max_features) {
  ASSIGN_OR_RETURN(const ColumnSource source,
                   DescribeTuples(options, kMaxDescribed));
  ASSIGN_OR_RETURN(
      const FeatureSuggestion suggestion,
      SuggestFrom(source, {.can_abstain = source.can_abstain,
                           .has_word_vectors = !options.word_vectors().empty(),
                           .max_features = max_features}));
  return std::pair(suggestion.spec, SuggestionText(suggestion, source.name));
}

}  // namespace

absl::StatusOr<model::v1::FeatureSpec> ReadFeatureSpec(
    const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  model::v1::FeatureSpec spec;
  RETURN_IF_ERROR(ParseUserMessage(path, "a FeatureSpec", text, &spec));
  return spec;
}

absl::Status CheckMayFollow(const model::v1::FeatureSpec& spec,
                            const model::v1::Model& before) {
  std::string reason;
  if (!before.has_features()) {
    reason = absl::StrCat("takes a matrix of ", before.num_features(),
                          " features, not columns");
  } else {
    reason = FindTypeConflict(spec.schema(), before.features().spec().schema());
  }
  if (reason.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "features: version ", before.version(), " of model '", before.name(),
      "': ", reason, "; give the column or the model another name"));
}

absl::StatusOr<model::v1::WordVectors> ReadVectors(
    const TrainOptions& options) {
  if (options.word_vectors().empty()) return model::v1::WordVectors();
  return ReadWordVectors(options.word_vectors(), options.most_words());
}

absl::StatusOr<std::optional<TreeModelFile>> ReadTrees(
    const TrainOptions& options) {
  if (!options.trees().empty() && options.trees() != kNoTrees) {
    ASSIGN_OR_RETURN(TreeModelFile file, ReadTreeModel(options.trees()));
    return std::optional<TreeModelFile>(std::move(file));
  }
  for (const auto& [name, is_set] :
       {std::pair("trees_first_column", options.has_trees_first_column()),
        std::pair("trees_absent", options.has_trees_absent())}) {
    if (!is_set) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is set, must be unset unless trees names a model file"));
  }
  return std::optional<TreeModelFile>();
}

absl::StatusOr<std::vector<Assumption>> PlaceTrees(
    const TrainOptions& options, TreeModelFile file,
    const FeatureCount& num_features, model::v1::Model* frame) {
  const auto choice = ChooseFirstColumn(
      file, num_features,
      options.has_trees_first_column()
          ? std::optional<uint32_t>(options.trees_first_column())
          : std::nullopt);
  if (!choice.ok()) {
    return absl::Status(
        choice.status().code(),
        absl::StrCat(options.trees(), ": ", choice.status().message()));
  }
  model::v1::TreeEnsemble& trees = *frame->mutable_trees();
  trees = std::move(file.ensemble);
  if (choice->first_column == 1) SkipFirstColumn(&trees);
  if (options.has_trees_absent()) {
    trees.set_absent_feature(options.trees_absent() == TrainOptions::MISSING
                                 ? model::v1::TreeEnsemble::MISSING
                                 : model::v1::TreeEnsemble::ZERO);
  }
  if (frame->num_features() == 0) {
    frame->set_num_features(trees.num_features());
  }
  const bool is_missing =
      trees.absent_feature() == model::v1::TreeEnsemble::MISSING;
  return std::vector<Assumption>{
      MakeAssumption(
          "trees_first_column",
          absl::StrCat("column ", choice->first_column, " of ", options.trees(),
                       " is the first feature of the data: ", choice->reason)),
      MakeAssumption(
          "trees_absent",
          absl::StrCat("a feature that a line or a sparse row does not state "
                       "is ",
                       is_missing ? "a missing value" : "0", " for the trees: ",
                       options.has_trees_absent() ? "as trees_absent says"
                       : is_missing               ? "the model is of XGBoost"
                                    : "the model is of LightGBM"))};
}

absl::StatusOr<ModelFrame> MakeFrame(const TrainOptions& options,
                                     const std::optional<StoredModel>& baseline,
                                     uint64_t max_drafted) {
  model::v1::Model frame;
  if (baseline.has_value()) {
    ASSIGN_OR_RETURN(const ModelFrame before, FrameOf(baseline->model));
    frame = before.model;
  }
  bool is_drafted = options.features() == kAutoFeatures;
  // A first model of columns; trees take the features of requests.
  if (options.features().empty() && !baseline.has_value() &&
      (options.trees().empty() || options.trees() == kNoTrees)) {
    ASSIGN_OR_RETURN(is_drafted, LogHasColumns(options));
  }
  std::string drafted;
  if (is_drafted || !options.features().empty()) {
    model::v1::FeatureSpec spec;
    if (is_drafted) {
      ASSIGN_OR_RETURN(std::tie(spec, drafted),
                       DraftFeatures(options, max_drafted));
    } else {
      ASSIGN_OR_RETURN(spec, ReadFeatureSpec(options.features()));
    }
    if (baseline.has_value()) {
      RETURN_IF_ERROR(CheckMayFollow(spec, baseline->model));
    }
    ASSIGN_OR_RETURN(*frame.mutable_features(), LearnFromLog(options, spec));
    ASSIGN_OR_RETURN(const FeatureTransform transform,
                     FeatureTransform::Create(frame.features()));
    frame.set_num_features(transform.num_features());
    // Those of the version before see other features.
    if (options.trees().empty()) frame.clear_trees();
    frame.clear_hidden_layer();
  } else if (!options.word_vectors().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("word_vectors is '", options.word_vectors(),
                     "', must be empty without features"));
  }
  ASSIGN_OR_RETURN(std::optional<TreeModelFile> trees, ReadTrees(options));
  if (options.trees() == kNoTrees) frame.clear_trees();
  if (trees.has_value()) {
    FeatureCount num_features{frame.num_features()};
    if (num_features.value == 0) {
      ASSIGN_OR_RETURN(num_features.value, FeaturesOfLog(options));
      frame.set_num_features(num_features.value);
    }
    ASSIGN_OR_RETURN(
        const std::vector<Assumption> assumptions,
        PlaceTrees(options, *std::move(trees), num_features, &frame));
    for (const Assumption& assumption : assumptions) {
      LogInfo("assumed", {{"option", assumption.option()},
                          {"what", assumption.sentence()}});
    }
  }
  ASSIGN_OR_RETURN(ModelFrame result, FrameOf(frame));
  result.drafted_features = std::move(drafted);
  return result;
}

}  // namespace sortition
