#pragma once
// Which part of a log each tuple goes to.
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/scan/left_out.h"
#include "trainer/tuples/tuple_selection.h"

namespace sortition {

// What decides whether a tuple is kept, and into which part it goes.
struct TuplePlace {
  double subsample = 0;  // In [0, 1), for KeptShare.
  double split = 0;      // In [0, 1), for TupleSelection::PartOf().
  uint64_t version = 0;
  int64_t time_us = 0;
  bool evaluates = true;  // May validate or test.
  // Another version had a part in it: the reward is not that of `version`.
  bool is_interleaved = false;
  bool has_unit = false;  // `split` is that of a unit with other decisions.
  bool with_baseline = false;  // The caller's baseline had a part.
};

// Returns the place of a decision that may validate and test.
TuplePlace PlaceInLog(const log::v1::Decision& decision);

// A unit trains, or validates, or tests, in every run, whatever the options are
// otherwise. So none that a parent was trained on ever tests, as long as the
// fractions stay the same. Decisions without unit only meet themselves.
//
// By time, of these only the newest validate and test: the share of decisions
// that would validate or test by hash. Only older ones train.
class TupleParts {
 public:
  // `selection` must outlive it.
  explicit TupleParts(const TupleSelection& selection)
      : selection_(&selection) {}

  // By time: takes the times of all tuples that may validate or test.
  void SetTimes(std::vector<int64_t> times_us);

  // Returns false if a tuple can only come into the test part. May be called
  // before SetTimes().
  bool MayTrainOrValidate(const TuplePlace& place) const;
  // Sets the part, or returns why the tuple is in none.
  std::optional<LeftOutReason> Place(const TuplePlace& place, Part* part) const;

 private:
  std::optional<LeftOutReason> PlaceByTime(const TuplePlace& place,
                                           Part* part) const;

  const TupleSelection* selection_;
  // From here on tuples validate and test.
  int64_t judged_from_us_ = std::numeric_limits<int64_t>::max();
};

}  // namespace sortition
