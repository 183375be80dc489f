#include "trainer/publish.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/policies/distribution_factory.h"
#include "io/models/model_store.h"
#include "io/models/newest_version.h"
#include "io/models/regular_file.h"
#include "io/models/successor.h"

namespace sortition {
namespace {

using config::v1::PublishModelOptions;
using config::v1::PublishModelReport;

constexpr uint64_t kMaxModelBytes = 2'147'483'647;

// Reads <root>/<model>/<version>/ with all checks of a store.
absl::StatusOr<StoredModel> LoadDirectory(std::filesystem::path path) {
  if (!path.has_filename()) path = path.parent_path();  // "store/m/3/"
  path = std::filesystem::absolute(path);
  uint64_t version = 0;
  if (!absl::SimpleAtoi(path.filename().string(), &version)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "file = \"", path.string(),
        "\": must be model.pb or the directory of a version, whose name is its "
        "number"));
  }
  const std::filesystem::path model = path.parent_path();
  return ModelStore(model.parent_path().string())
      .Load(model.filename().string(), version);
}

absl::StatusOr<StoredModel> LoadFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return LoadDirectory(path);
  ASSIGN_OR_RETURN(const std::string bytes,
                   ReadRegularFile(path, kMaxModelBytes));
  StoredModel stored;
  if (!stored.model.ParseFromString(bytes)) {
    return absl::DataLossError(
        absl::StrCat("file = \"", path, "\": is not a model"));
  }
  return stored;
}

absl::StatusOr<StoredModel> LoadSource(const PublishModelOptions& options,
                                       const ModelStore& store) {
  if ((options.from_version() == 0) == options.file().empty()) {
    return absl::InvalidArgumentError(
        "from_version, file: exactly one of them must be given");
  }
  return options.file().empty()
             ? store.Load(options.model(), options.from_version())
             : LoadFile(options.file());
}

std::string SourceOf(const PublishModelOptions& options) {
  return options.file().empty()
             ? absl::StrCat("version ", options.from_version())
             : options.file();
}

}  // namespace

absl::StatusOr<PublishModelReport> PublishAgain(
    const PublishModelOptions& options) {
  RETURN_IF_ERROR(ValidateModelName(options.model()));
  if (options.reason().empty()) {
    return absl::InvalidArgumentError("reason is empty, must say why");
  }
  const ModelStore store(options.model_store());
  ASSIGN_OR_RETURN(StoredModel stored, LoadSource(options, store));
  ASSIGN_OR_RETURN(const Incumbent incumbent,
                   FindIncumbent(options.model(), store));
  stored.model.set_name(options.model());
  model::v1::Provenance& provenance = *stored.model.mutable_provenance();
  provenance.set_comment(absl::StrCat(
      provenance.comment(), provenance.comment().empty() ? "" : "; ",
      "published again from ", SourceOf(options), ": ", options.reason()));
  RETURN_IF_ERROR(ValidateModel(stored.model));
  RETURN_IF_ERROR(FindPredecessor(store, stored.model).status());
  PublishModelReport report;
  report.set_model(options.model());
  report.set_source(SourceOf(options));
  report.set_policy(PolicyKindName(stored.model.policy()));
  report.set_num_features(stored.model.num_features());
  report.set_before(incumbent.newest);
  if (incumbent.is_pinned) report.set_pinned_version(incumbent.serving);
  report.set_serving_note(WhyNotServing(options.model(), incumbent));
  report.set_reason(options.reason());
  if (options.dry_run()) return report;
  ASSIGN_OR_RETURN(
      const uint64_t version,
      store.Publish(std::move(stored.model), nullptr, stored.warmup));
  report.set_version(version);
  return report;
}

std::string FormatPublishReport(const PublishModelReport& report) {
  const std::string what =
      absl::StrCat(" of model '", report.model(), "', the same policy (",
                   report.policy(), ", ", report.num_features(),
                   " features) as ", report.source(), ": ", report.reason());
  const std::string follows = absl::StrCat(
      report.before() == 0
          ? "There was no version before."
          : absl::StrCat("It follows version ", report.before(),
                         "; no gate compared the two."),
      report.serving_note().empty() ? "" : " ", report.serving_note());
  return report.has_version()
             ? absl::StrCat("Published: version ", report.version(), what, "\n",
                            follows, "\n")
             : absl::StrCat("Dry run: would publish a version", what, "\n",
                            follows, "\n");
}

}  // namespace sortition
