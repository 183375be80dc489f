#include "core/metrics/ranking_metrics.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/check.h"

namespace sortition {
namespace {

size_t RanksUpTo(const TiedRanking& ranking, uint32_t k) {
  return k == 0 ? ranking.size() : std::min<size_t>(ranking.size(), k);
}

double ExponentialGain(uint32_t relevance) { return std::exp2(relevance) - 1; }
double LinearGain(uint32_t relevance) { return relevance; }

// Returns Σ_{rank < k} E[gain(relevance)] / log2(rank + 2).
double Discounted(const TiedRanking& ranking, uint32_t k,
                  double (*gain)(uint32_t)) {
  const std::vector<double> gains = ranking.ExpectedGains(gain);
  double sum = 0;
  for (size_t rank = 0; rank < RanksUpTo(ranking, k); ++rank) {
    sum += gains[rank] / std::log2(static_cast<double>(rank) + 2);
  }
  return sum;
}

size_t CountRelevant(std::span<const uint32_t> relevances,
                     uint32_t relevant_from) {
  return static_cast<size_t>(std::count_if(
      relevances.begin(), relevances.end(),
      [=](uint32_t relevance) { return relevance >= relevant_from; }));
}

// Returns the expected number of candidates with relevance >= relevant_from
// among the first k ranks.
double RelevantWithin(const TiedRanking& ranking, uint32_t relevant_from,
                      uint32_t k) {
  const std::vector<double> relevant =
      ranking.ExpectedGains([=](uint32_t relevance) {
        return relevance >= relevant_from ? 1.0 : 0.0;
      });
  double sum = 0;
  for (size_t rank = 0; rank < RanksUpTo(ranking, k); ++rank) {
    sum += relevant[rank];
  }
  return sum;
}

// Returns the number of candidates with relevance >= relevant_from, those
// without a rank included.
size_t CountAllRelevant(const TiedRanking& ranking, uint32_t relevant_from) {
  size_t count = CountRelevant(ranking.unranked(), relevant_from);
  for (size_t g = 0; g < ranking.num_groups(); ++g) {
    count += CountRelevant(ranking.group(g), relevant_from);
  }
  return count;
}

// Returns M_m = E[Π of the first m factors] for m = 0 .. n, where the factors
// are in random order. M_m is an elementary symmetric polynomial divided by its
// number of terms. One more factor f makes it
//   M_m' = ((t - m) M_m + m f M_{m-1}) / t,   t = number of factors with f,
// because f is among the first m with probability m / t.
std::vector<double> MeanProducts(std::span<const double> factors) {
  std::vector<double> means = {1};
  for (const double factor : factors) {
    const auto t = static_cast<double>(means.size());
    means.push_back(0);
    for (size_t m = means.size() - 1; m > 0; --m) {
      const auto size = static_cast<double>(m);
      means[m] = ((t - size) * means[m] + size * factor * means[m - 1]) / t;
    }
  }
  return means;
}

}  // namespace

double Dcg(const TiedRanking& ranking, uint32_t k) {
  return Discounted(ranking, k, ExponentialGain);
}

double Ndcg(const TiedRanking& ranking, uint32_t k) {
  const double best = Dcg(ranking.Best(), k);
  return best > 0 ? Dcg(ranking, k) / best : 0;
}

double LinearNdcg(const TiedRanking& ranking, uint32_t k) {
  return Discounted(ranking, k, LinearGain) /
         Discounted(ranking.Best(), k, LinearGain);
}

// At place m of a group the user stops with probability
// E[R_m Π_{q < m} (1 - R_q)] = M_m - M_{m+1} of the factors 1 - R.
double ExpectedReciprocalRank(const TiedRanking& ranking,
                              uint32_t max_relevance, uint32_t k) {
  const size_t ranks = RanksUpTo(ranking, k);
  double sum = 0;
  double still_looking = 1;
  std::vector<double> factors;
  for (size_t g = 0; g < ranking.num_groups(); ++g) {
    if (ranking.begin(g) >= ranks) break;
    factors.clear();
    for (const uint32_t relevance : ranking.group(g)) {
      DCHECK(relevance <= max_relevance);
      factors.push_back(1 -
                        (std::exp2(relevance) - 1) / std::exp2(max_relevance));
    }
    const std::vector<double> means = MeanProducts(factors);
    for (size_t m = 0; m + 1 < means.size(); ++m) {
      const size_t rank = ranking.begin(g) + m;
      if (rank >= ranks) break;
      sum += still_looking * (means[m] - means[m + 1]) /
             (static_cast<double>(rank) + 1);
    }
    still_looking *= means.back();
  }
  return sum;
}

double Precision(const TiedRanking& ranking, uint32_t relevant_from,
                 uint32_t k) {
  CHECK(k > 0);
  return RelevantWithin(ranking, relevant_from, k) / k;
}

double Recall(const TiedRanking& ranking, uint32_t relevant_from, uint32_t k) {
  CHECK(k > 0);
  return RelevantWithin(ranking, relevant_from, k) /
         static_cast<double>(CountAllRelevant(ranking, relevant_from));
}

// Only the first group with a relevant candidate counts: unless all of it is
// within the first k ranks, which makes success certain, worse groups are
// beyond them. In a group of n candidates with r relevant ones, the first m
// places have no relevant one with probability Π_{i < m} (n - r - i) / (n - i).
double Success(const TiedRanking& ranking, uint32_t relevant_from, uint32_t k) {
  CHECK(k > 0);
  for (size_t g = 0; g < ranking.num_groups(); ++g) {
    const auto n = static_cast<double>(ranking.group(g).size());
    const auto r =
        static_cast<double>(CountRelevant(ranking.group(g), relevant_from));
    if (r == 0) continue;
    double none = 1;
    for (size_t i = 0; i < ranking.group(g).size(); ++i) {
      if (ranking.begin(g) + i >= k) break;
      const auto place = static_cast<double>(i);
      none *= std::max(0.0, n - r - place) / (n - place);
    }
    return 1 - none;
  }
  return 0;
}

// In a group of n candidates with r relevant ones, the candidate at place m is
// relevant with probability r / n. The expected number of relevant candidates
// among the m before it is then m (r - 1) / (n - 1). So with R relevant ones in
// better groups, and b better ranks, the group adds
//   Σ_m r/n · (R + 1 + m (r - 1) / (n - 1)) / (b + m + 1).
double AveragePrecision(const TiedRanking& ranking, uint32_t relevant_from) {
  double sum = 0;
  double better = 0;
  for (size_t g = 0; g < ranking.num_groups(); ++g) {
    const auto n = static_cast<double>(ranking.group(g).size());
    const auto r =
        static_cast<double>(CountRelevant(ranking.group(g), relevant_from));
    for (size_t m = 0; r > 0 && m < ranking.group(g).size(); ++m) {
      const auto place = static_cast<double>(m);
      const double before = n > 1 ? place * (r - 1) / (n - 1) : 0;
      sum += r / n * (better + 1 + before) /
             (static_cast<double>(ranking.begin(g) + m) + 1);
    }
    better += r;
  }
  better +=
      static_cast<double>(CountRelevant(ranking.unranked(), relevant_from));
  return better > 0 ? sum / better : 0;
}

// The first relevant candidate is in the first group that has one. It is at
// place m if the candidates before it are not relevant.
double ReciprocalRank(const TiedRanking& ranking, uint32_t relevant_from,
                      uint32_t k) {
  const size_t ranks = RanksUpTo(ranking, k);
  for (size_t g = 0; g < ranking.num_groups(); ++g) {
    const size_t n = ranking.group(g).size();
    const auto r =
        static_cast<double>(CountRelevant(ranking.group(g), relevant_from));
    if (r == 0) continue;
    double sum = 0;
    double none_before = 1;
    for (size_t m = 0; m < n && ranking.begin(g) + m < ranks; ++m) {
      const double here = std::min(1.0, r / static_cast<double>(n - m));
      sum +=
          none_before * here / (static_cast<double>(ranking.begin(g) + m) + 1);
      none_before *= 1 - here;
    }
    return sum;
  }
  return 0;
}

}  // namespace sortition
