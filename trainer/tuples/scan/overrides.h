#pragma once
// Decisions of which users saw something else: a front end, a rule or an editor
// overrode them.
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Whose reward it is.
enum class Overrides {
  // That of the decision, with all that happens to it on its way to the user.
  // This estimates what policies earn as long as whatever overrides them stays
  // as it is: as it may depend on the query and on the action, but not on the
  // policy.
  kIntentToTreat,
  // That of what was shown. It counts for the policy that logged, but says
  // nothing about the action, so that any other policy gets nothing for it.
  kAsShown,
};

// InvalidArgument unless `text` is intent_to_treat or as_shown.
absl::StatusOr<Overrides> ParseOverrides(absl::string_view text);

// How many decisions were overridden, by version.
class OverriddenShare {
 public:
  // Counts a decision that is used.
  void Add(const log::v1::BanditTuple& tuple);

  uint64_t count() const { return count_; }

  // Returns a sentence if the share depends on the version that decided: if
  // that of one is more than 2 percentage points and 5 standard errors away
  // from what all versions together had on the same days for the same first
  // actions [MantelHaenszel59]. Then what overrides knows the policy, and
  // kIntentToTreat does not hold. Also returns one if no two versions decided
  // on the same day, as nobody can tell then. Days are those of UTC.
  std::optional<std::string> Warning() const;

 private:
  struct Group {
    uint64_t decisions = 0;
    uint64_t overridden = 0;
  };
  struct Stratum {
    int64_t day = 0;  // Since the epoch.
    std::string action;
    auto operator<=>(const Stratum&) const = default;
  };

  uint64_t count_ = 0;
  std::set<uint64_t> versions_;
  std::map<Stratum, std::map<uint64_t, Group>> groups_;  // By version.
};

}  // namespace sortition
