#pragma once
// The numbers of a model's versions. A number is used once: not again when its
// version was removed or moved away, because logs name versions by it.
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// Returns the largest number ever claimed in the model's directory; 0: none.
absl::StatusOr<uint64_t> LargestClaim(const std::string& model_dir);

// Claims and returns a number above `used` and above all claims, by an empty
// file <model_dir>/.numbers/<number>, of which the largest is kept. No two
// callers get the same number.
absl::StatusOr<uint64_t> ClaimNumber(const std::string& model_dir,
                                     uint64_t used);

// Makes sure that `number` is never claimed again.
absl::Status KeepNumber(const std::string& model_dir, uint64_t number);

}  // namespace sortition
