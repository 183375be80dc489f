#include "core/choices/interleaving.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/random.h"
#include "core/base/stable_math.h"
#include "core/base/status_macros.h"
#include "core/choices/traffic_split.h"
#include "core/policies/distribution_factory.h"

namespace sortition {
namespace {

using model::v1::Interleave;

// Sets the draw to no order.
void Clear(Draw* draw) {
  draw->action.clear();
  draw->conditional_log_propensities.clear();
  draw->log_propensity = -HUGE_VAL;
}

// Whether the rank is the second of a pair: the version fills it that has not
// filled the first.
bool IsSecondOfPair(Interleaver::Method method, size_t rank) {
  return method == Interleave::TEAM_DRAFT && rank % 2 == 1;
}

ScoredCandidates ViewScores(PolicyWorkspace* workspace, size_t num_ranks) {
  ScoredCandidates scored;
  scored.scores = workspace->scores;
  scored.top_k = static_cast<uint32_t>(num_ranks);
  scored.scratch = &workspace->scratch;
  return scored;
}

size_t NumRanks(const PolicyQuery& query, size_t num_eligible) {
  return query.top_k == 0 ? num_eligible
                          : std::min<size_t>(query.top_k, num_eligible);
}

}  // namespace

uint32_t InterleavingPlace(absl::string_view model, absl::string_view salt,
                           absl::string_view unit_id,
                           absl::string_view decision_id) {
  const bool has_unit = !unit_id.empty();
  const double number = UnitInterval(StableHash(
      HashDomain::kInterleaving, {model, salt, has_unit ? "unit" : "id",
                                  has_unit ? unit_id : decision_id}));
  return static_cast<uint32_t>(number * kSplitPlaces);
}

Hash128 InterleavingKey(const Hash128& first, const Hash128& second) {
  // Little-endian; on the stack, for this is on the path of a request.
  std::array<char, 32> bytes;
  size_t size = 0;
  for (const uint64_t word : {first.low, first.high, second.low, second.high}) {
    for (int i = 0; i < 8; ++i) {
      bytes[size++] = static_cast<char>(word >> (8 * i));
    }
  }
  return StableHash(HashDomain::kInterleavedDraw,
                    {absl::string_view(bytes.data(), bytes.size())});
}

absl::Status ValidateInterleaved(const model::v1::Policy& policy) {
  // Parameters of its own would make another law of it.
  const bool has_parameters = policy.plackett_luce().ByteSizeLong() > 0;
  if (policy.has_plackett_luce() && !has_parameters) return absl::OkStatus();
  const std::string kind = PolicyKindName(policy);
  return absl::InvalidArgumentError(absl::StrCat(
      "policy is ", kind.empty() ? "uniform" : kind,
      has_parameters ? " with parameters" : "",
      ", must be plackett_luce without any: only its orders can be "
      "interleaved"));
}

Interleaver::Interleaver(Method method, const Version& first,
                         const Version& second)
    : method_(method),
      sides_{Side{first.linear, first.policy->inverse_temperature(),
                  LogMixture(first.policy->uniform_mixture()),
                  RankingDistribution(first.policy->inverse_temperature(),
                                      first.policy->uniform_mixture())},
             Side{second.linear, second.policy->inverse_temperature(),
                  LogMixture(second.policy->uniform_mixture()),
                  RankingDistribution(second.policy->inverse_temperature(),
                                      second.policy->uniform_mixture())}} {}

absl::StatusOr<Interleaver> Interleaver::Create(Method method,
                                                const Version& first,
                                                const Version& second) {
  if (method != Interleave::TEAM_DRAFT && method != Interleave::PROBABILISTIC) {
    return absl::InvalidArgumentError(
        absl::StrCat("method is ", static_cast<int>(method),
                     ", must be TEAM_DRAFT or PROBABILISTIC"));
  }
  RETURN_IF_ERROR(ValidateInterleaved(*first.policy));
  RETURN_IF_ERROR(ValidateInterleaved(*second.policy));
  return Interleaver(method, first, second);
}

void Interleaver::DrawOrder(size_t num_ranks, const Hash128& key,
                            const Workspaces& workspaces,
                            InterleavingScratch* scratch, Action* order) const {
  const size_t m = workspaces[0]->scores.size();
  std::vector<uint32_t>& left = scratch->left;
  std::vector<uint32_t>& place_of = scratch->place_of;
  left.resize(m);
  std::iota(left.begin(), left.end(), 0u);
  place_of.assign(left.begin(), left.end());
  // That the version's own part, not its uniform one, would have drawn what
  // stands above (LogMixture).
  std::array<double, 2> log_odds = {};
  for (size_t s = 0; s < 2; ++s) {
    const LogMixture& mixture = sides_[s].mixture;
    if (!mixture.has_policy()) continue;
    scratch->trees[s].Assign(workspaces[s]->scores, sides_[s].alpha);
    if (mixture.has_uniform()) log_odds[s] = mixture.PriorLogOdds();
  }
  const CounterRandom random(key);
  order->clear();
  size_t side = 0;
  for (size_t rank = 0; rank < num_ranks; ++rank) {
    const auto block = static_cast<uint32_t>(2 * rank);
    const auto [coin, part] = random.UniformPair(block);
    const double place = random.UniformPair(block + 1)[0];
    side = IsSecondOfPair(method_, rank) ? 1 - side
           : coin < 0.5                  ? size_t{0}
                                         : size_t{1};
    const bool is_own =
        part < sides_[side].mixture.PolicyPosterior(log_odds[side]);
    const size_t position =
        is_own ? scratch->trees[side].Draw(place)
               : left[static_cast<size_t>(place *
                                          static_cast<double>(left.size()))];
    order->push_back(static_cast<int32_t>(position));
    for (size_t s = 0; s < 2; ++s) {
      const LogMixture& mixture = sides_[s].mixture;
      if (!mixture.has_policy()) continue;
      LogSumTree& tree = scratch->trees[s];
      if (mixture.has_uniform()) {
        log_odds[s] += tree.LogShare(position) +
                       stable::Log(static_cast<double>(left.size()));
      }
      tree.Remove(position);
    }
    const uint32_t last = left.back();
    left[place_of[position]] = last;
    place_of[last] = place_of[position];
    left.pop_back();
  }
}

void Interleaver::Decide(const PolicyQuery& query, const Hash128& key,
                         const Workspaces& workspaces,
                         InterleavingScratch* scratch, Draw* draw) const {
  draw->game_rounds.reset();
  draw->game.reset();
  for (size_t s = 0; s < 2; ++s) {
    // Scores the candidates, and nothing else: an order has a rank at least.
    sides_[s].linear->LogPropensity(query, {}, workspaces[s]);
    if (workspaces[s]->refusal.ok()) continue;
    if (s > 0) workspaces[0]->refusal = workspaces[s]->refusal;
    return Clear(draw);
  }
  const size_t num_ranks = NumRanks(query, workspaces[0]->scores.size());
  for (size_t s = 0; s < 2; ++s) {
    if (!sides_[s].distribution.CanDraw(ViewScores(workspaces[s], num_ranks))) {
      return Clear(draw);
    }
  }
  DrawOrder(num_ranks, key, workspaces, scratch, &draw->action);
  for (size_t s = 0; s < 2; ++s) {
    sides_[s].distribution.ConditionalLogPropensities(
        ViewScores(workspaces[s], num_ranks), draw->action,
        &scratch->conditionals[s]);
  }
  draw->log_propensity = InterleavedConditionals(
      method_, scratch->conditionals[0], scratch->conditionals[1],
      &draw->conditional_log_propensities);
  const std::vector<uint32_t>& documents = workspaces[0]->eligible_documents;
  for (int32_t& place : draw->action) {
    place = static_cast<int32_t>(documents[static_cast<size_t>(place)]);
  }
}

double Interleaver::LogPropensity(const PolicyQuery& query,
                                  std::span<const int32_t> order,
                                  const Workspaces& workspaces,
                                  InterleavingScratch* scratch) const {
  for (size_t s = 0; s < 2; ++s) {
    const double log_propensity = sides_[s].linear->LogPropensity(
        query, order, workspaces[s], &scratch->conditionals[s]);
    if (!workspaces[s]->refusal.ok() && s > 0) {
      workspaces[0]->refusal = workspaces[s]->refusal;
    }
    // One that one of the two cannot draw at all, for neither leaves out any.
    if (log_propensity == -HUGE_VAL) return log_propensity;
  }
  std::vector<double> unused;
  return InterleavedConditionals(method_, scratch->conditionals[0],
                                 scratch->conditionals[1], &unused);
}

double InterleavedConditionals(Interleaver::Method method,
                               std::span<const double> first,
                               std::span<const double> second,
                               std::vector<double>* conditionals) {
  DCHECK(first.size() == second.size());
  conditionals->resize(first.size());
  double sum = 0;
  for (size_t r = 0; r < first.size(); ++r) {
    // The weights of the two are the probabilities that each fills the rank,
    // given what stands above in its pair. Log-odds of 0: a fair coin.
    const bool is_second = IsSecondOfPair(method, r);
    const double log_odds = is_second ? second[r - 1] - first[r - 1] : 0;
    (*conditionals)[r] = LogMixture::Conditional(log_odds, first[r], second[r]);
    sum += (*conditionals)[r];
  }
  return sum;
}

void TeamLogOdds(Interleaver::Method method, std::span<const double> first,
                 std::span<const double> second,
                 std::vector<double>* log_odds) {
  DCHECK(first.size() == second.size());
  log_odds->resize(first.size());
  for (size_t r = 0; r < first.size(); ++r) {
    (*log_odds)[r] = first[r] - second[r];
  }
  if (method != Interleave::TEAM_DRAFT) return;
  for (size_t r = 0; r + 1 < first.size(); r += 2) {
    // log a_r b_{r+1} - log b_r a_{r+1}
    const double of_pair = (*log_odds)[r] - (*log_odds)[r + 1];
    (*log_odds)[r] = of_pair;
    (*log_odds)[r + 1] = -of_pair;
  }
}

}  // namespace sortition
