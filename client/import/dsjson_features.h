#pragma once
// The features of a dsjson context as rows of numbered columns.
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "io/text/json_line.h"
#include "sortition/log/v1/log.pb.h"

namespace sortition {

// Sums what falls into one column.
class SparseRow {
 public:
  void Clear() { entries_.clear(); }
  void Add(uint32_t column, float value) {
    entries_.push_back({column, value});
  }
  // Appends the row, its columns ascending, without zeros.
  void AppendTo(v1::SparseFeatures* features);

 private:
  std::vector<std::pair<uint32_t, float>> entries_;
};

// The column of a name within a namespace, below 2^bits: a stable hash.
uint32_t HashedColumn(absl::string_view space, absl::string_view name,
                      uint32_t bits);

// Fills features and number of candidates from the first `num_candidates`
// elements of c._multi. With `hash_bits`, every namespace, those that the
// candidates share too, falls into 2^hash_bits columns; without, all candidates
// of the input have the same single namespace, whose names are columns, and
// there are `num_features` of them, if that is given.
//
// Namespaces are those of Vowpal Wabbit: the key of an object or an array is
// the namespace of what is directly in it, at any depth. Objects in an array
// have the namespace of the array. A feature that is directly in the context or
// in a candidate has the namespace "".
class DsjsonFeatures {
 public:
  explicit DsjsonFeatures(uint32_t hash_bits) : hash_bits_(hash_bits) {}

  absl::Status Read(const JsonValue& context, uint32_t num_candidates,
                    std::optional<uint32_t> num_features,
                    log::v1::Decision* decision);

 private:
  absl::Status ReadHashed(const JsonValue& context, uint32_t num_candidates,
                          log::v1::Decision* decision);
  absl::Status ReadNumbered(const JsonValue& multi, uint32_t num_candidates,
                            std::optional<uint32_t> num_features,
                            log::v1::Decision* decision);
  absl::Status AddNumberedRow(const JsonValue& names,
                              log::v1::Decision* decision);
  // These add all features of an object or an array to the row; `space` is its
  // namespace.
  absl::Status AddObject(absl::string_view space, const JsonValue& object,
                         int depth);
  absl::Status AddArray(absl::string_view space, const JsonValue& array,
                        int depth);
  absl::Status AddScalar(absl::string_view space, absl::string_view name,
                         const JsonValue& value);
  void Add(absl::string_view space, absl::string_view name, float value) {
    row_.Add(HashedColumn(space, name, hash_bits_), value);
  }

  const uint32_t hash_bits_;
  SparseRow row_;
  std::string namespace_;  // Name of the only namespace; empty at first.
};

}  // namespace sortition
