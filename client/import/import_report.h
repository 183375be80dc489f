#pragma once
// The report of an import: input read, lines left out, assumptions, figures.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/import/import_statistics.h"

namespace sortition {

struct InputPlace {
  absl::string_view file;
  uint64_t line = 0;
};

// Occurrences by kind. Kinds are phrases such as "times without a zone, read as
// UTC".
class Tally {
 public:
  struct Entry {
    uint64_t count = 0;
    std::string first;  // "FILE:LINE" of the first occurrence.
  };
  void Add(absl::string_view kind, const InputPlace& place, uint64_t count = 1);

  // By kind, in alphabetical order.
  const std::map<std::string, Entry, std::less<>>& entries() const {
    return entries_;
  }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
};

// Phrase of an assumption that several formats make.
inline constexpr absl::string_view kMayAbstain =
    "decisions for which \"no answer\" is taken to be an action "
    "(--cannot_abstain: it was none)";

struct ImportReport {
  struct File {
    std::string name;
    uint64_t lines = 0;
    uint64_t bytes = 0;
  };
  std::vector<File> files;
  // Decisions that could not be read (--skip_bad), and the first with its
  // place.
  uint64_t bad = 0;
  std::string first_bad;
  // Lines and decisions that are not among the tuples.
  Tally left_out;
  // Assumptions that the import made because the file does not state the fact.
  Tally assumed;
  // Parts of lines that the import does not use, such as unknown keys.
  Tally ignored;
  // Findings about the input that are not figures of `statistics`.
  Tally doubtful;
  ImportStatistics statistics;
};

std::string ImportReportText(const ImportReport& report);
// One JSON object; docs/log_exchange.md lists its keys.
std::string ImportReportJson(const ImportReport& report);

}  // namespace sortition
