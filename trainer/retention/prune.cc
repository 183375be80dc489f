#include "trainer/retention/prune.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/models/model_store.h"
#include "io/models/serving_state.h"
#include "io/models/store_listing.h"
#include "io/models/version_removal.h"
#include "io/segments/log_paths.h"
#include "process/text_table.h"
#include "trainer/retention/version_holds.h"
#include "trainer/tuples/scan/time_range.h"

namespace sortition {
namespace {

using config::v1::PruneOptions;
using config::v1::PruneReport;

// What the options ask for.
struct Wish {
  std::set<uint64_t> versions;  // To remove exactly these; empty: old ones.
  std::optional<absl::Time> before;  // Only those published before.
  size_t keep = 1;
};

absl::StatusOr<Wish> ParseWish(const PruneOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  Wish wish;
  wish.keep = options.keep();
  if (!options.older_than().empty()) {
    ASSIGN_OR_RETURN(const int64_t age_us,
                     ParseAge("older_than", options.older_than()));
    wish.before = absl::Now() - absl::Microseconds(age_us);
  }
  if (options.versions().empty()) return wish;
  for (const absl::string_view part : absl::StrSplit(options.versions(), ',')) {
    uint64_t version = 0;
    if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(part), &version) ||
        version == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("versions is '", options.versions(),
                       "', must be numbers of versions separated by commas"));
    }
    wish.versions.insert(version);
  }
  return wish;
}

// Fills in when a version was published, by its manifest, and its size.
PruneReport::Version Describe(const std::string& model_dir, uint64_t version,
                              absl::Time* published) {
  PruneReport::Version described;
  described.set_version(version);
  const std::filesystem::path dir = absl::StrCat(model_dir, "/", version);
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(dir, error)) {
    std::error_code ignored;
    const uint64_t size = entry.file_size(ignored);
    if (!ignored) bytes += size;
  }
  described.set_bytes(bytes);
  const auto changed =
      std::filesystem::last_write_time(dir / "MANIFEST.textproto", error);
  // A version without a manifest is no old one that was good.
  *published = absl::InfiniteFuture();
  if (error) return described;
  *published = absl::FromChrono(std::chrono::file_clock::to_sys(changed));
  described.set_published_time(
      absl::FormatTime(absl::RFC3339_sec, *published, absl::UTCTimeZone()));
  return described;
}

// Refuses what was asked for by number and cannot be.
absl::Status CheckWish(const PruneOptions& options, const Wish& wish,
                       const std::vector<uint64_t>& versions,
                       const VersionHolds& holds) {
  for (const uint64_t version : wish.versions) {
    if (!std::binary_search(versions.begin(), versions.end(), version)) {
      return absl::NotFoundError(
          absl::StrCat("versions has ", version, ": model '", options.model(),
                       "' has no such version in ", options.model_store()));
    }
    const auto held = holds.find(version);
    if (held == holds.end()) continue;
    const auto join = [&](auto member) {
      return absl::StrJoin(held->second, ", ",
                           [&](std::string* out, const VersionHold& hold) {
                             out->append(hold.*member);
                           });
    };
    return absl::FailedPreconditionError(absl::StrCat(
        "versions has ", version,
        ", which cannot be removed: ", join(&VersionHold::reason),
        "; first: ", join(&VersionHold::instead), "; nothing was removed"));
  }
  return absl::OkStatus();
}

// Says why each version stays; the others go.
class Pruning {
 public:
  Pruning(const PruneOptions& options, const Wish& wish,
          const std::vector<uint64_t>& versions, const VersionHolds& holds)
      : wish_(wish),
        versions_(versions),
        holds_(holds),
        dir_(absl::StrCat(options.model_store(), "/", options.model())),
        dry_run_(options.dry_run()) {}

  absl::Status Run(PruneReport* report) {
    for (size_t i = 0; i < versions_.size(); ++i) {
      absl::Time published;
      PruneReport::Version version = Describe(dir_, versions_[i], &published);
      AddReasons(i, published, &version);
      if (version.reasons().empty()) {
        if (!dry_run_) RETURN_IF_ERROR(RemoveVersion(dir_, versions_[i]));
        *report->add_removed() = std::move(version);
      } else {
        *report->add_kept() = std::move(version);
      }
    }
    return absl::OkStatus();
  }

 private:
  void AddReasons(size_t i, absl::Time published,
                  PruneReport::Version* version) const {
    if (const auto held = holds_.find(versions_[i]); held != holds_.end()) {
      for (const VersionHold& hold : held->second) {
        version->add_reasons(hold.reason);
      }
    }
    if (!wish_.versions.empty()) {
      if (!wish_.versions.contains(versions_[i])) {
        version->add_reasons("not asked for");
      }
      return;
    }
    if (versions_.size() - i <= wish_.keep) {
      version->add_reasons(absl::StrCat("one of the newest ", wish_.keep));
    }
    if (wish_.before.has_value() && published >= *wish_.before) {
      version->add_reasons("younger than older_than");
    }
  }

  const Wish& wish_;
  const std::vector<uint64_t>& versions_;
  const VersionHolds& holds_;
  const std::string dir_;
  const bool dry_run_;
};

void AddNotes(const PruneOptions& options, PruneReport* report) {
  if (options.log().empty()) {
    report->add_notes(
        "Nothing is known of logs: without --log, decisions of versions that "
        "are removed can no longer be repeated (log verify).");
  }
  if (report->corrupt_records() > 0) {
    report->add_notes(absl::StrCat(
        report->corrupt_records(),
        " damaged records of the log were passed over: a version that only "
        "they name is not kept for them."));
  }
}

std::string SizeText(uint64_t bytes) {
  return bytes < 10'000'000
             ? absl::StrFormat("%.4g kB", static_cast<double>(bytes) / 1e3)
             : absl::StrFormat("%.4g MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

absl::Status ValidatePruneOptions(const PruneOptions& options) {
  return ParseWish(options).status();
}

absl::StatusOr<PruneReport> Prune(const PruneOptions& options) {
  ASSIGN_OR_RETURN(const Wish wish, ParseWish(options));
  const ModelStore store(options.model_store());
  const std::string dir =
      absl::StrCat(options.model_store(), "/", options.model());
  PruneReport report;
  report.set_model(options.model());
  report.set_model_store(options.model_store());
  report.set_dry_run(options.dry_run());
  LoggedVersions logged;
  if (!options.log().empty()) {
    ASSIGN_OR_RETURN(logged, FindLoggedVersions(SplitLogEntries(options.log()),
                                                options.model()));
    report.set_logged_decisions(logged.decisions);
    report.set_corrupt_records(logged.corrupt_records);
  }
  {
    ASSIGN_OR_RETURN(const auto versions, store.ListVersions(options.model()));
    if (versions.empty()) {
      return NoVersionError(options.model_store(), options.model());
    }
  }
  const auto run = [&](const model::v1::Serving& serving) {
    absl::StatusOr<std::vector<uint64_t>> versions =
        store.ListVersions(options.model());
    RETURN_IF_ERROR(versions.status());
    VersionHolds holds =
        HoldsOfServing(store, options.model(), *versions, serving);
    AddLogHolds(logged, &holds);
    RETURN_IF_ERROR(CheckWish(options, wish, *versions, holds));
    if (!options.dry_run()) RETURN_IF_ERROR(FinishRemovals(dir));
    return Pruning(options, wish, *versions, holds).Run(&report);
  };
  if (options.dry_run()) {  // The store may only be read.
    ASSIGN_OR_RETURN(const model::v1::Serving serving, ReadServing(dir));
    RETURN_IF_ERROR(run(serving));
  } else {
    RETURN_IF_ERROR(WithServing(dir, run));
  }
  AddNotes(options, &report);
  return report;
}

std::string FormatPruneReport(const PruneReport& report) {
  uint64_t bytes = 0;
  std::vector<std::vector<std::string>> rows = {
      {"version", "published", "size", ""}};
  const auto add = [&](const PruneReport::Version& version, std::string what) {
    rows.push_back({absl::StrCat(version.version()),
                    version.published_time().empty() ? "no manifest"
                                                     : version.published_time(),
                    SizeText(version.bytes()), std::move(what)});
  };
  for (const auto& version : report.removed()) {
    bytes += version.bytes();
    add(version, report.dry_run() ? "would be removed" : "removed");
  }
  for (const auto& version : report.kept()) {
    add(version,
        absl::StrCat("stays: ", absl::StrJoin(version.reasons(), ", ")));
  }
  std::string text = absl::StrCat(
      "Model '", report.model(), "' in ", report.model_store(), ": ",
      report.dry_run() ? "would remove " : "removed ", report.removed_size(),
      " of ", report.removed_size() + report.kept_size(), " versions, ",
      SizeText(bytes), ".\n", FormatTable(rows));
  for (const std::string& note : report.notes()) {
    absl::StrAppend(&text, note, "\n");
  }
  return text;
}

}  // namespace sortition
