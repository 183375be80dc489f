#pragma once
// Holds the tuples that have been read, within limits of memory and disk.
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "core/learners/counterfactual/bandit_tuple.h"
#include "sortition/config/v1/train.pb.h"
#include "trainer/tuples/feature_spill.h"
#include "trainer/tuples/rank_outcomes.h"
#include "trainer/tuples/tuple_parts.h"

namespace sortition {

struct HeldTuple {
  BanditTuple tuple;
  TuplePlace place;
  // Null where nothing but the tuple is needed to train.
  std::unique_ptr<RankOutcome> outcome;
};

// A decision of a policy that could abstain, and did. What is trained cannot:
// its weight there is 0.
struct AbstainedTuple {
  double log_propensity = 0;
  double loss = 0;
  uint64_t unit = 0;
};

struct HeldAbstention {
  AbstainedTuple tuple;
  TuplePlace place;
};

// Keeps all tuples in memory as long as they fit. If they do not, their
// features go to a scratch file. If they do not fit there, or the rest still
// exceeds memory, a sample is kept. What is kept does not depend on the order.
class HeldTuples {
 public:
  struct Limits {
    uint64_t memory_bytes = 0;  // Limit for the tuples.
    uint64_t memory_mb = 0;     // As the user gave it, for messages.
    std::string scratch;        // Empty: DefaultScratchDirectory().
    uint64_t scratch_bytes = 0;
    double warmup_bytes = 0;  // Reserved for queries, beside memory_bytes.

    static Limits Of(const config::v1::TrainOptions& options);
    // NotFound if `scratch` is no directory: it may be needed only after hours
    // of reading.
    static absl::Status CheckScratch(const config::v1::TrainOptions& options);
  };

  explicit HeldTuples(Limits limits);

  // Takes the tuple, or leaves it out of the sample. Unavailable if the disk of
  // the scratch file fails; a full disk only makes the sample smaller.
  absl::Status Add(HeldTuple held);
  absl::Status Add(const HeldAbstention& held);

  // The tuples. The caller takes them away one by one, from the front.
  std::deque<HeldTuple>& tuples() { return tuples_; }
  std::deque<HeldAbstention>& abstentions() { return abstentions_; }
  double kept_fraction() const { return kept_.fraction(); }
  // Returns null if everything is in memory. The tuples taken from tuples()
  // need it.
  std::unique_ptr<const FeatureSpill> TakeSpill() { return std::move(spill_); }

 private:
  void Spill();
  absl::Status SpillAll(FeatureSpill* spill);
  absl::Status HalveSample();
  absl::Status KeepWithinMemory();
  uint64_t BytesOfAll() const;

  const Limits limits_;
  bool may_spill_;  // False once it has been tried.
  std::deque<HeldTuple> tuples_;
  std::deque<HeldAbstention> abstentions_;
  uint64_t bytes_ = 0;  // Memory of both.
  KeptShare kept_;
  std::unique_ptr<FeatureSpill> spill_;
};

}  // namespace sortition
