#pragma once
// Decides which tuples of a log are read, which part each goes to, and what
// share of them is kept. The rules are the same for every kind of tuple.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/scan/left_out.h"
#include "trainer/tuples/scan/time_range.h"
#include "trainer/tuples/scan/tuple_log.h"
#include "trainer/tuples/scan/tuple_scan.h"

namespace sortition {

enum class Part { kTrain, kValidation, kTest };

class TupleSelection {
 public:
  // `options` must outlive it. Reads the times of the whole log if `since` or
  // `until` is an age. InvalidArgument if these, `versions`, `decay` or `parts`
  // are malformed; FailedPrecondition if no decision has the time from which an
  // age counts back.
  static absl::StatusOr<TupleSelection> Create(
      const config::v1::TrainOptions& options, const TupleLog& log);

  // InvalidArgument as Create(), of what needs no log.
  static absl::Status Validate(const config::v1::TrainOptions& options);

  // Returns why a decision is left out regardless of its content, or nothing.
  std::optional<LeftOutReason> ReasonToSkip(
      const log::v1::Decision& decision) const;

  // `hash` is in [0, 1), under HashDomain::kSplit. The test part comes first,
  // then validation.
  Part PartOf(double hash) const;
  // The same for a tuple that does not train.
  Part JudgingPartOf(double hash) const;

  // Whether the newest decisions validate and test.
  bool by_time() const { return by_time_; }
  // The share of the decisions that validate or test.
  double judged_share() const {
    return options_->validation_fraction() + options_->test_fraction();
  }
  // Returns how much a decision of this age counts in training, at most 1.
  double RecencyOf(int64_t age_us) const;

 private:
  explicit TupleSelection(const config::v1::TrainOptions& options)
      : options_(&options) {}

  // Returns a selection of all times.
  static absl::StatusOr<TupleSelection> Parse(
      const config::v1::TrainOptions& options);

  const config::v1::TrainOptions* options_;
  std::set<uint64_t> versions_;  // Empty: all.
  TimeRange times_;
  bool by_time_ = false;
  std::optional<int64_t> half_life_us_;  // Unset: they do not age.
};

// Whether the log has decisions to be read that are no aggregations. Those have
// another policy and features of their own: they are left out unless nothing
// else decided under this name.
absl::StatusOr<bool> HasMoreThanAggregations(const TupleLog& log,
                                             const TupleSelection& selection);

struct PartSizes {
  size_t train = 0;
  size_t validation = 0;
  size_t test = 0;

  void Add(Part part);
  bool can_evaluate() const {
    return std::min(validation, test) >= kFewestTuples;
  }
};

// The share of what was read that is kept to fit memory_mb, by a threshold on a
// hash under HashDomain::kSubsample.
class KeptShare {
 public:
  explicit KeptShare(uint64_t memory_mb) : memory_mb_(memory_mb) {}

  bool Keeps(double hash) const { return hash < fraction_; }
  double fraction() const { return fraction_; }
  // Logs `warning`.
  void Halve(absl::string_view warning);

 private:
  uint64_t memory_mb_;
  double fraction_ = 1;
};

inline constexpr absl::string_view kTuplesExceedMemory =
    "tuples exceed memory_mb: a sample of them is kept";

}  // namespace sortition
