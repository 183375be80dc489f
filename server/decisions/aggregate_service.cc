#include "server/decisions/aggregate_service.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/segments/decision_view.h"
#include "server/decisions/aggregate_time.h"
#include "server/decisions/decision_cost.h"
#include "server/decisions/request_validation.h"

namespace sortition {
namespace {

using v1::AggregateRequest;
using v1::AggregateResponse;

constexpr char kDefaultName[] = "aggregate";
constexpr double kMaxConcentration = 1e6;
constexpr double kMaxWeight = 1e300;
constexpr uint32_t kMaxCutoff = 1'000'000;
constexpr uint32_t kMaxSamples = 100'000;
constexpr double kDefaultConfidence = 0.95;
constexpr uint32_t kPairs = 100;

absl::Status Refuse(absl::string_view field, absl::string_view value,
                    absl::string_view must) {
  return absl::InvalidArgumentError(
      absl::StrCat(field, " = ", value, ": must be ", must));
}

absl::Status CheckContext(const v1::DecisionContext& context) {
  if (context.has_version()) {
    return Refuse("context.version", absl::StrCat(context.version()),
                  "unset: Aggregate uses no model");
  }
  if (context.return_game() || context.return_probabilities()) {
    return Refuse(context.return_game() ? "context.return_game"
                                        : "context.return_probabilities",
                  "true", "false for Aggregate");
  }
  if (!context.candidates().has_dense()) {
    return absl::InvalidArgumentError(
        "context.candidates.features is not dense: must be dense, a row of "
        "scores for each candidate");
  }
  if (context.model().empty()) return absl::OkStatus();
  if (const absl::Status status = ValidateModelName(context.model());
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("context.model: ", status.message()));
  }
  return absl::OkStatus();
}

// Checks what ValidateScoreLists() requires of weights, but names the fields of
// the request.
absl::Status CheckWeights(const v1::Aggregation& aggregation,
                          uint32_t num_sources) {
  const auto& weights = aggregation.weights();
  if (weights.empty()) return absl::OkStatus();
  if (static_cast<uint32_t>(weights.size()) != num_sources) {
    return absl::InvalidArgumentError(absl::StrCat(
        "aggregation.weights has ", weights.size(), " entries: must have ",
        num_sources, ", one per source, or none"));
  }
  for (int s = 0; s < weights.size(); ++s) {
    if (weights[s] >= 0 && weights[s] <= kMaxWeight) continue;
    return Refuse(absl::StrCat("aggregation.weights[", s, "]"),
                  absl::StrCat(weights[s]), "in [0, 1e300]");
  }
  if (*std::max_element(weights.begin(), weights.end()) > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "aggregation.weights are all 0: at least one must be above 0");
}

absl::StatusOr<ScoreScale> ValidateScale(const v1::Aggregation& aggregation) {
  if (const auto scale = ScaleOf(aggregation); scale.has_value()) return *scale;
  return Refuse("aggregation.scale", absl::StrCat(aggregation.scale()),
                "MIN_MAX, RANK or NONE");
}

absl::StatusOr<AggregateDivergence> ValidateDivergence(
    const AggregateRequest& request) {
  switch (request.divergence()) {
    case AggregateRequest::DCG:
      return AggregateDivergence::kDcg;
    case AggregateRequest::ALL_PAIRS:
      return AggregateDivergence::kAllPairs;
    case AggregateRequest::TOP:
      return AggregateDivergence::kTop;
    default:
      break;
  }
  return Refuse("divergence", absl::StrCat(request.divergence()),
                "DCG, ALL_PAIRS or TOP");
}

absl::Status CheckBootstrap(const AggregateRequest& request,
                            uint32_t num_sources, uint32_t num_eligible,
                            const config::v1::RequestLimits& limits) {
  const uint32_t samples = request.bootstrap_samples();
  const uint32_t pairs = std::min(kPairs, num_eligible - 1);
  const uint64_t most =
      std::min<uint64_t>(kMaxSamples, limits.max_aggregate_work() /
                                          (uint64_t{num_sources} * pairs));
  if (samples > most) {
    return Refuse(
        "bootstrap_samples", absl::StrCat(samples),
        absl::StrCat("in [0, ", most, "] for ", num_sources, " sources and ",
                     pairs,
                     " pairs of neighbours (limits.max_aggregate_work = ",
                     limits.max_aggregate_work(), ")"));
  }
  if (request.has_confidence() &&
      !(request.confidence() > 0 && request.confidence() < 1)) {
    return Refuse("confidence", absl::StrCat(request.confidence()),
                  "above 0 and below 1");
  }
  return absl::OkStatus();
}

// Validates how to draw and returns the policy that does it; no kind if nothing
// is to be drawn.
absl::StatusOr<model::v1::Policy> MakePolicy(const AggregateRequest& request,
                                             AggregateDivergence divergence) {
  const double uniform = request.uniform_mixture();
  if (!(uniform >= 0 && uniform <= 1)) {
    return Refuse("uniform_mixture", absl::StrCat(uniform), "in [0, 1]");
  }
  if (!request.has_concentration()) {
    if (uniform == 0 && request.head() == 0) return model::v1::Policy();
    return absl::InvalidArgumentError(
        "concentration is unset: must be in (0, 1000000] where "
        "uniform_mixture or head is set");
  }
  if (!(request.concentration() > 0 &&
        request.concentration() <= kMaxConcentration)) {
    return Refuse("concentration", absl::StrCat(request.concentration()),
                  absl::StrCat("in (0, ", kMaxConcentration, "]"));
  }
  if (request.head() > 16) {
    return Refuse("head", absl::StrCat(request.head()), "in [0, 16]");
  }
  model::v1::Policy policy =
      MakeAggregateDraw(divergence, request.cutoff(), request.concentration());
  policy.mutable_boltzmann_ranking()->set_head(request.head());
  policy.set_uniform_mixture(uniform);
  return policy;
}

// Returns the order of `action`, completed by the other candidates in the order
// of their mean, as positions among the eligible candidates.
std::vector<uint32_t> CompleteOrder(const AggregateResult& result,
                                    const Action& action,
                                    uint32_t num_candidates) {
  std::vector<uint32_t> position(num_candidates);
  for (uint32_t p = 0; p < result.eligible_documents.size(); ++p) {
    position[result.eligible_documents[p]] = p;
  }
  std::vector<uint32_t> order;
  std::vector<uint8_t> taken(result.eligible_documents.size());
  for (const int32_t document : action) {
    order.push_back(position[document]);
    taken[order.back()] = 1;
  }
  for (const uint32_t p : result.mean.order) {
    if (taken[p] == 0) order.push_back(p);
  }
  return order;
}

absl::Status OutOfTime() {
  return absl::DeadlineExceededError(
      "deadline passed while the order was made; not decided");
}

// Adds the confidence of each pair of neighbours. What `time_used` leaves out
// is said in `degraded`.
void AddPairs(const AggregateRequest& request, const AggregateQuery& query,
              const AggregateResult& result, uint64_t seed,
              const std::function<double()>& time_used,
              AggregateResponse* response, std::string* degraded) {
  const uint32_t samples = request.bootstrap_samples();
  if (samples == 0) return;
  const BootstrapOptions options = {.samples = samples,
                                    .confidence = request.has_confidence()
                                                      ? request.confidence()
                                                      : kDefaultConfidence,
                                    .pairs = kPairs,
                                    .seed = seed,
                                    .time_used = &time_used};
  const std::vector<PairConfidence> pairs =
      BootstrapPairs(result.lists, query.scale, result.mean, options);
  for (const PairConfidence& pair : pairs) {
    v1::PairConfidence* row = response->add_pairs();
    row->set_rank(pair.rank);
    row->set_difference(pair.difference);
    row->set_lower(pair.lower);
    row->set_upper(pair.upper);
    row->set_support(pair.support);
  }
  const size_t wanted =
      std::min<size_t>(kPairs, result.eligible_documents.size() - 1);
  const uint32_t drawn = pairs.empty() ? 0 : pairs[0].samples;
  if (drawn == samples && pairs.size() == wanted) return;
  AddDegraded(
      absl::StrCat("bootstrap_samples = ", samples, " cut to ", drawn, ", and ",
                   wanted, " pairs to ", pairs.size(), ", by the deadline"),
      degraded);
}

}  // namespace

AggregateService::AggregateService(const config::v1::RequestLimits& limits,
                                   SpoolWriter* spool, Metrics* metrics)
    : limits_(limits),
      recorder_(spool),
      sources_(metrics->Histogram("sortition_aggregate_sources",
                                  "Score lists per aggregation",
                                  {1, 2, 3, 5, 10, 20, 50, 100, 1000})),
      drawn_(metrics->Counter("sortition_aggregates_drawn_total",
                              "Aggregations whose order was drawn")) {}

absl::StatusOr<AggregateService::CheckedRequest> AggregateService::Check(
    const AggregateRequest& request) const {
  const v1::DecisionContext& context = request.context();
  CheckedRequest checked;
  AggregateQuery& query = checked.query;
  ASSIGN_OR_RETURN(query.lists, ValidateQuery(context, limits_, 0));
  RETURN_IF_ERROR(CheckContext(context));
  checked.name = context.model().empty() ? kDefaultName : context.model();
  const uint32_t n = query.lists.candidates.num_candidates();
  const uint32_t sources = query.lists.candidates.num_features();
  const uint32_t eligible = NumEligible(query.lists);
  if (eligible < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("context.candidates: ", eligible, " of ", n,
                     " is eligible: must be at least 2"));
  }
  RETURN_IF_ERROR(CheckWeights(request.aggregation(), sources));
  query.weights = SpanOf(request.aggregation().weights());
  ASSIGN_OR_RETURN(query.scale, ValidateScale(request.aggregation()));
  RETURN_IF_ERROR(
      SetTopK(RequestedTopK(request), &query.lists, &checked.degraded));
  if (request.cutoff() > kMaxCutoff) {
    return Refuse("cutoff", absl::StrCat(request.cutoff()),
                  absl::StrCat("in [0, ", kMaxCutoff, "]"));
  }
  ASSIGN_OR_RETURN(const AggregateDivergence divergence,
                   ValidateDivergence(request));
  ASSIGN_OR_RETURN(checked.divergence,
                   MakeDivergence(divergence, request.cutoff(), eligible));
  RETURN_IF_ERROR(CheckBootstrap(request, sources, eligible, limits_));
  ASSIGN_OR_RETURN(checked.policy, MakePolicy(request, divergence));
  return checked;
}

void AggregateService::AddDetails(const AggregateRequest& request,
                                  const CheckedRequest& checked,
                                  const Draw& draw, log::v1::Decision* record) {
  record->set_action_kind(log::v1::RANK);
  if (checked.policy.kind_case() != model::v1::Policy::KIND_NOT_SET) {
    *record->mutable_policy() = checked.policy;
  }
  *record->mutable_aggregation() = request.aggregation();
  record->set_top_k(static_cast<uint32_t>(draw.action.size()));
  record->mutable_conditional_log_propensities()->Assign(
      draw.conditional_log_propensities.begin(),
      draw.conditional_log_propensities.end());
}

void AggregateService::AddAnswer(const AggregateRequest& request,
                                 const CheckedRequest& checked,
                                 const DecisionScratch& scratch,
                                 AggregateResponse* response) {
  const AggregateQuery& query = checked.query;
  const AggregateResult& result = scratch.aggregate;
  const Draw& draw = scratch.draw;
  const uint32_t n = query.lists.candidates.num_candidates();
  if (request.context().return_scores()) {
    v1::DecisionResult& answer = *response->mutable_result();
    answer.mutable_scores()->Resize(static_cast<int>(n), 0);
    for (size_t p = 0; p < result.eligible_documents.size(); ++p) {
      answer.set_scores(static_cast<int>(result.eligible_documents[p]),
                        result.mean.mean[p]);
    }
  }
  response->mutable_order()->Assign(draw.action.begin(), draw.action.end());
  response->mutable_conditional_log_propensities()->Assign(
      draw.conditional_log_propensities.begin(),
      draw.conditional_log_propensities.end());
  response->set_total_variation(result.mean.total_variation);
}

void AggregateService::AddDivergences(const CheckedRequest& checked,
                                      const DecisionScratch& scratch,
                                      AggregateResponse* response) {
  const AggregateResult& result = scratch.aggregate;
  const uint32_t n = checked.query.lists.candidates.num_candidates();
  const std::vector<double> divergences =
      SourceDivergences(result.lists, checked.query.scale, *checked.divergence,
                        CompleteOrder(result, scratch.draw.action, n),
                        WhileTimeIsLeft(checked.query.is_over));
  response->mutable_divergences()->Assign(divergences.begin(),
                                          divergences.end());
}

absl::Status AggregateService::Aggregate(const AggregateRequest& request,
                                         DecisionScratch* scratch,
                                         AggregateResponse* response) {
  response->Clear();
  const AggregateTime time(request, scratch->seconds_left);
  RETURN_IF_ERROR(time.Check());
  const std::function<bool()> is_over = [&time] { return time.is_over(); };
  // The rest is for what follows the bootstrap, and for the way back.
  const std::function<double()> time_used = [&time] {
    return time.used() / 0.7;
  };
  ASSIGN_OR_RETURN(CheckedRequest checked, Check(request));
  AggregateQuery& query = checked.query;
  query.is_over = &is_over;
  const Candidates& candidates = query.lists.candidates;
  const uint32_t sources = candidates.num_features();
  const uint64_t work = uint64_t{request.bootstrap_samples()} * sources *
                        std::min(kPairs, candidates.num_candidates() - 1);
  if (IsTooLong(AggregateSeconds(candidates.num_candidates(), sources, work) +
                    DrawSeconds(checked.policy, candidates.num_candidates(), 0),
                scratch)) {
    return TooLong();
  }
  ASSIGN_OR_RETURN(const AggregatePolicy policy,
                   AggregatePolicy::Create(checked.policy));
  const OpenDecision decision =
      recorder_.Begin({request.context(), query.lists, checked.name},
                      response->mutable_result());
  const Draw& draw = scratch->draw;
  RETURN_IF_ERROR(
      policy.Decide(query, decision.key, &scratch->aggregate, &scratch->draw));
  RETURN_IF_ERROR(ValidateLogPropensity(
      draw.log_propensity, "scores",
      "times concentration are beyond what can be drawn"));
  AddDivergences(checked, *scratch, response);
  if (time.is_over()) return OutOfTime();
  AddPairs(request, query, scratch->aggregate, decision.key.low, time_used,
           response, &checked.degraded);
  if (time.is_over()) return OutOfTime();
  RETURN_IF_ERROR(recorder_.Finish(
      decision, checked.degraded,
      [&](log::v1::Decision* record) {
        AddDetails(request, checked, draw, record);
      },
      scratch));
  AddAnswer(request, checked, *scratch, response);
  sources_->Observe(sources);
  if (checked.policy.has_boltzmann_ranking()) drawn_->Increment();
  return absl::OkStatus();
}

}  // namespace sortition
