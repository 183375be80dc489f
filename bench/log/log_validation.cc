// Times `sortition log validate`.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/log/log_bench.h"
#include "bench/support/clocks.h"
#include "bench/support/spools.h"
#include "bench/support/statistics.h"
#include "client/validation/log_validate.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// A decision of 1 kB, of which the features are four fifths.
Record MakeSmallRecord() {
  constexpr uint32_t kCandidates = 20;
  constexpr uint32_t kFeatures = 10;
  Record record = MakeRecord();
  record.features.resize(kCandidates * kFeatures);
  record.decision.set_num_candidates(kCandidates);
  record.decision.set_num_features(kFeatures);
  for (int rank = 0; rank < record.decision.action_size(); ++rank) {
    record.decision.set_action(rank, 2 * rank);
  }
  return record;
}

// Returns MB per second of CPU.
absl::StatusOr<Spread> RateOf(const std::string& dir, int rounds, int records,
                              Record record) {
  ASSIGN_OR_RETURN(const auto spool,
                   OpenSpool(dir, config::v1::SpoolOptions::PROCESS));
  for (int i = 0; i < records; ++i) {
    record.decision.set_decision_id(absl::StrCat("decision-", i));
    RETURN_IF_ERROR(spool->AppendDecision(record.decision, record.features));
  }
  RETURN_IF_ERROR(spool->Close());
  std::vector<double> rates;
  for (int round = -1; round < rounds; ++round) {
    const double start = ThreadCpuSeconds();
    ASSIGN_OR_RETURN(const ValidateResult result, ValidateLog({dir}, {}));
    const double seconds = ThreadCpuSeconds() - start;
    if (round >= 0) {
      rates.push_back(1e-6 * static_cast<double>(result.bytes) / seconds);
    }
  }
  RemoveClosedSegments(dir);
  return SpreadOf(rates);
}

}  // namespace

absl::StatusOr<std::vector<Target>> MeasureValidation(const std::string& dir,
                                                      int rounds, int records) {
  ASSIGN_OR_RETURN(const Spread large,
                   RateOf(dir, rounds, records, MakeRecord()));
  ASSIGN_OR_RETURN(const Spread small,
                   RateOf(dir, rounds, records, MakeSmallRecord()));
  constexpr char kRow[] = "  %-38s %10.0f (%.0f - %.0f)\n";
  absl::PrintF("log validate, MB per second of CPU\n");
  absl::PrintF(kRow, "decisions of 18.6 kB", large.median, large.lowest,
               large.highest);
  absl::PrintF(kRow, "decisions of 1 kB", small.median, small.lowest,
               small.highest);
  return std::vector<Target>{
      {"log validate, MB/s of CPU, 18.6 kB", large.median, 200, true},
      {"log validate, MB/s of CPU, 1 kB", small.median, 200, true}};
}

}  // namespace sortition
