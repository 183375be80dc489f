#include "core/base/hash.h"

#include <xxhash.h>

#include <string>

#include "absl/container/inlined_vector.h"

namespace sortition {
namespace {

Hash128 FromXxh(const XXH128_hash_t& hash) { return {hash.low64, hash.high64}; }

template <typename Bytes>
void AppendLittleEndian(uint64_t value, Bytes* bytes) {
  for (int i = 0; i < 8; ++i) {
    bytes->push_back(static_cast<char>(value >> (8 * i)));
  }
}

}  // namespace

Hash128 StableHash(HashDomain domain,
                   std::initializer_list<absl::string_view> parts) {
  // On the stack for ids of the usual length: this is on the path of a request.
  absl::InlinedVector<char, 512> bytes;
  for (const absl::string_view part : parts) {
    AppendLittleEndian(part.size(), &bytes);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  return FromXxh(XXH3_128bits_withSeed(bytes.data(), bytes.size(),
                                       static_cast<uint64_t>(domain)));
}

Hash128 HashBytes(absl::string_view bytes) {
  return FromXxh(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 DecisionKey(absl::string_view model, uint64_t version,
                    absl::string_view decision_id, absl::string_view salt) {
  std::string version_bytes;
  AppendLittleEndian(version, &version_bytes);
  if (salt.empty()) {
    return StableHash(HashDomain::kAction,
                      {"id", model, version_bytes, decision_id});
  }
  return StableHash(HashDomain::kAction,
                    {"salted id", salt, model, version_bytes, decision_id});
}

Hash128 SeedKey(uint64_t seed, absl::string_view salt) {
  std::string seed_bytes;
  AppendLittleEndian(seed, &seed_bytes);
  if (salt.empty()) {
    return StableHash(HashDomain::kAction, {"seed", seed_bytes});
  }
  return StableHash(HashDomain::kAction, {"salted seed", salt, seed_bytes});
}

double UnitInterval(const Hash128& hash) {
  return static_cast<double>(hash.high >> 11) * 0x1p-53;
}

uint64_t UnitKey(absl::string_view unit_id, absl::string_view decision_id) {
  return unit_id.empty()
             ? StableHash(HashDomain::kUnit, {"id", decision_id}).low
             : StableHash(HashDomain::kUnit, {"unit", unit_id}).low;
}

double KeepNumber(absl::string_view unit_id, absl::string_view decision_id) {
  return UnitInterval(unit_id.empty()
                          ? StableHash(HashDomain::kKeep, {"id", decision_id})
                          : StableHash(HashDomain::kKeep, {"unit", unit_id}));
}

}  // namespace sortition
