#include "core/base/hash.h"

#include <xxhash.h>

#include <string>

#include "core/base/check.h"

namespace sortition {
namespace {

Hash128 FromXxh(const XXH128_hash_t& hash) { return {hash.low64, hash.high64}; }

void AppendLittleEndian(uint64_t value, std::string* bytes) {
  for (int i = 0; i < 8; ++i) {
    bytes->push_back(static_cast<char>(value >> (8 * i)));
  }
}

}  // namespace

Hash128 StableHash(HashDomain domain,
                   std::initializer_list<absl::string_view> parts) {
  std::string bytes;
  for (const absl::string_view part : parts) {
    AppendLittleEndian(part.size(), &bytes);
    bytes.append(part.data(), part.size());
  }
  return FromXxh(XXH3_128bits_withSeed(bytes.data(), bytes.size(),
                                       static_cast<uint64_t>(domain)));
}

Hash128 HashBytes(absl::string_view bytes) {
  return FromXxh(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 DecisionKey(absl::string_view model, uint64_t version,
                    absl::string_view decision_id) {
  std::string version_bytes;
  AppendLittleEndian(version, &version_bytes);
  return StableHash(HashDomain::kAction,
                    {"id", model, version_bytes, decision_id});
}

Hash128 SeedKey(uint64_t seed) {
  std::string seed_bytes;
  AppendLittleEndian(seed, &seed_bytes);
  return StableHash(HashDomain::kAction, {"seed", seed_bytes});
}

double UnitInterval(const Hash128& hash) {
  return static_cast<double>(hash.high >> 11) * 0x1p-53;
}

}  // namespace sortition
