#pragma once
// Lines of an import that concern decisions of other lines.
#include <cstdint>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/hash.h"

namespace sortition {

// Logs may hold a reward, an activation or a second copy of a decision after
// the decision itself, which an import has already written by then. Such an
// import reads its input again: the first pass collects what lines state about
// other lines, and the second pass applies it. A third pass follows if
// decisions that the second one brought back repeat ids. Keeps 16 bytes per
// decision id, and some more per reference. Not thread-safe.
class CrossReferences {
 public:
  struct Reward {
    double reward = 0;
    int64_t time_us = 0;  // 0: unknown.
  };

  // Returns true after the first pass.
  bool is_applied() const { return is_applied_; }
  // Ends a pass. Returns true if the input has to be read again.
  bool BeginNextPass();

  // Records a decision that is taken. Returns false if one with the same id was
  // recorded in this pass.
  bool AddDecision(const Hash128& id) { return decisions_.insert(id).second; }
  // Records a decision that is left out because it was never activated.
  void AddInactive(const Hash128& id) { inactive_.insert(id); }

  // Records a reward that has a line of its own. The earliest of a decision
  // counts, or the first in the input if none has a time. Returns true if it is
  // known to be that of a decision, which the first pass does not know.
  bool AddReward(const Hash128& id, const Reward& reward);
  // Records an activation that has a line of its own; returns as AddReward().
  bool AddActivation(const Hash128& id);
  // Records that the decision with this number, which ascends over the input
  // and is the same in all passes, has the id of an earlier one.
  void AddRepetition(const Hash128& id, uint64_t number);

  // These are unknown in the first pass.
  std::optional<Reward> RewardOf(const Hash128& id) const;
  bool IsActivated(const Hash128& id) const {
    return is_applied_ && activations_.contains(id);
  }
  // Returns the number of the last decision with this id if there are several.
  std::optional<uint64_t> LastOf(const Hash128& id) const;

 private:
  bool is_applied_ = false;
  bool has_news_ = false;  // Repetitions that last_ did not have.
  absl::flat_hash_set<Hash128, Hash128Hasher> decisions_;
  absl::flat_hash_set<Hash128, Hash128Hasher> inactive_;
  absl::flat_hash_map<Hash128, Reward, Hash128Hasher> rewards_;
  absl::flat_hash_set<Hash128, Hash128Hasher> activations_;
  absl::flat_hash_map<Hash128, uint64_t, Hash128Hasher> last_;
};

}  // namespace sortition
