#pragma once
// Which of the two versions of interleaved orders users prefer: credit summed
// up by unit, and what follows from it.
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/counterfactual/evaluation/group_sums.h"
#include "core/counterfactual/evaluation/unit_sizes.h"
#include "sortition/config/v1/ope.pb.h"
#include "sortition/config/v1/ope_report.pb.h"
#include "sortition/model/v1/serving.pb.h"
#include "trainer/ope/interleaving/team_credit.h"
#include "trainer/ope/policies/judged_policy.h"

namespace sortition {

// Constant memory. Not thread-safe.
class Preferences {
 public:
  // More than so many pairs of versions are not told apart: the others are
  // unknown.
  static constexpr size_t kMostPairs = 16;

  // `units` are those of all decisions of the log that are judged, and say how
  // much each counts. Both must outlive it.
  Preferences(const config::v1::OpeOptions& options, uint32_t num_features,
              const UnitSizes& units);

  // Takes an interleaved decision; ignores others.
  void Add(const LoggedDecision& decision);

  // Interleaved decisions so far; of these, those whose versions the store
  // lacks, and those in which it contradicts the log.
  uint64_t decisions() const { return decisions_; }
  uint64_t unknown() const { return credits_.unknown() + further_pairs_; }
  uint64_t contradictions() const { return credits_.contradictions(); }

  // How intervals are made.
  struct Style {
    double confidence = 0.95;  // Of all of them at once.
    double power = 0.8;        // Of what is planned.
    // As IntervalTask says; unset: units are decisions.
    std::optional<double> largest_group = std::nullopt;
  };
  // Returns what was found out of each pair of versions, without verdicts.
  std::vector<config::v1::OpeInterleaving> Report(const Style& style) const;

 private:
  struct Pair {
    uint64_t version = 0;
    uint64_t other_version = 0;
    Interleaver::Method method = model::v1::Interleave::METHOD_UNSPECIFIED;

    friend auto operator<=>(const Pair&, const Pair&) = default;
  };
  struct Sums {
    // By group of units: kPreference, kCredited and kCount.
    GroupSums groups{GroupSums::kDefaultGroups, 3};
    uint64_t decisions = 0;
    uint64_t with_rank_rewards = 0;
    uint64_t without_ranks = 0;
    int most_ranks = 1;  // Of an order.
  };

  void AddCredit(const LoggedDecision& decision, const TeamCredit& credit,
                 Sums* sums) const;
  config::v1::OpeInterleaving ReportPair(const Pair& pair, const Sums& sums,
                                         const Style& style) const;

  const config::v1::OpeOptions& options_;
  const UnitSizes& units_;
  TeamCredits credits_;
  std::map<Pair, Sums> pairs_;
  uint64_t decisions_ = 0;
  uint64_t further_pairs_ = 0;
};

}  // namespace sortition
