#include "trainer/labelled/fit.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"
#include "core/learners/classes/logistic.h"
#include "core/learners/labelled/feature_scale.h"
#include "core/learners/labelled/rank_policy.h"
#include "core/scoring/model_features.h"
#include "io/columns/column_queries.h"
#include "io/datasets/label_file_options.h"
#include "io/models/draw_salt.h"
#include "io/models/model_store.h"
#include "trainer/labelled/labelled_frame.h"
#include "trainer/offpolicy/frame_options.h"
#include "trainer/suggest/column_sources.h"

namespace sortition {
namespace {

using config::v1::FitOptions;

// A Newton step takes d² numbers and d³ operations.
constexpr uint32_t kMostMadeFeatures = 4096;
// Dense rows of drafted features take a quarter of it.
constexpr uint64_t kDraftMemoryMb = 2048;

absl::StatusOr<model::v1::Policy> MakePolicy(const FitOptions& options,
                                             double intercept) {
  ASSIGN_OR_RETURN(
      model::v1::Policy policy,
      MakeRankPolicy({.action_kind = options.action() == "select"
                                         ? ActionKind::kSelect
                                         : ActionKind::kRank,
                      .inverse_temperature = options.inverse_temperature(),
                      .uniform_mixture = options.uniform_mixture(),
                      .rank = options.rank_policy()}));
  if (policy.has_softmax_selection()) {
    // A probability below 1/2 means w·x + b < 0, that is, w·x < -b.
    policy.mutable_softmax_selection()->set_abstain_score(-intercept);
  }
  return policy;
}

// A fitted model is not compared with others, so it must not replace one that
// serves.
absl::Status CheckFirst(const FitOptions& options, const ModelStore& store) {
  if (options.force()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const auto versions, store.ListVersions(options.model()));
  if (versions.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "model '", options.model(), "' has version ", versions.back(),
      " already, which would be replaced without a gate; give another model, "
      "or --force"));
}

// Queries on which a server tries the model before it serves it.
constexpr size_t kWarmupQueries = 20;

// Returns `max_queries` of the queries, drawn without replacement by `seed`;
// all if `max_queries` is 0.
std::vector<LabelledQuery> DrawQueries(std::vector<LabelledQuery> queries,
                                       const FitOptions& options) {
  if (options.max_queries() == 0) return queries;
  RandomSequence random(
      StableHash(HashDomain::kTraining, {"fit", absl::StrCat(options.seed())}));
  const size_t wanted = std::min<size_t>(queries.size(), options.max_queries());
  for (size_t i = 0; i < wanted; ++i) {
    std::swap(queries[i], queries[i + random.Below(queries.size() - i)]);
  }
  queries.resize(wanted);
  return queries;
}

std::vector<log::v1::Decision> WarmupQueries(
    const std::vector<LabelledQuery>& queries, const FitOptions& options,
    uint32_t num_features) {
  std::vector<log::v1::Decision> warmup;
  for (const LabelledQuery& query : queries) {
    if (warmup.size() == kWarmupQueries) break;
    log::v1::Decision& decision = warmup.emplace_back();
    decision.set_decision_id(absl::StrCat("warmup-", query.id));
    decision.set_model(options.model());
    const bool select = options.action() == "select";
    decision.set_action_kind(select ? log::v1::SELECT : log::v1::RANK);
    decision.set_can_abstain(select);
    decision.set_num_candidates(static_cast<uint32_t>(query.relevances.size()));
    if (!select) decision.set_top_k(decision.num_candidates());
    if (query.columns != nullptr) {
      *decision.mutable_columns() = *query.columns;
      continue;
    }
    decision.set_num_features(num_features);
    decision.mutable_dense_values()->Add(query.features.begin(),
                                         query.features.end());
  }
  return warmup;
}

// The queries that are used, as rows.
struct FitData {
  std::vector<LabelledQuery> queries;
  size_t num_read = 0;
  uint64_t extreme_values = 0;  // No finite floats.
  model::v1::Model frame;       // Features, if they have columns, and how many.
  std::string drafted_features;  // As in ModelFrame.
};

bool IsDrafted(const FitOptions& options) {
  return options.features() == kAutoFeatures ||
         (options.features().empty() && IsColumnFile(options.data()));
}

absl::StatusOr<FitData> ReadWithFeatures(const FitOptions& options) {
  config::v1::TrainOptions vectors_options;
  vectors_options.set_word_vectors(options.word_vectors());
  vectors_options.set_most_words(options.most_words());
  ASSIGN_OR_RETURN(const auto vectors, ReadVectors(vectors_options));
  FitData data;
  model::v1::FeatureSpec spec;
  if (IsDrafted(options)) {
    ASSIGN_OR_RETURN(
        std::tie(spec, data.drafted_features),
        DraftFromFiles({options.data()}, kDraftMemoryMb,
                       {.can_abstain = options.action() == "select",
                        .has_word_vectors = !options.word_vectors().empty(),
                        .max_features = kMostMadeFeatures / 2}));
  } else {
    ASSIGN_OR_RETURN(spec, ReadFeatureSpec(options.features()));
  }
  ASSIGN_OR_RETURN(const Schema schema, Schema::Create(spec.schema()));
  ASSIGN_OR_RETURN(
      LabelledQueries read,
      ReadQueries(options.data(), &schema, {.groups = options.groups()}));
  ASSIGN_OR_RETURN(*data.frame.mutable_features(),
                   LearnFromQueries(spec, read.queries, vectors));
  ASSIGN_OR_RETURN(const auto transform,
                   FeatureTransform::Create(data.frame.features()));
  data.frame.set_num_features(transform.num_features());
  if (transform.num_features() > kMostMadeFeatures) {
    return absl::InvalidArgumentError(
        absl::StrCat("features makes ", transform.num_features(),
                     " features of a candidate, must be at most ",
                     kMostMadeFeatures, " for fit; train takes more"));
  }
  ASSIGN_OR_RETURN(const ModelFeatures features,
                   ModelFeatures::Create(data.frame));
  data.num_read = read.queries.size();
  data.queries = DrawQueries(std::move(read.queries), options);
  ModelFeatureScratch scratch;
  for (LabelledQuery& query : data.queries) {
    ASSIGN_OR_RETURN(query.features, MakeRows(features, query, 0, &scratch));
  }
  return data;
}

absl::StatusOr<FitData> ReadFitData(const FitOptions& options) {
  if (!options.features().empty() || IsDrafted(options)) {
    return ReadWithFeatures(options);
  }
  if (!options.word_vectors().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("word_vectors is '", options.word_vectors(),
                     "', must be empty without features"));
  }
  ASSIGN_OR_RETURN(
      LabelledQueries read,
      ReadQueries(options.data(), nullptr,
                  {.lines = ToSvmlightOptions(options.label_files()),
                   .groups = options.groups()}));
  FitData data;
  data.extreme_values = read.extreme_values;
  data.frame.set_num_features(read.num_features);
  data.num_read = read.queries.size();
  data.queries = DrawQueries(std::move(read.queries), options);
  return data;
}

struct Fitted {
  LogisticResult logistic;      // Weights in original units.
  std::vector<uint8_t> labels;  // Of all candidates; 1: relevant.
};

absl::StatusOr<Fitted> FitRows(const FitData& data, const FitOptions& options) {
  std::vector<float> features;
  std::vector<uint32_t> relevances;
  Fitted fitted;
  for (const LabelledQuery& query : data.queries) {
    features.insert(features.end(), query.features.begin(),
                    query.features.end());
    for (const uint32_t relevance : query.relevances) {
      relevances.push_back(relevance);
      fitted.labels.push_back(relevance >= options.relevant_from() ? 1 : 0);
    }
  }
  const uint32_t d = data.frame.num_features();
  const LabelledItems all = {Candidates::DenseUnchecked(features, d),
                             relevances};
  const FeatureScale scale({&all, 1});
  scale.Divide(features);
  ASSIGN_OR_RETURN(fitted.logistic, FitLogistic({.features = features,
                                                 .labels = fitted.labels,
                                                 .num_features = d},
                                                options.logistic()));
  scale.ToOriginalUnits(1, fitted.logistic.weights);
  return fitted;
}

}  // namespace

absl::Status ValidateFitOptions(const FitOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  RETURN_IF_ERROR(ValidateDrawSalt(options.draw_salt()));
  if (options.action() != "select" && options.action() != "rank") {
    return absl::InvalidArgumentError(absl::StrCat(
        "action is '", options.action(), "', must be select or rank"));
  }
  return MakePolicy(options, 0).status();
}

absl::StatusOr<FitReport> Fit(const FitOptions& options) {
  RETURN_IF_ERROR(ValidateFitOptions(options));
  const ModelStore store(options.model_store());
  RETURN_IF_ERROR(CheckFirst(options, store));
  ASSIGN_OR_RETURN(const FitData data, ReadFitData(options));
  ASSIGN_OR_RETURN(const Fitted fitted, FitRows(data, options));
  const LogisticResult& fit = fitted.logistic;

  model::v1::Model model = data.frame;
  model.set_name(options.model());
  ASSIGN_OR_RETURN(*model.mutable_policy(), MakePolicy(options, fit.intercept));
  model.mutable_weights()->Add(fit.weights.begin(), fit.weights.end());
  model::v1::Provenance* provenance = model.mutable_provenance();
  provenance->set_learner("logistic");
  FitOptions shown = options;
  shown.clear_draw_salt();
  provenance->set_options(shown.ShortDebugString());
  provenance->set_created_time_us(absl::ToUnixMicros(absl::Now()));
  provenance->set_num_tuples(fitted.labels.size());
  FitReport report;
  ASSIGN_OR_RETURN(report.version,
                   store.Publish(std::move(model), nullptr,
                                 WarmupQueries(data.queries, options,
                                               data.frame.num_features()),
                                 {.draw_salt = options.draw_salt()}));
  report.queries = static_cast<uint32_t>(data.queries.size());
  report.queries_left_out =
      static_cast<uint32_t>(data.num_read - data.queries.size());
  report.candidates = fitted.labels.size();
  report.relevant = static_cast<uint64_t>(
      std::count(fitted.labels.begin(), fitted.labels.end(), uint8_t{1}));
  report.num_features = data.frame.num_features();
  report.extreme_values = data.extreme_values;
  report.drafted_features = data.drafted_features;
  report.iterations = fit.iterations;
  report.converged = fit.converged;
  return report;
}

}  // namespace sortition
