#include "core/clicks/propensities.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/clicks/normal_bound.h"

namespace sortition {
namespace {

// Compares one rank with the rank before it on the path.
struct Link {
  double upper = 0;
  double lower = 0;
};

// The links of one session: link r leads to rank r, from 0 (pivot) or r - 1.
using Links = std::vector<Link>;

absl::Status CheckConfidence(double confidence) {
  if (confidence > 0 && confidence < 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("confidence is ", confidence, ", must be in (0, 1)"));
}

// Returns the ratios of the sums of links over sessions. `visit(add)` calls
// add(links) for each session, twice in the same order.
// log(lower / upper) of a link has the influence lower_s / Σ lower - upper_s /
// Σ upper of session s, and that of a product is the sum over its links.
template <typename Visit>
absl::StatusOr<std::vector<PropensityRatio>> Ratios(
    size_t num_ranks, const PropensityOptions& options, const Visit& visit) {
  Links sums(num_ranks);
  visit([&](const Links& links) {
    for (size_t r = 1; r < num_ranks; ++r) {
      sums[r].upper += links[r].upper;
      sums[r].lower += links[r].lower;
    }
  });
  const bool is_chain = options.path == PropensityPath::kAdjacent;
  for (size_t r = 1; r < num_ranks; ++r) {
    if (sums[r].upper > 0 && sums[r].lower > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "clicks that compare rank ", r, " with rank ", is_chain ? r - 1 : 0,
        " are missing at rank ", sums[r].lower > 0 ? (is_chain ? r - 1 : 0) : r,
        ", must be at both"));
  }
  std::vector<double> variances(num_ranks, 0);
  visit([&](const Links& links) {
    double influence = 0;
    for (size_t r = 1; r < num_ranks; ++r) {
      if (!is_chain) influence = 0;
      influence +=
          links[r].lower / sums[r].lower - links[r].upper / sums[r].upper;
      variances[r] += influence * influence;
    }
  });
  std::vector<PropensityRatio> ratios(num_ranks);
  const double bound = NormalBound(options.confidence);
  double product = 1;
  for (size_t r = 1; r < num_ranks; ++r) {
    if (!is_chain) product = 1;
    product *= sums[r].lower / sums[r].upper;
    const double error = std::sqrt(variances[r]);
    ratios[r] = {product, error, product * std::exp(-bound * error),
                 product * std::exp(bound * error)};
  }
  return ratios;
}

absl::Status CheckTable(const ClickSessions& sessions,
                        const RankProbabilities& table) {
  const size_t expected = size_t{sessions.num_items()} * table.num_ranks;
  if (table.num_ranks < sessions.num_ranks() ||
      table.probabilities.size() != expected) {
    return absl::InvalidArgumentError(
        absl::StrCat("probabilities are ", table.probabilities.size(), " for ",
                     table.num_ranks, " ranks, must be ", sessions.num_items(),
                     " items times at least ", sessions.num_ranks(), " ranks"));
  }
  for (size_t k = 0; k < expected; ++k) {
    const double p = static_cast<double>(table.probabilities[k]);
    if (p >= 0 && p <= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("probability of item ", k / table.num_ranks, " at rank ",
                     k % table.num_ranks, " is ", p, ", must be in [0, 1]"));
  }
  for (size_t s = 0; s < sessions.size(); ++s) {
    const ClickSession session = sessions[s];
    for (size_t r = 0; r < session.size(); ++r) {
      if (table.At(session.item(r), r) > 0) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "probability of item ", session.item(r), " at rank ", r,
          ", where session ", s, " shows it, is 0, must be in (0, 1]"));
    }
  }
  return absl::OkStatus();
}

void AddHarvest(const ClickSession& session, const RankProbabilities& table,
                bool is_chain, Links* links) {
  for (size_t r = 0; r < session.size(); ++r) {
    if (!session.clicked(r)) continue;
    const uint32_t item = session.item(r);
    const double worth = session.weight() / table.At(item, r);
    const size_t above = is_chain && r > 0 ? r - 1 : 0;
    if (r > 0 && table.At(item, above) > 0) (*links)[r].lower += worth;
    if (r > 0 && !is_chain) continue;
    const size_t end =
        is_chain ? std::min(r + 2, links->size()) : links->size();
    for (size_t below = r + 1; below < end; ++below) {
      if (table.At(item, below) > 0) (*links)[below].upper += worth;
    }
  }
}

absl::Status CheckPair(const ClickSessions& sessions, size_t index,
                       const RandomisedPair& pair) {
  if (pair.session >= sessions.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("pairs[", index, "].session is ", pair.session,
                     ", must be below ", sessions.size()));
  }
  if (!(pair.weight > 0 && pair.weight <= 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pairs[", index, "].weight is ", pair.weight, ", must be in (0, 1]"));
  }
  const size_t size = sessions[pair.session].size();
  if (pair.upper < pair.lower && pair.lower < size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("pairs[", index, "] has the ranks ", pair.upper, " and ",
                   pair.lower, ", must be ascending and below ", size));
}

}  // namespace

absl::StatusOr<std::vector<PropensityRatio>> HarvestPropensities(
    const ClickSessions& sessions, const RankProbabilities& probabilities,
    const PropensityOptions& options) {
  RETURN_IF_ERROR(CheckConfidence(options.confidence));
  RETURN_IF_ERROR(CheckTable(sessions, probabilities));
  const bool is_chain = options.path == PropensityPath::kAdjacent;
  return Ratios(sessions.num_ranks(), options, [&](const auto& add) {
    Links links(sessions.num_ranks());
    for (size_t s = 0; s < sessions.size(); ++s) {
      std::fill(links.begin(), links.end(), Link());
      AddHarvest(sessions[s], probabilities, is_chain, &links);
      add(links);
    }
  });
}

absl::StatusOr<std::vector<PropensityRatio>> PairPropensities(
    const ClickSessions& sessions, std::span<const RandomisedPair> pairs,
    const PropensityOptions& options) {
  RETURN_IF_ERROR(CheckConfidence(options.confidence));
  for (size_t k = 0; k < pairs.size(); ++k) {
    RETURN_IF_ERROR(CheckPair(sessions, k, pairs[k]));
  }
  // All pairs of a session together.
  std::vector<RandomisedPair> sorted(pairs.begin(), pairs.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const RandomisedPair& a, const RandomisedPair& b) {
                     return a.session < b.session;
                   });
  const bool is_chain = options.path == PropensityPath::kAdjacent;
  return Ratios(sessions.num_ranks(), options, [&](const auto& add) {
    Links links(sessions.num_ranks());
    for (size_t k = 0; k < sorted.size();) {
      std::fill(links.begin(), links.end(), Link());
      const uint32_t s = sorted[k].session;
      const ClickSession session = sessions[s];
      for (; k < sorted.size() && sorted[k].session == s; ++k) {
        const auto [unused, upper, lower, share] = sorted[k];
        if (upper != (is_chain ? lower - 1 : 0)) continue;
        const double weight = session.weight() * static_cast<double>(share);
        if (session.clicked(upper)) links[lower].upper += weight;
        if (session.clicked(lower)) links[lower].lower += weight;
      }
      add(links);
    }
  });
}

}  // namespace sortition
