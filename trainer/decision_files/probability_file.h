#pragma once
// What a policy would have done, from a file: for each decision the
// probabilities or scores of its candidates.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/hash.h"

namespace sortition {

// Rows, as JSON or CSV (DecisionRows), have a decision_id and one of these:
//   probabilities (CSV: p0, p1, …): of each candidate by document_index, and
//     where abstaining is allowed one more for it;
//   scores (CSV: s0, s1, …): in the same order;
//   log_probability: of the logged action, as a natural logarithm;
//   document_index and probability: one row for each candidate, in succession
//     by decision. Candidates without a row have probability 0; -1 abstains.
class ProbabilityFile {
 public:
  // Larger files are refused. A decision takes some 60 bytes and 8 for each
  // number.
  static constexpr uint64_t kMostBytes = uint64_t{8} << 30;

  enum class Kind { kProbabilities, kByDocument, kScores, kLogProbability };

  struct Entry {
    Kind kind = Kind::kProbabilities;
    // kByDocument: of abstaining, then by document_index.
    std::span<const double> values = {};
    uint64_t line = 0;
  };

  // InvalidArgument, naming file and line, for rows with none or several of
  // these, probabilities outside [0, 1] or with another sum than 1 (within
  // 1e-6), a log_probability above 0, and a decision that is there twice.
  static absl::StatusOr<ProbabilityFile> Read(const std::string& path);

  std::optional<Entry> Find(absl::string_view decision_id) const;
  bool has_log_probabilities() const { return has_log_probabilities_; }
  size_t num_decisions() const { return entries_.size(); }
  const std::string& path() const { return path_; }

  // Returns an error about the line of an entry.
  absl::Status Wrong(const Entry& entry, absl::string_view what) const;

 private:
  struct Stored {
    uint64_t begin = 0;
    uint64_t line = 0;
    uint32_t size = 0;
    Kind kind = Kind::kProbabilities;
  };
  friend class ProbabilityReader;

  std::string path_;
  bool has_log_probabilities_ = false;
  std::vector<double> values_;
  absl::flat_hash_map<Hash128, Stored, Hash128Hasher> entries_;
};

}  // namespace sortition
