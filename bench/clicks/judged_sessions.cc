#include "bench/clicks/judged_sessions.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/status_macros.h"
#include "core/counterfactual/rankings/ranking_sums.h"
#include "core/learners/rankings/prefix_law.h"

namespace sortition {
namespace {

constexpr uint64_t kModelSeed = 1'000'000'007;
// Enough that the choice of kAdaptive knows its errors.
constexpr size_t kGroups = 509;

// Numbers by candidate from those by rank and candidate.
std::vector<double> OverRanks(std::span<const double> marginals,
                              std::span<const double> values) {
  const size_t n = marginals.size() / kPageRanks;
  std::vector<double> sums(n, 0.0);
  for (size_t k = 0; k < kPageRanks; ++k) {
    for (size_t d = 0; d < n; ++d) sums[d] += marginals[k * n + d] * values[k];
  }
  return sums;
}

std::vector<double> Logs(std::vector<double> values) {
  for (double& value : values) value = std::log(value);
  return values;
}

absl::StatusOr<RankingSums> MakeSums(const RankingInputs& inputs) {
  RankingSums::Options options;
  options.value = {.rank_weights = std::vector<double>(kPageRanks, 1.0),
                   .whole_weight = 0};
  options.policies = {inputs};
  options.num_groups = kGroups;
  return RankingSums::Create(std::move(options));
}

}  // namespace

std::span<const PageEstimator> AllPageEstimators() {
  static constexpr std::array<PageEstimator, kNumPageEstimators> kAll = {
      PageEstimator::kWholeOrder,         PageEstimator::kNormalisedOrder,
      PageEstimator::kReadPrefix,         PageEstimator::kPrefixes,
      PageEstimator::kNormalisedPrefixes, PageEstimator::kCascadeDr,
      PageEstimator::kItemPosition,       PageEstimator::kAdaptive,
      PageEstimator::kBiasCorrected};
  return kAll;
}

std::string PageEstimatorName(PageEstimator estimator) {
  switch (estimator) {
    case PageEstimator::kWholeOrder:
      return "whole order";
    case PageEstimator::kNormalisedOrder:
      return "whole order, normalised";
    case PageEstimator::kReadPrefix:
      return "read prefix";
    case PageEstimator::kPrefixes:
      return "prefixes";
    case PageEstimator::kNormalisedPrefixes:
      return "prefixes, normalised";
    case PageEstimator::kCascadeDr:
      return "cascade DR";
    case PageEstimator::kItemPosition:
      return "item-position";
    case PageEstimator::kAdaptive:
      return "adaptive";
    case PageEstimator::kBiasCorrected:
      return "bias-corrected";
  }
  return "";
}

// Reuses its buffers.
class PageJudge::Sums {
 public:
  static absl::StatusOr<Sums> Create(const PageJudge* judge) {
    ASSIGN_OR_RETURN(RankingSums shown,
                     MakeSums({.marginals = true, .prefix_model = true}));
    ASSIGN_OR_RETURN(RankingSums read, MakeSums({}));
    return Sums(judge, std::move(shown), std::move(read));
  }

  absl::Status Add(uint32_t number, const PageSession& session) {
    Describe(session);
    const std::span<const double> logged =
        session.draw.conditional_log_propensities;
    const RankedDecision decision = {.rewards = rewards_,
                                     .log_conditionals = logged,
                                     .log_marginals = log_marginals_};
    const JudgedRanking judged = {.log_conditionals = conditionals_,
                                  .log_marginals = target_marginals_,
                                  .prefix_logged = model_logged_,
                                  .prefix_policy = model_policy_};
    const uint64_t unit = SessionUnit(number);
    RETURN_IF_ERROR(shown_.Add(unit, 1, decision, {&judged, 1}));
    const RankedDecision short_decision = {
        .rewards = std::span<const double>(rewards_).first(session.num_read),
        .log_conditionals = logged};
    const JudgedRanking short_judged = {.log_conditionals = conditionals_};
    RETURN_IF_ERROR(read_.Add(unit, 1, short_decision, {&short_judged, 1}));
    ASSIGN_OR_RETURN(
        const ClickTerms terms,
        ClickTermsOf(judge_->examination_, {.clicks = rewards_,
                                            .target_weights = target_exposures_,
                                            .examinations = log_exposures_}));
    corrected_ += terms.plain;
    ++count_;
    return absl::OkStatus();
  }

  PageEstimates Estimates() const {
    const auto from = [](const RankingSums& sums, RankingEstimatorKind kind) {
      return EstimateRatios(sums.sums(), sums.RatiosOf(0, kind)).value;
    };
    const std::vector<double>& offsets = judge_->examination_.beta;
    return {
        from(shown_, RankingEstimatorKind::kWholeOrder),
        from(shown_, RankingEstimatorKind::kSelfNormalisedWholeOrder),
        from(read_, RankingEstimatorKind::kShownPrefix),
        from(shown_, RankingEstimatorKind::kRewardInteraction),
        from(shown_, RankingEstimatorKind::kSelfNormalisedRewardInteraction),
        from(shown_, RankingEstimatorKind::kCascadeDr),
        from(shown_, RankingEstimatorKind::kItemPosition),
        from(shown_, RankingEstimatorKind::kAdaptive),
        // Clicks that no relevance explains come on top.
        corrected_ / static_cast<double>(count_) +
            std::accumulate(offsets.begin(), offsets.end(), 0.0)};
  }

 private:
  Sums(const PageJudge* judge, RankingSums shown, RankingSums read)
      : judge_(judge),
        shown_(std::move(shown)),
        read_(std::move(read)),
        law_(kPageMixture),
        rewards_(kPageRanks),
        conditionals_(kPageRanks),
        log_marginals_(kPageRanks),
        target_marginals_(kPageRanks),
        model_logged_(kPageRanks),
        model_policy_(kPageRanks),
        target_exposures_(kPageRanks),
        log_exposures_(kPageRanks) {}

  // Fills the buffers.
  void Describe(const PageSession& session) {
    const Page& page = judge_->pages_[session.page];
    const std::vector<double>& attractions =
        judge_->model_.attractions[session.page];
    const std::vector<int32_t>& order = session.draw.action;
    const std::span<const double> scores =
        judge_->target_->scores(session.page);
    const size_t n = scores.size();
    law_.Evaluate(scores, order);
    // Attractions of what is left, for the uniform part of the policy.
    double left = std::accumulate(attractions.begin(), attractions.end(), 0.0);
    probabilities_.resize(n);
    for (size_t k = 0; k < kPageRanks; ++k) {
      const auto d = static_cast<size_t>(order[k]);
      rewards_[k] = session.clicks[k];
      conditionals_[k] =
          std::min(law_.log_prefix(k + 1) - law_.log_prefix(k), 0.0);
      log_marginals_[k] = page.log_marginals[k * n + d];
      target_marginals_[k] = page.target_marginals[k * n + d];
      target_exposures_[k] = page.target_exposures[d];
      log_exposures_[k] = page.log_exposures[d];
      const double examined = judge_->model_.examination[k];
      model_logged_[k] = examined * attractions[d];
      law_.PolicyConditionals(k, probabilities_);
      const double by_policy =
          std::inner_product(probabilities_.begin(), probabilities_.end(),
                             attractions.begin(), 0.0);
      const double policy = law_.policy_posterior(k);
      model_policy_[k] =
          examined * (policy * by_policy +
                      (1 - policy) * left / static_cast<double>(n - k));
      left -= attractions[d];
    }
  }

  const PageJudge* judge_;
  RankingSums shown_;
  RankingSums read_;
  double corrected_ = 0;
  uint64_t count_ = 0;
  PrefixLaw law_;
  std::vector<double> rewards_;
  std::vector<double> conditionals_;
  std::vector<double> log_marginals_;
  std::vector<double> target_marginals_;
  std::vector<double> model_logged_;
  std::vector<double> model_policy_;
  std::vector<double> target_exposures_;
  std::vector<double> log_exposures_;
  std::vector<double> probabilities_;
};

absl::StatusOr<PageJudge> PageJudge::Create(
    const PagePolicy* log, const PagePolicy* target, const ClickUser* user,
    const std::vector<double>& examinations) {
  PageJudge judge(log, target, user);
  const ClickModel& model = user->model;
  const bool is_trust = model.kind == ClickModelKind::kTrustBias;
  for (size_t k = 0; k < kPageRanks; ++k) {
    judge.examination_.alpha.push_back(
        is_trust ? model.Slope(k) : std::min(examinations[k], 1.0));
    if (is_trust) judge.examination_.beta.push_back(model.Offset(k));
  }
  ASSIGN_OR_RETURN(judge.model_, FitPageModel(*log, *user, kModelSeed));
  judge.DescribePages();
  return judge;
}

void PageJudge::DescribePages() {
  std::vector<std::vector<double>> logged = log_->Marginals();
  std::vector<std::vector<double>> judged = target_->Marginals();
  for (size_t p = 0; p < log_->size(); ++p) {
    Page& page = pages_.emplace_back();
    page.target_exposures = OverRanks(judged[p], examination_.alpha);
    page.log_exposures = OverRanks(logged[p], examination_.alpha);
    page.log_marginals = Logs(std::move(logged[p]));
    page.target_marginals = Logs(std::move(judged[p]));
  }
}

absl::StatusOr<std::vector<PageEstimates>> PageJudge::EstimatesOf(
    std::span<const uint32_t> sizes, uint64_t run) const {
  ASSIGN_OR_RETURN(Sums sums, Sums::Create(this));
  SessionSource source(log_, user_, run);
  PageSession session;
  std::vector<PageEstimates> estimates;
  uint32_t number = 0;
  for (const uint32_t size : sizes) {
    for (; number < size; ++number) {
      source.Next(number, &session);
      RETURN_IF_ERROR(sums.Add(number, session));
    }
    estimates.push_back(sums.Estimates());
  }
  return estimates;
}

}  // namespace sortition
