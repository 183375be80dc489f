#pragma once
// Decides which tuples of a log are read, which part each goes to, and what
// share of them is kept. The rules are the same for every kind of tuple.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/config/v1/train.pb.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/left_out.h"
#include "trainer/tuples/tuple_scan.h"

namespace sortition {

enum class Part { kTrain, kValidation, kTest };

class TupleSelection {
 public:
  // `options` must outlive it. InvalidArgument if `versions` is malformed.
  static absl::StatusOr<TupleSelection> Create(
      const config::v1::TrainOptions& options);

  // Returns why a decision is left out regardless of its content, or nothing.
  std::optional<LeftOutReason> ReasonToSkip(
      const log::v1::Decision& decision) const;

  // `hash` is in [0, 1), under HashDomain::kSplit. The test part comes first,
  // then validation.
  Part PartOf(double hash) const;

 private:
  TupleSelection(const config::v1::TrainOptions& options,
                 std::set<uint64_t> versions)
      : options_(&options), versions_(std::move(versions)) {}

  const config::v1::TrainOptions* options_;
  std::set<uint64_t> versions_;  // Empty: all.
};

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
