#pragma once
// Logs that keep different shares of their decisions, read as one that keeps
// the smallest of these shares.
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"
#include "trainer/tuples/scan/left_out.h"

namespace sortition {

// Returns the probability with which the log keeps such a decision.
double KeepProbability(const log::v1::BanditTuple& tuple);

// A log that keeps a decision with probability p keeps it if its KeepNumber()
// is below p. If only numbers below the smallest p are used, each decision of
// all logs had the same probability to be used: means need no weights. A tuple
// of the smallest p itself is always used, so a log with one p loses nothing.
class Thinning {
 public:
  // Returns why the tuple is left out, or nothing. Aborted, and `probability()`
  // is smaller, if no tuple so far had so small a probability: all must be read
  // again.
  absl::StatusOr<std::optional<LeftOutReason>> ReasonToSkip(
      const log::v1::BanditTuple& tuple);

  double probability() const { return probability_; }

 private:
  double probability_ = 1;
};

// Calls `read` again as long as a Thinning that it uses has it Aborted.
template <typename Data>
absl::StatusOr<Data> ReadThinned(
    absl::FunctionRef<absl::StatusOr<Data>(Thinning*)> read) {
  Thinning thinning;
  while (true) {
    absl::StatusOr<Data> data = read(&thinning);
    if (!absl::IsAborted(data.status())) return data;
  }
}

}  // namespace sortition
