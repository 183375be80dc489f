#pragma once
// Bearer tokens and what their owners may do. The file holds hashes, so that
// reading it does not let anybody in.
#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// What calls are for; the values are bits.
enum class Role : uint32_t { kDecide = 1, kFeedback = 2, kAdmin = 4 };
const char* RoleName(Role role);

struct Caller {
  std::string name;
  uint32_t roles = 0;        // Bits of Role.
  int64_t until_time_s = 0;  // Seconds since the epoch; 0: for ever.
};

// Immutable.
class TokenTable {
 public:
  // Parses lines "ROLES NAME SHA256 [UNTIL]": roles separated by commas, the
  // SHA-256 of the token as 64 hexadecimal digits, the end of its time as
  // 2027-01-31 or 2027-01-31T12:00:00Z. Empty lines and those that begin with
  // '#' are skipped. InvalidArgument names path, line and what is wrong, but
  // repeats no word, which might be a token that was put there by mistake.
  static absl::StatusOr<TokenTable> Parse(absl::string_view text,
                                          absl::string_view path);

  // Returns whose token it is; null: nobody's. Takes the same time for tokens
  // that nearly exist as for others, because only hashes are compared.
  const Caller* Find(absl::string_view token) const;

  size_t size() const { return callers_.size(); }
  // Returns when the last token of each caller ends, seconds since the epoch.
  // Callers with a token that never ends are left out.
  std::map<std::string, int64_t> EndTimes() const;

 private:
  using Digest = std::array<unsigned char, 32>;
  absl::flat_hash_map<Digest, Caller> callers_;
};

}  // namespace sortition
