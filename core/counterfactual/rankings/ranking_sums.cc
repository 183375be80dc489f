#include "core/counterfactual/rankings/ranking_sums.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/counterfactual/rankings/behaviour_choice.h"

namespace sortition {
namespace {

using Kind = RankingEstimatorKind;
using Weight = RankingWeightKind;
using Form = RankingForm;

// Entries of a row: those of the log (two blocks by rank, one by segment and
// fold), then those of each policy.
constexpr size_t kCount = 0;
constexpr size_t kReward = 1;   // R
constexpr size_t kLargest = 2;  // R if all rewards of shown ranks were 1
constexpr size_t kFirstRank = 3;
constexpr size_t kLogRankBlocks = 2;  // r_k, and decisions that hid rank k

// Entries of a policy: three blocks by weight, single ones, five blocks by
// rank, and one by segment, fold and candidate.
constexpr size_t kPlain = 0;
constexpr size_t kDoublyRobust = kPlain + kNumRankingWeights;
constexpr size_t kWeight = kDoublyRobust + kNumRankingWeights;
constexpr size_t kDirect = kWeight + kNumRankingWeights;
constexpr size_t kRatio = kDirect + 1;  // ρ or γ without what can be earned
constexpr size_t kShownGain = kRatio + kNumRankingWeights;  // ρ_{1:L} w
constexpr size_t kFirstPolicyRank = kShownGain + 1;

constexpr size_t kPrefixWeight = 0;    // ρ_{1:k}
constexpr size_t kPrefixGain = 1;      // ρ_{1:k} r_k
constexpr size_t kMarginalWeight = 2;  // m_k
constexpr size_t kMarginalGain = 3;    // m_k r_k
constexpr size_t kHiddenWeight = 4;    // ρ_{1:L} of decisions that hid rank k
constexpr size_t kRankBlocks = 5;

size_t At(Weight kind) { return static_cast<size_t>(kind); }

size_t LogEntries(const RankingSums::Options& options) {
  return kFirstRank + kLogRankBlocks * options.value.rank_weights.size() +
         options.num_segments * RankingSums::kNumFolds;
}

size_t CandidateEntries(const RankingSums::Options& options) {
  return options.num_segments * RankingSums::kNumFolds *
         RankingSums::kNumCandidates;
}

size_t PolicyEntries(const RankingSums::Options& options) {
  return kFirstPolicyRank + kRankBlocks * options.value.rank_weights.size() +
         CandidateEntries(options);
}

template <typename Sums>
void AddAll(const std::vector<Sums>& from, std::vector<Sums>* to) {
  for (size_t i = 0; i < from.size(); ++i) {
    (*to)[i].sum += from[i].sum;
    (*to)[i].square += from[i].square;
  }
}

absl::Status CheckBetween(absl::string_view field, size_t value, size_t least,
                          size_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " is ", value, ", must be in [", least, ", ", most, "]"));
}

}  // namespace

absl::StatusOr<RankingSums> RankingSums::Create(Options options) {
  RETURN_IF_ERROR(CheckRankingValue(options.value));
  RETURN_IF_ERROR(
      CheckBetween("num_segments", options.num_segments, 1, kMaxSegments));
  RETURN_IF_ERROR(
      CheckBetween("num_groups", options.num_groups, 2, size_t{1} << 20));
  return RankingSums(std::move(options));
}

RankingSums::RankingSums(Options options)
    : options_(std::move(options)),
      sums_(options_.num_groups,
            LogEntries(options_) + num_policies() * PolicyEntries(options_)),
      weights_(num_policies() * kNumRankingWeights),
      rank_weights_(num_policies() * 2 * num_ranks()),
      candidate_weights_(num_policies() * CandidateEntries(options_)) {
  for (const RankingInputs& inputs : options_.policies) {
    needs_marginals_ = needs_marginals_ || inputs.marginals;
  }
}

size_t RankingSums::SegmentCount(size_t segment, size_t fold) const {
  return kFirstRank + kLogRankBlocks * num_ranks() + segment * kNumFolds + fold;
}

size_t RankingSums::HiddenEntry(size_t rank) const {
  return kFirstRank + num_ranks() + rank;
}

size_t RankingSums::EntryOf(size_t policy, size_t entry) const {
  return LogEntries(options_) + policy * PolicyEntries(options_) + entry;
}

size_t RankingSums::RankEntry(size_t policy, size_t block, size_t rank) const {
  return EntryOf(policy, kFirstPolicyRank + block * num_ranks() + rank);
}

size_t RankingSums::CandidateEntry(size_t policy, size_t segment, size_t fold,
                                   size_t candidate) const {
  return EntryOf(policy, kFirstPolicyRank + kRankBlocks * num_ranks() +
                             (segment * kNumFolds + fold) * kNumCandidates +
                             candidate);
}

absl::Status RankingSums::Add(uint64_t unit_hash, double share,
                              const RankedDecision& decision,
                              std::span<const JudgedRanking> policies) {
  if (!(share > 0 && share <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("share is ", share, ", must be in (0, 1]"));
  }
  RETURN_IF_ERROR(
      CheckBetween("segment", decision.segment, 0, options_.num_segments - 1));
  RETURN_IF_ERROR(CheckBetween("number of judged policies", policies.size(),
                               num_policies(), num_policies()));
  RETURN_IF_ERROR(CheckRankedDecision(decision, needs_marginals_));
  for (size_t h = 0; h < policies.size(); ++h) {
    RETURN_IF_ERROR(
        CheckJudgedRanking(decision, policies[h], options_.policies[h]));
  }
  const size_t fold = FoldOf(unit_hash);
  const std::span<double> row = sums_.GroupOf(unit_hash);
  ++num_decisions_;
  shares_.Add(share);
  row[kCount] += share;
  row[SegmentCount(decision.segment, fold)] += share;
  const std::vector<double>& alpha = options_.value.rank_weights;
  double reward = options_.value.whole_weight * decision.whole_reward;
  double largest = options_.value.whole_weight;
  for (size_t k = 0; k < NumShown(decision); ++k) {
    row[kFirstRank + k] += share * decision.rewards[k];
    reward += alpha[k] * decision.rewards[k];
    largest += alpha[k];
  }
  row[kReward] += share * reward;
  row[kLargest] += share * largest;
  most_shown_ = std::max(most_shown_, NumShown(decision));
  for (size_t k = NumShown(decision); k < NumLogged(decision); ++k) {
    row[HiddenEntry(k)] += share;
  }
  for (size_t h = 0; h < policies.size(); ++h) {
    AddPolicy({decision, share, fold}, h, policies[h], row);
  }
  return absl::OkStatus();
}

void RankingSums::AddPolicy(const Added& added, size_t policy,
                            const JudgedRanking& judged,
                            std::span<double> row) {
  const RankedDecision& decision = added.decision;
  const double share = added.share;
  const RankingInputs& inputs = options_.policies[policy];
  ComputeRankingWeights(decision, judged, inputs, num_ranks(), &scratch_);
  const RankingTerms terms =
      RankingTermsOf(options_.value, decision, judged, inputs, scratch_);
  double* const entries = row.data() + EntryOf(policy, 0);
  for (size_t i = 0; i < kNumRankingWeights; ++i) {
    entries[kPlain + i] += share * terms.plain[i];
    entries[kDoublyRobust + i] += share * terms.doubly_robust[i];
    entries[kWeight + i] += share * terms.weight[i];
    weights_[policy * kNumRankingWeights + i].Add(share * terms.weight[i]);
  }
  entries[kDirect] += share * terms.direct;
  entries[kRatio + At(Weight::kWholeOrder)] += share * scratch_.whole;
  entries[kRatio + At(Weight::kShownPrefix)] += share * scratch_.shown;
  entries[kRatio + At(Weight::kPseudoInverse)] +=
      share * scratch_.pseudo_inverse;
  entries[kShownGain] += share * scratch_.shown * decision.whole_reward;
  for (size_t k = 0; k < num_ranks(); ++k) {
    const double reward = k < decision.rewards.size() ? decision.rewards[k] : 0;
    const double prefix = share * scratch_.prefix[k];
    const double marginal = share * scratch_.marginal[k];
    row[RankEntry(policy, kPrefixWeight, k)] += prefix;
    row[RankEntry(policy, kPrefixGain, k)] += prefix * reward;
    row[RankEntry(policy, kMarginalWeight, k)] += marginal;
    row[RankEntry(policy, kMarginalGain, k)] += marginal * reward;
    rank_weights_[policy * 2 * num_ranks() + k].Add(prefix);
    rank_weights_[(policy * 2 + 1) * num_ranks() + k].Add(marginal);
  }
  for (size_t k = NumShown(decision); k < NumLogged(decision); ++k) {
    row[RankEntry(policy, kHiddenWeight, k)] += share * scratch_.shown;
  }
  const size_t first = CandidateEntry(policy, decision.segment, added.fold, 0);
  const size_t first_weight =
      ((policy * options_.num_segments + decision.segment) * kNumFolds +
       added.fold) *
      kNumCandidates;
  for (size_t c = 0; c < kNumCandidates; ++c) {
    const size_t weight = At(*RankingWeightOf(kCandidates[c]));
    row[first + c] += share * terms.plain[weight];
    candidate_weights_[first_weight + c].Add(share * terms.weight[weight]);
  }
}

size_t RankingSums::NumShown(const RankedDecision& decision) const {
  return std::min(decision.rewards.size(), num_ranks());
}

size_t RankingSums::NumLogged(const RankedDecision& decision) const {
  return std::min(decision.log_conditionals.size(), num_ranks());
}

void RankingSums::Merge(const RankingSums& other) {
  sums_.Merge(other.sums_);
  num_decisions_ += other.num_decisions_;
  most_shown_ = std::max(most_shown_, other.most_shown_);
  AddAll(other.weights_, &weights_);
  AddAll(other.rank_weights_, &rank_weights_);
  AddAll(other.candidate_weights_, &candidate_weights_);
  shares_.sum += other.shares_.sum;
  shares_.square += other.shares_.square;
}

bool RankingSums::Supports(size_t policy, Kind kind) const {
  const RankingInputs& inputs = options_.policies[policy];
  if (kind == Kind::kDirect) return inputs.position_model;
  if (kind == Kind::kAdaptive) return true;
  const Weight weight = *RankingWeightOf(kind);
  if (weight == Weight::kMarginal && !inputs.marginals) return false;
  if (weight == Weight::kPseudoInverse && !inputs.pseudo_inverse) return false;
  if (*RankingFormOf(kind) != Form::kDoublyRobust) return true;
  return weight == Weight::kPrefix ? inputs.prefix_model
                                   : inputs.position_model;
}

std::vector<Ratio> RankingSums::RatiosOf(size_t policy, Kind kind) const {
  if (!Supports(policy, kind)) return {};
  const SumFunction count = {{kCount, 1}};
  if (kind == Kind::kDirect) {
    return {{{{EntryOf(policy, kDirect), 1}}, count}};
  }
  if (kind == Kind::kAdaptive) {
    SumFunction chosen;
    for (size_t s = 0; s < options_.num_segments; ++s) {
      for (size_t fold = 0; fold < kNumFolds; ++fold) {
        chosen.push_back(
            {CandidateEntry(policy, s, fold, CandidateFor(policy, s, fold)),
             1});
      }
    }
    return {{std::move(chosen), count}};
  }
  const Weight weight = *RankingWeightOf(kind);
  switch (*RankingFormOf(kind)) {
    case Form::kPlain:
      return {{PlainTerm(policy, weight), count}};
    case Form::kDoublyRobust:
      return {{{{EntryOf(policy, kDoublyRobust + At(weight)), 1}}, count}};
    case Form::kSelfNormalised:
      return SelfNormalised(policy, weight);
  }
  return {};
}

std::vector<Ratio> RankingSums::SelfNormalised(size_t policy,
                                               Weight kind) const {
  if (kind != Weight::kPrefix && kind != Weight::kMarginal) {
    return {
        {PlainTerm(policy, kind), {{EntryOf(policy, kRatio + At(kind)), 1}}}};
  }
  std::vector<Ratio> ratios;
  const size_t block =
      kind == Weight::kPrefix ? kPrefixWeight : kMarginalWeight;
  for (size_t k = 0; k < num_ranks(); ++k) {
    const double alpha = options_.value.rank_weights[k];
    if (alpha == 0) continue;
    ratios.push_back({{{RankEntry(policy, block + 1, k), 1}},
                      {{RankEntry(policy, block, k), 1}},
                      alpha});
  }
  if (options_.value.whole_weight > 0) {
    ratios.push_back({{{EntryOf(policy, kShownGain), 1}},
                      {{EntryOf(policy, kRatio + At(Weight::kShownPrefix)), 1}},
                      options_.value.whole_weight});
  }
  return ratios;
}

std::vector<Ratio> RankingSums::RatiosAtRank(size_t policy, Kind kind,
                                             size_t rank) const {
  const std::optional<Weight> weight = RankingWeightOf(kind);
  if (rank >= num_ranks() || !Supports(policy, kind) ||
      (weight != Weight::kPrefix && weight != Weight::kMarginal)) {
    return {};
  }
  const size_t block =
      *weight == Weight::kPrefix ? kPrefixWeight : kMarginalWeight;
  const SumFunction gain = {{RankEntry(policy, block + 1, rank), 1}};
  switch (*RankingFormOf(kind)) {
    case Form::kPlain:
      return {{gain, {{kCount, 1}}}};
    case Form::kSelfNormalised:
      return {{gain, {{RankEntry(policy, block, rank), 1}}}};
    case Form::kDoublyRobust:
      return {};
  }
  return {};
}

Ratio RankingSums::LoggedReward() const {
  return {{{kReward, 1}}, {{kCount, 1}}};
}

Ratio RankingSums::LoggedRewardAtRank(size_t rank) const {
  return {{{kFirstRank + rank, 1}}, {{kCount, 1}}};
}

Ratio RankingSums::MeanWeight(size_t policy, Weight kind) const {
  return {WeightTerm(policy, kind), LargestReward()};
}

double RankingSums::EffectiveSampleSize(size_t policy, Kind kind) const {
  if (!Supports(policy, kind)) return 0;
  if (kind == Kind::kDirect) return shares_.EffectiveSize();
  if (kind != Kind::kAdaptive) {
    return weights_[policy * kNumRankingWeights + At(*RankingWeightOf(kind))]
        .EffectiveSize();
  }
  Squares all;
  for (size_t s = 0; s < options_.num_segments; ++s) {
    for (size_t fold = 0; fold < kNumFolds; ++fold) {
      const Squares& chosen =
          candidate_weights_[((policy * options_.num_segments + s) * kNumFolds +
                              fold) *
                                 kNumCandidates +
                             CandidateFor(policy, s, fold)];
      all.sum += chosen.sum;
      all.square += chosen.square;
    }
  }
  return all.EffectiveSize();
}

double RankingSums::EffectiveSampleSizeAtRank(size_t policy, Weight kind,
                                              size_t rank) const {
  if (rank >= num_ranks()) return 0;
  if (kind == Weight::kPrefix) {
    return rank_weights_[policy * 2 * num_ranks() + rank].EffectiveSize();
  }
  if (kind == Weight::kMarginal && options_.policies[policy].marginals) {
    return rank_weights_[(policy * 2 + 1) * num_ranks() + rank].EffectiveSize();
  }
  return 0;
}

SumFunction RankingSums::PlainTerm(size_t policy, Weight kind) const {
  return {{EntryOf(policy, kPlain + At(kind)), 1}};
}

SumFunction RankingSums::PlainRegret(size_t policy, Weight kind) const {
  SumFunction regret = WeightTerm(policy, kind);
  regret.push_back({EntryOf(policy, kPlain + At(kind)), -1});
  return regret;
}

SumFunction RankingSums::LargestReward() const {
  SumFunction largest = {{kLargest, 1}};
  for (size_t k = 0; k < most_shown_; ++k) {
    largest.push_back({HiddenEntry(k), options_.value.rank_weights[k]});
  }
  return largest;
}

bool RankingSums::ShownRanksVary() const {
  for (size_t k = 0; k < most_shown_; ++k) {
    if (ApplyToTotals({{HiddenEntry(k), 1}}, sums_) > 0) return true;
  }
  return false;
}

// At hidden ranks, which no policy filled, m_k and γ count as 1.
SumFunction RankingSums::WeightTerm(size_t policy, Weight kind) const {
  const bool is_by_order =
      kind != Weight::kMarginal && kind != Weight::kPseudoInverse;
  SumFunction weight = {{EntryOf(policy, kWeight + At(kind)), 1}};
  for (size_t k = 0; k < most_shown_; ++k) {
    weight.push_back(
        {is_by_order ? RankEntry(policy, kHiddenWeight, k) : HiddenEntry(k),
         options_.value.rank_weights[k]});
  }
  return weight;
}

size_t RankingSums::CandidateFor(size_t policy, size_t segment,
                                 size_t fold) const {
  const size_t other = (fold + 1) % kNumFolds;
  const size_t num_candidates =
      options_.policies[policy].marginals ? kNumCandidates : kNumCandidates - 1;
  std::vector<Ratio> candidates;
  for (size_t c = 0; c < num_candidates; ++c) {
    candidates.push_back({{{CandidateEntry(policy, segment, other, c), 1}},
                          {{SegmentCount(segment, other), 1}}});
  }
  return ChooseBehaviour(sums_, candidates);
}

Kind RankingSums::ChosenFor(size_t policy, size_t segment, size_t fold) const {
  return kCandidates[CandidateFor(policy, segment, fold)];
}

}  // namespace sortition
