#include "io/models/store_listing.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "io/files.h"
#include "io/models/model_store.h"

namespace sortition {
namespace {

namespace fs = std::filesystem;

// Returns whether the name is one that programs give what they are still
// writing.
bool IsTemporary(absl::string_view name) {
  return absl::StartsWith(name, "tmp") || absl::StartsWith(name, "temp") ||
         absl::EndsWith(name, ".tmp") || absl::EndsWith(name, ".part") ||
         absl::EndsWith(name, ".partial") || absl::EndsWith(name, "~");
}

bool IsFileOfVersion(absl::string_view name) {
  return name == "model.pb" || name == "MANIFEST.textproto" ||
         name == "evaluation.pb" || name == "warmup.tfrecord";
}

// Returns the number of a version's folder; nothing if the name is none.
std::optional<uint64_t> VersionOf(const std::string& name) {
  uint64_t version = 0;
  if (absl::SimpleAtoi(name, &version) && version > 0 &&
      absl::StrCat(version) == name) {
    return version;
  }
  return std::nullopt;
}

bool IsAllDigits(absl::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

// Returns the version that a name such as "0000001", "v2" or "version-3" means;
// nothing if that is not clear.
std::optional<uint64_t> MeantVersion(absl::string_view name) {
  const std::string lower = absl::AsciiStrToLower(name);
  absl::string_view digits = lower;
  if (!absl::ConsumePrefix(&digits, "version")) {
    absl::ConsumePrefix(&digits, "v");
  }
  if (digits.size() < lower.size() && !digits.empty() &&
      absl::StrContains("-_.", digits.substr(0, 1))) {
    digits.remove_prefix(1);
  }
  uint64_t version = 0;
  if (!IsAllDigits(digits) || !absl::SimpleAtoi(digits, &version) ||
      version == 0) {
    return std::nullopt;
  }
  return version;
}

// Returns why a folder is not a version. `versions` are those that there are.
std::string ReasonOfFolder(const std::string& name, bool is_link,
                           const std::vector<uint64_t>& versions) {
  std::string reason = "version folders are integers from 1 on, such as 1";
  if (IsAllDigits(name)) {
    reason = absl::StripPrefix(name, "0") != name
                 ? "version folders are integers from 1 on without leading "
                   "zeros"
                 : "version folders are integers up to 18446744073709551615";
  }
  if (is_link) {
    return absl::StrCat(reason,
                        "; a link does not choose what serves: remove it, and "
                        "use 'sortition models pin VERSION'");
  }
  const std::optional<uint64_t> meant = MeantVersion(name);
  if (!meant.has_value()) {
    return absl::StrCat(reason,
                        "; rename it to a number that is not taken, or move it "
                        "out of the store");
  }
  if (std::binary_search(versions.begin(), versions.end(), *meant)) {
    return absl::StrCat(reason, ", and there is a folder ", *meant,
                        "; rename this one to a number that is not taken, or "
                        "move it out of the store");
  }
  return absl::StrCat(reason, "; rename it to ", *meant);
}

// What an entry is, as far as a listing is concerned.
enum class EntryKind { kFolder, kFile, kBrokenLink };

struct Entry {
  std::string name;  // Escaped, as IgnoredEntry::name.
  EntryKind kind = EntryKind::kFile;
  bool is_link = false;
};

// Returns the entries of `dir` by name, without hidden ones.
absl::StatusOr<std::vector<Entry>> ListEntries(const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(dir));
  std::vector<Entry> entries;
  for (const std::string& name : names) {
    if (name[0] == '.') continue;
    const fs::path path = absl::StrCat(dir, "/", name);
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    Entry entry{.name = absl::CHexEscape(name),
                .is_link = fs::is_symlink(fs::symlink_status(path, error))};
    if (fs::is_directory(status)) {
      entry.kind = EntryKind::kFolder;
    } else if (entry.is_link && !fs::exists(status)) {
      entry.kind = EntryKind::kBrokenLink;
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Returns why an entry that is no folder is passed over, or nothing if it may
// be where it is. `holder` is what its folder is.
std::optional<IgnoredEntry> ReportNoFolder(const Entry& entry,
                                           absl::string_view holder) {
  if (entry.kind == EntryKind::kBrokenLink) {
    return IgnoredEntry{entry.name,
                        "is a link to nothing; remove it or mount its target"};
  }
  if (IsFileOfVersion(entry.name)) {
    return IgnoredEntry{entry.name,
                        absl::StrCat("belongs into the folder of a version, "
                                     "STORE/MODEL/VERSION, but is in that of ",
                                     holder, "; move it")};
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<VersionListing> ListModelFolder(const std::string& model_dir) {
  ASSIGN_OR_RETURN(const std::vector<Entry> entries, ListEntries(model_dir));
  VersionListing listing;
  for (const Entry& entry : entries) {
    const std::optional<uint64_t> version = VersionOf(entry.name);
    if (version.has_value() && entry.kind == EntryKind::kFolder) {
      listing.versions.push_back(*version);
    }
  }
  std::sort(listing.versions.begin(), listing.versions.end());
  for (const Entry& entry : entries) {
    if (IsTemporary(entry.name)) continue;
    const bool is_number = VersionOf(entry.name).has_value();
    if (entry.kind == EntryKind::kFolder) {
      if (is_number) continue;
      listing.ignored.push_back(
          {entry.name,
           ReasonOfFolder(entry.name, entry.is_link, listing.versions)});
    } else if (auto report = ReportNoFolder(entry, "a model")) {
      listing.ignored.push_back(*std::move(report));
    } else if (is_number) {
      listing.ignored.push_back(
          {entry.name,
           "is a file; a version is a folder with MANIFEST.textproto and "
           "model.pb"});
    }
  }
  return listing;
}

absl::StatusOr<ModelListing> ListStore(const std::string& root) {
  ASSIGN_OR_RETURN(const std::vector<Entry> entries, ListEntries(root));
  ModelListing listing;
  for (const Entry& entry : entries) {
    const absl::Status status = ValidateModelName(entry.name);
    if (entry.kind != EntryKind::kFolder) {
      if (auto report = ReportNoFolder(entry, "a store")) {
        listing.ignored.push_back(*std::move(report));
      }
    } else if (status.ok()) {
      listing.models.push_back(entry.name);
    } else if (entry.name != "lost+found") {  // Of the file system.
      listing.ignored.push_back(
          {entry.name, absl::StrCat(status.message(), "; rename it")});
    }
  }
  return listing;
}

absl::Status NoVersionError(const std::string& root, const std::string& model) {
  const auto listing = ListModelFolder(absl::StrCat(root, "/", model));
  const std::string ignored =
      listing.ok() ? NotVersionsText(model, listing->ignored) : "";
  return absl::NotFoundError(
      absl::StrCat("model '", model, "' has no version in ", root,
                   ignored.empty() ? "" : "\n", ignored));
}

std::string NotVersionsText(const std::string& model,
                            const std::vector<IgnoredEntry>& ignored) {
  std::string text;
  for (const IgnoredEntry& entry : ignored) {
    absl::StrAppend(&text, "not a version: ", model, "/", entry.name, ": ",
                    entry.reason, "\n");
  }
  return text;
}

}  // namespace sortition
