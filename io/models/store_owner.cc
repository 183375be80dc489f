#include "io/models/store_owner.h"

#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace sortition {

AsStoreOwner::AsStoreOwner(const std::string& store) {
  if (geteuid() != 0) return;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(store, error);
  struct stat found = {};
  while (stat(folder.c_str(), &found) != 0) {
    if (!folder.has_relative_path()) return;
    folder = folder.parent_path();
  }
  if (found.st_uid == 0) return;
  is_other_ = true;
  // These are of the thread alone. Root's rights over files go with its user.
  setfsgid(found.st_gid);
  setfsuid(found.st_uid);
}

AsStoreOwner::~AsStoreOwner() {
  if (!is_other_) return;
  setfsuid(geteuid());
  setfsgid(getegid());
}

}  // namespace sortition
