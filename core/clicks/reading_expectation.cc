#include <cmath>
#include <limits>

#include "core/clicks/expected_counts.h"

namespace sortition {
namespace {

constexpr size_t kNoClick = std::numeric_limits<size_t>::max();

size_t LastClick(const ClickSession& session) {
  for (size_t r = session.size(); r > 0; --r) {
    if (session.clicked(r - 1)) return r - 1;
  }
  return kNoClick;
}

double WeightedLogs(std::span<const double> weights,
                    std::span<const double> probabilities, bool complement) {
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    const double p = probabilities[i];
    sum += weights[i] * std::log(complement ? 1 - p : p);
  }
  return sum;
}

// What happened down to the last click is known and counted once. Below it, the
// user may have left, and where is a forward-backward pass.
class Reading : public ClickExpectation {
 public:
  Reading(ClickModelKind kind, bool skips_are_followed,
          const WeightedSessions& sessions)
      : kind_(kind), sessions_(*sessions.sessions) {
    known_.attracted.Clear(sessions_.num_items());
    known_.perseverance.Clear(1);
    if (kind == ClickModelKind::kDependentClick) {
      known_.ranks.Clear(sessions_.num_ranks());
    }
    if (is_network()) known_.satisfied.Clear(sessions_.num_items());
    weights_.resize(sessions_.size());
    for (size_t s = 0; s < sessions_.size(); ++s) {
      const double weight = sessions.weight(s);
      if (!(weight > 0)) continue;
      const ClickSession session = sessions_[s];
      const size_t last = LastClick(session);
      // A user who clicks nothing reads it all, if skips are followed.
      const bool knows_all = (last == kNoClick && skips_are_followed) ||
                             last == session.size() - 1 ||
                             (kind == ClickModelKind::kCascade);
      AddKnown(session, last == kNoClick && knows_all ? session.size() : last,
               weight);
      if (!knows_all) weights_[s] = static_cast<float>(weight);
    }
  }

  void Compute(const ClickUnknowns& unknowns,
               ExpectedCounts* counts) const override {
    *counts = known_;
    counts->log_likelihood = KnownLogLikelihood(unknowns);
    std::vector<double> silent(sessions_.num_ranks() + 1);
    for (size_t s = 0; s < sessions_.size(); ++s) {
      if (weights_[s] > 0) {
        AddTail(sessions_[s], static_cast<double>(weights_[s]), unknowns,
                silent, counts);
      }
    }
  }

 private:
  bool is_network() const { return kind_ == ClickModelKind::kBayesianNetwork; }

  // Counts the ranks above `last`, where the user is known to have read on, and
  // the click there. `last` may be the size: then all ranks were read, and none
  // was clicked.
  void AddKnown(const ClickSession& session, size_t last, double weight) {
    if (last == kNoClick) return;
    for (size_t r = 0; r < session.size() && r <= last; ++r) {
      const uint32_t item = session.item(r);
      const bool reads_on = r < last && r + 1 < session.size();
      if (is_network() && reads_on) known_.perseverance.hits[0] += weight;
      if (!session.clicked(r)) {
        known_.attracted.misses[item] += weight;
        continue;
      }
      known_.attracted.hits[item] += weight;
      if (!reads_on) continue;
      if (is_network()) known_.satisfied.misses[item] += weight;
      if (!known_.ranks.hits.empty()) known_.ranks.hits[r] += weight;
    }
  }

  double KnownLogLikelihood(const ClickUnknowns& unknowns) const {
    const auto both = [](const ExpectedOutcomes& outcomes,
                         std::span<const double> probabilities) {
      return WeightedLogs(outcomes.hits, probabilities, false) +
             WeightedLogs(outcomes.misses, probabilities, true);
    };
    return both(known_.attracted, unknowns.attractions) +
           both(known_.ranks, unknowns.ranks) +
           both(known_.satisfied, unknowns.satisfactions) +
           both(known_.perseverance, {&unknowns.perseverance, 1});
  }

  // Counts what lies behind the last click. silent[r], workspace, becomes
  // P(no click from rank r on | rank r is examined).
  void AddTail(const ClickSession& session, double weight,
               const ClickUnknowns& unknowns, std::span<double> silent,
               ExpectedCounts* counts) const {
    const size_t size = session.size();
    const double on = is_network() ? unknowns.perseverance : 1;
    silent[size] = 1;
    size_t begin = size;
    for (; begin > 0 && !session.clicked(begin - 1); --begin) {
      silent[begin - 1] = (1 - unknowns.attractions[session.item(begin - 1)]) *
                          (1 - on + on * silent[begin]);
    }
    // P(rank `begin` is examined | clicks).
    double examined = 1;
    if (begin == 0) {
      counts->log_likelihood += weight * std::log(silent[0]);
    } else {
      examined =
          AddLastClick(session, begin - 1, weight, unknowns, silent, counts);
    }
    for (size_t r = begin; r < size && examined > 0; ++r) {
      counts->attracted.misses[session.item(r)] += weight * examined;
      if (r + 1 == size) break;
      const double goes_on = on * silent[r + 1];
      const double share = goes_on > 0 ? goes_on / (1 - on + goes_on) : 0;
      counts->perseverance.hits[0] += weight * examined * share;
      counts->perseverance.misses[0] += weight * examined * (1 - share);
      examined *= share;
    }
  }

  // Returns P(the next rank is examined | clicks).
  double AddLastClick(const ClickSession& session, size_t rank, double weight,
                      const ClickUnknowns& unknowns,
                      std::span<const double> silent,
                      ExpectedCounts* counts) const {
    const uint32_t item = session.item(rank);
    const double satisfied = is_network() ? unknowns.satisfactions[item] : 0;
    const double on = is_network() ? unknowns.perseverance * (1 - satisfied)
                                   : unknowns.ranks[rank];
    const double evidence = 1 - on + on * silent[rank + 1];
    counts->log_likelihood += weight * std::log(evidence);
    if (!(evidence > 0)) return 0;
    const double examined = on * silent[rank + 1] / evidence;
    if (is_network()) {
      const double content = satisfied / evidence;
      counts->satisfied.hits[item] += weight * content;
      counts->satisfied.misses[item] += weight * (1 - content);
      counts->perseverance.hits[0] += weight * examined;
      counts->perseverance.misses[0] += weight * (1 - content - examined);
    } else {
      counts->ranks.hits[rank] += weight * examined;
      counts->ranks.misses[rank] += weight * (1 - examined);
    }
    return examined;
  }

  const ClickModelKind kind_;
  const ClickSessions& sessions_;
  ExpectedCounts known_;
  std::vector<float> weights_;  // Of sessions of which not all is known.
};

}  // namespace

std::unique_ptr<ClickExpectation> ReadingExpectation(
    ClickModelKind kind, bool skips_are_followed,
    const WeightedSessions& sessions) {
  return std::make_unique<Reading>(kind, skips_are_followed, sessions);
}

}  // namespace sortition
