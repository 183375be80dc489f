#include "core/simulation/rank_reader.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Names of users, and of what they are in core/clicks.
constexpr std::pair<absl::string_view, absl::string_view> kUsers[] = {
    {"err", "expected_reciprocal_rank"},
    {"pbm", "ultra_pbm"},
    {"trust", "ultra_trust"},
    {"cascade", "ultra_cascade"},
    {"dcm", "ultra_dependent_click"},
    {"navigational", "navigational"},
    {"informational", "informational"},
    {"near_random", "near_random"}};

}  // namespace

absl::StatusOr<RankReader> RankReader::Create(
    absl::string_view user, const RankReaderOptions& options) {
  const auto* const found =
      std::find_if(std::begin(kUsers), std::end(kUsers),
                   [&](const auto& each) { return each.first == user; });
  if (found == std::end(kUsers)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "user is '", user, "', must be one of: ",
        absl::StrJoin(kUsers, ", ", [](std::string* out, const auto& each) {
          absl::StrAppend(out, each.first);
        })));
  }
  ASSIGN_OR_RETURN(
      ClickUser made,
      MakeClickUser(found->second, {.max_relevance = options.max_relevance,
                                    .eta = options.position_bias,
                                    .noise = options.noise}));
  RankReader reader(std::move(made), options.seed);
  reader.is_reciprocal_ = user == "err";
  reader.stops_at_clicks_ =
      user == "cascade" || (user == "err" && options.noise.value_or(0) == 0);
  return reader;
}

ReadRanking RankReader::Read(std::span<const uint32_t> relevances,
                             absl::string_view decision_id) const {
  const std::vector<uint8_t> clicks =
      ClicksOf(user_, relevances, seed_, decision_id);
  ReadRanking read;
  for (uint32_t rank = 0; rank < clicks.size(); ++rank) {
    if (clicks[rank] != 0) read.clicks.emplace_back(rank, RewardAt(rank));
  }
  if (stops_at_clicks_) {
    read.seen_ranks = read.clicks.empty() ? static_cast<uint32_t>(clicks.size())
                                          : read.clicks.back().first + 1;
  }
  return read;
}

double RankReader::ExpectedReward(std::span<const uint32_t> relevances) const {
  const GradedList graded(user_, relevances);
  std::vector<double> clicks(relevances.size());
  std::vector<double> examinations(relevances.size());
  MarginalClickProbabilities(user_.model, graded.list(), clicks, examinations);
  double expected = 0;
  for (size_t rank = 0; rank < clicks.size(); ++rank) {
    expected += RewardAt(rank) * clicks[rank];
  }
  return expected;
}

}  // namespace sortition
