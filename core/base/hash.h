#pragma once
// Stable 128-bit hashes: the same on every machine and in every release.
// XXH3-128 (libxxhash).
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "absl/strings/string_view.h"

namespace sortition {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
};

// Hash functor of tables whose keys are hashes: their bits are already mixed.
struct Hash128Hasher {
  size_t operator()(const Hash128& hash) const { return hash.low; }
};

// What a hash is for. Uses of one decision id under different domains are
// independent of each other.
enum class HashDomain : uint64_t {
  kAction = 1,      // The random draw of a decision.
  kSplit = 2,       // Train, validation or test.
  kSubsample = 3,   // Which tuples are kept under a memory limit.
  kSimulation = 4,  // Worlds and users of the simulator.
  kTraining = 5,    // Shuffles.
  kContext = 6,     // Which contexts of label tuples are the same.
  kKeep = 7,        // Which decisions a log keeps.
  kUnit = 8,        // Which decisions depend on each other.
  kArm = 9,         // Which version a unit comes to where traffic is split.
  kBaseline = 10,   // Whether the model or the caller's baseline decides.
  kShadow = 11,     // Which decisions a version looks on at.
  // Which units get orders that two versions make.
  kInterleaving = 12,
  // The draw of such an order.
  kInterleavedDraw = 13,
};

// Hash of the parts in order. Each part counts with its length, so that
// {"ab", "c"} and {"a", "bc"} differ.
Hash128 StableHash(HashDomain domain,
                   std::initializer_list<absl::string_view> parts);

// Hash of bytes, without domain: checksums.
Hash128 HashBytes(absl::string_view bytes);

// Key of a decision's draw: a function of model name, version and decision id,
// and of the version's salt (Manifest.draw_salt) where it has one.
Hash128 DecisionKey(absl::string_view model, uint64_t version,
                    absl::string_view decision_id, absl::string_view salt = "");

// Key of a draw whose request overrides the decision id with `seed`.
Hash128 SeedKey(uint64_t seed, absl::string_view salt = "");

// Uniform in [0, 1) from the hash, for splits and sub-samples.
double UnitInterval(const Hash128& hash);

// Returns the key of what is independent of what: `unit_id`, or the decision
// alone if that is empty.
uint64_t UnitKey(absl::string_view unit_id, absl::string_view decision_id);

// Returns a number in [0, 1): a log that keeps a decision with probability p
// keeps it if the number is below p. It is that of the unit, or of the decision
// id if `unit_id` is empty: decisions of one unit are kept or left out
// together.
double KeepNumber(absl::string_view unit_id, absl::string_view decision_id);

}  // namespace sortition
