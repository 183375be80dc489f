#include "server/identity/tokens.h"

#include <openssl/sha.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

constexpr Role kRoles[] = {Role::kDecide, Role::kFeedback, Role::kAdmin};

// What is wrong is described, not repeated: any word of a bad line might be a
// token that was put there by mistake.
absl::StatusOr<uint32_t> ParseRoles(absl::string_view text) {
  uint32_t roles = 0;
  for (const absl::string_view name : absl::StrSplit(text, ',')) {
    const auto* const found =
        std::find_if(std::begin(kRoles), std::end(kRoles),
                     [&](Role role) { return RoleName(role) == name; });
    if (found == std::end(kRoles)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "a role of ", name.size(),
          " characters is wrong, must be decide, feedback or admin"));
    }
    roles |= static_cast<uint32_t>(*found);
  }
  return roles;
}

absl::StatusOr<int64_t> ParseUntil(absl::string_view text) {
  absl::Time time;
  std::string error;
  if (absl::ParseTime("%Y-%m-%d", text, &time, &error) ||
      absl::ParseTime("%Y-%m-%dT%H:%M:%SZ", text, &time, &error)) {
    return absl::ToUnixSeconds(time);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the end of its time has ", text.size(),
                   " characters, must be as in 2027-01-31 or "
                   "2027-01-31T12:00:00Z"));
}

absl::Status ParseLine(absl::string_view line, Caller* caller,
                       std::string* digest) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.size() != 3 && words.size() != 4) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", words.size(), " words, must be ROLES NAME SHA256 [UNTIL]"));
  }
  ASSIGN_OR_RETURN(caller->roles, ParseRoles(words[0]));
  caller->name = std::string(words[1].substr(0, 64));
  const bool is_digest =
      words[2].size() == 2 * SHA256_DIGEST_LENGTH &&
      std::all_of(words[2].begin(), words[2].end(), [](char c) {
        return absl::ascii_isxdigit(static_cast<unsigned char>(c));
      });
  if (!is_digest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the hash has ", words[2].size(),
        " characters, must have 64 hexadecimal digits, the SHA-256 of the "
        "token"));
  }
  *digest = absl::HexStringToBytes(words[2]);
  if (words.size() == 4) {
    ASSIGN_OR_RETURN(caller->until_time_s, ParseUntil(words[3]));
  }
  return absl::OkStatus();
}

}  // namespace

const char* RoleName(Role role) {
  switch (role) {
    case Role::kDecide:
      return "decide";
    case Role::kFeedback:
      return "feedback";
    case Role::kAdmin:
      break;
  }
  return "admin";
}

absl::StatusOr<TokenTable> TokenTable::Parse(absl::string_view text,
                                             absl::string_view path) {
  TokenTable table;
  size_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#') continue;
    Caller caller;
    std::string digest;
    const absl::Status status = ParseLine(line, &caller, &digest);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("token_file = \"", path,
                                                     "\", line ", number, ": ",
                                                     status.message()));
    }
    Digest key;
    std::copy(digest.begin(), digest.end(), key.begin());
    if (!table.callers_.emplace(key, std::move(caller)).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("token_file = \"", path, "\", line ", number,
                       ": an earlier line has the same token"));
    }
  }
  return table;
}

const Caller* TokenTable::Find(absl::string_view token) const {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(),
         digest.data());
  const auto found = callers_.find(digest);
  return found == callers_.end() ? nullptr : &found->second;
}

std::map<std::string, int64_t> TokenTable::EndTimes() const {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  std::map<std::string, int64_t> ends;
  for (const auto& [digest, caller] : callers_) {
    const int64_t end_s =
        caller.until_time_s == 0 ? kNever : caller.until_time_s;
    int64_t& last_s = ends[caller.name];
    last_s = std::max(last_s, end_s);
  }
  std::erase_if(ends, [](const auto& end) { return end.second == kNever; });
  return ends;
}

}  // namespace sortition
