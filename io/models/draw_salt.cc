#include "io/models/draw_salt.h"

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sortition {

std::string RandomDrawSalt() {
  std::random_device device;  // The system's source of secrets.
  std::string salt;
  for (int i = 0; i < 4; ++i) absl::StrAppendFormat(&salt, "%08x", device());
  return salt;
}

absl::Status ValidateDrawSalt(absl::string_view salt) {
  const bool good =
      salt.empty() ||
      (salt.size() == 32 && std::all_of(salt.begin(), salt.end(), [](char c) {
         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
       }));
  if (good) return absl::OkStatus();
  // The value is a secret.
  return absl::InvalidArgumentError(
      absl::StrCat("draw_salt has ", salt.size(),
                   " characters, must have 32 digits of 0-9 and a-f"));
}

}  // namespace sortition
