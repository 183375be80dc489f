#pragma once
// The tuples that are read so far, bounded in memory and on disk.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "trainer/tuples/feature_spill.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {

struct HeldTuple {
  BanditTuple tuple;
  double subsample = 0;  // In [0, 1); kept while below the threshold.
  double split = 0;
  bool evaluates = true;  // May validate or test.
};

// All tuples in memory; where they exceed it, their features in a scratch file;
// where that or memory is exceeded then, a sample. What is kept does not depend
// on the order.
class HeldTuples {
 public:
  struct Limits {
    uint64_t memory_bytes = 0;  // Of the tuples.
    uint64_t memory_mb = 0;     // As the user gave it, for messages.
    std::string scratch;        // Empty: DefaultScratchDirectory().
    uint64_t scratch_bytes = 0;
  };

  explicit HeldTuples(Limits limits);

  // Takes the tuple, or leaves it out of the sample. Unavailable where the disk
  // of the scratch file fails; a full one only makes the sample smaller.
  absl::Status Add(HeldTuple held);

  // To be taken away one by one from the front.
  std::deque<HeldTuple>& tuples() { return tuples_; }
  double kept_fraction() const { return kept_.fraction(); }
  // Null where all is in memory. What tuples() held needs it.
  std::unique_ptr<const FeatureSpill> TakeSpill() { return std::move(spill_); }

 private:
  void Spill();
  absl::Status SpillAll(FeatureSpill* spill);
  absl::Status HalveSample();

  const Limits limits_;
  bool may_spill_;  // Not tried yet.
  std::deque<HeldTuple> tuples_;
  uint64_t bytes_ = 0;  // Of tuples_, in memory.
  KeptShare kept_;
  std::unique_ptr<FeatureSpill> spill_;
};

}  // namespace sortition
