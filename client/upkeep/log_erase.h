#pragma once
// Erases units and decisions from a log, while servers and sidecars run.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/upkeep/erase_matches.h"
#include "sortition/config/v1/upkeep.pb.h"

namespace sortition {

struct EraseResult {
  EraseCounts erased;     // In a dry run: what would be.
  uint64_t segments = 0;  // That have it.
  // Records that could not be erased yet, and when to run again, one sentence
  // each; empty: all was erased.
  std::vector<std::string> left;
  // Copies that this program cannot erase.
  std::vector<std::string> elsewhere;
};

// Erases all records of the units and decisions from the closed segments in
// `dirs`, spools and directories of tuples, and in their sub-directories late.
// Each erased record becomes one of the same size that says nothing
// (erased.proto), so that no place and no number changes. Before anything is
// erased, the ids of the decisions are noted in <dir>/.erasing, behind the time
// of the latest decision that had no tuple yet. The file goes when nothing is
// left: a later run goes on with them even if this one was killed, or if the
// decision that named the unit is gone. Appends a line to <dir>/erasures.jsonl,
// without ids. InvalidArgument for options that are
// wrong, and if no ids are given and none were noted; errors of files.
absl::StatusOr<EraseResult> EraseFromLog(
    const config::v1::LogEraseOptions& options,
    const std::vector<std::string>& dirs);

}  // namespace sortition
