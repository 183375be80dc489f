#pragma once
// Lists the models of a store and the versions of a model, and explains the
// entries that are neither.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sortition {

// A folder, file or link that is passed over, although it looks like something
// that was meant to be a version or a model.
struct IgnoredEntry {
  std::string name;    // Bytes that are not printable ASCII as "\x1f".
  std::string reason;  // The permitted form, and what to do.
};

struct VersionListing {
  std::vector<uint64_t> versions;     // Ascending.
  std::vector<IgnoredEntry> ignored;  // By name.
};

struct ModelListing {
  std::vector<std::string> models;    // Sorted.
  std::vector<IgnoredEntry> ignored;  // By name.
};

// Lists a model's folder <root>/<model>. Versions are the folders, or links to
// folders, whose names are integers in [1, 2^64 - 1] without leading zeros.
// Hidden and temporary names (".x", "7.tmp", "7.part", "7~", "tmp…", "temp…")
// are not reported. Files are reported only if they have the name of a version,
// or of a file that belongs into one. NotFound if there is no such folder.
absl::StatusOr<VersionListing> ListModelFolder(const std::string& model_dir);

// Lists a store. Models are the folders, or links to folders, whose names
// ValidateModelName() permits. Other folders are reported, unless they are
// hidden or "lost+found", and files as by ListModelFolder().
absl::StatusOr<ModelListing> ListStore(const std::string& root);

// Returns NotFound for a model without a version, with a line for each entry of
// its folder that may have been meant to be one.
absl::Status NoVersionError(const std::string& root, const std::string& model);

// Returns a line for each of the entries of a model's folder: "not a version:
// ads/v2: …".
std::string NotVersionsText(const std::string& model,
                            const std::vector<IgnoredEntry>& ignored);

}  // namespace sortition
