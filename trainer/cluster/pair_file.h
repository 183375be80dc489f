#pragma once
// The pairs of candidates that count (--pairs).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/aggregation/submodular_function.h"

namespace sortition {

class CandidatePairs {
 public:
  // Reads lines "better,worse[,weight]", or with tabs in place of commas; the
  // first line may be a heading, "better,worse,weight". Empty lines are passed
  // over; ids are not quoted. InvalidArgument, with the line, where there are
  // not two or three fields, an id is empty, both are the same, a pair is there
  // twice (also the other way round), or a weight is not within (0, 1e6]; where
  // there is no pair. The errors of reading the file.
  static absl::StatusOr<CandidatePairs> Read(const std::string& path);

  // Returns an edge from the better to the worse for each pair of which both
  // are in `ids`, which are different, as indices of `ids`.
  std::vector<CutFunction::Edge> Among(
      const std::vector<absl::string_view>& ids);

  size_t size() const { return seen_.size(); }
  // How many were among the ids of any call of Among().
  size_t num_found() const { return found_.size(); }

 private:
  struct Worse {
    uint32_t candidate;
    double weight;
  };

  absl::Status AddLine(absl::string_view line);
  uint32_t NumberOf(absl::string_view id);

  absl::flat_hash_map<std::string, uint32_t> numbers_;       // Of ids.
  std::vector<std::vector<Worse>> worse_;                    // By number.
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> seen_;  // Lower first.
  absl::flat_hash_set<std::pair<uint32_t, uint32_t>> found_;
};

}  // namespace sortition
