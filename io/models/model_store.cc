#include "io/models/model_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/policies/policy_check.h"
#include "core/scoring/model_features.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "io/memory_release.h"
#include "io/models/draw_salt.h"
#include "io/models/format_version.h"
#include "io/models/regular_file.h"
#include "io/models/store_listing.h"
#include "io/models/store_owner.h"
#include "io/models/successor.h"
#include "io/models/text_message.h"
#include "io/models/version_numbers.h"
#include "io/models/warmup_query.h"
#include "io/posix_status.h"
#include "io/segments/record_frame.h"

namespace sortition {
namespace {

constexpr char kModelFile[] = "model.pb";
constexpr char kManifestFile[] = "MANIFEST.textproto";
constexpr char kEvaluationFile[] = "evaluation.pb";
constexpr char kWarmupFile[] = "warmup.tfrecord";
constexpr size_t kMaxWarmupQueries = 1000;
constexpr uint64_t kMaxManifestBytes = 1 << 20;
// No protocol buffer is larger.
constexpr uint64_t kMaxFileBytes = 2'147'483'647;

std::string Checksum(absl::string_view bytes) {
  const Hash128 hash = HashBytes(bytes);
  return absl::StrFormat("%016x%016x", hash.high, hash.low);
}

absl::Status SyncPath(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  const int result = fsync(fd);
  const int error = errno;
  close(fd);
  return result == 0 ? absl::OkStatus()
                     : PosixStatus(error, path, "cannot sync");
}

// Returns how many weights a model has for each feature.
uint64_t WeightsPerFeature(const model::v1::Policy& policy) {
  if (policy.has_label_chain()) return policy.label_chain().num_labels();
  return policy.has_independent_labels()
             ? policy.independent_labels().num_labels()
             : 1;
}

// Returns whether the weights of the model multiply more, or something else,
// than callers send.
bool HasMoreThanInputs(const model::v1::Model& model) {
  return model.has_features() || model.has_trees() || model.has_hidden_layer();
}

// Reads a file and checks it against its entry in the manifest.
absl::StatusOr<std::string> ReadListed(const std::string& dir,
                                       const model::v1::Manifest::File& file) {
  if (file.name().empty() || absl::StrContains(file.name(), '/') ||
      file.name() == "." || file.name() == "..") {
    return absl::DataLossError(
        absl::StrCat(dir, "/", kManifestFile, " lists \"", file.name(),
                     "\", must be the name of a file in this directory"));
  }
  const std::string path = absl::StrCat(dir, "/", file.name());
  ASSIGN_OR_RETURN(
      std::string contents,
      ReadRegularFile(path, std::min(kMaxFileBytes, file.bytes())));
  if (contents.size() != file.bytes()) {
    return absl::DataLossError(absl::StrCat(path, " has ", contents.size(),
                                            " bytes, its manifest says ",
                                            file.bytes()));
  }
  if (Checksum(contents) != file.xxh3_128()) {
    return absl::DataLossError(
        absl::StrCat(path, " has checksum ", Checksum(contents),
                     ", its manifest says ", file.xxh3_128()));
  }
  return contents;
}

absl::StatusOr<model::v1::Manifest> ReadManifest(const std::string& dir) {
  const std::string path = absl::StrCat(dir, "/", kManifestFile);
  ASSIGN_OR_RETURN(const std::string text,
                   ReadRegularFile(path, kMaxManifestBytes));
  model::v1::Manifest manifest;
  RETURN_IF_ERROR(ParseTextMessage(path, "a manifest", text, &manifest));
  if (manifest.format_version() < 1 ||
      manifest.format_version() > kNewestFormatVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": format_version is ", manifest.format_version(),
                     ", must be in [1, ", kNewestFormatVersion, "]"));
  }
  if (const absl::Status status = ValidateDrawSalt(manifest.draw_salt());
      !status.ok()) {
    return absl::DataLossError(absl::StrCat(path, ": ", status.message()));
  }
  return manifest;
}

absl::StatusOr<std::vector<log::v1::Decision>> ParseWarmup(
    const std::string& path, absl::string_view bytes) {
  std::vector<log::v1::Decision> queries;
  while (!bytes.empty()) {
    uint64_t size = 0;
    log::v1::LogRecord record;
    if (!ParseFrameHead(bytes, &size) || size > bytes.size() ||
        FrameBytes(size) > bytes.size() ||
        !record.ParseFromArray(bytes.data() + kFrameHeadBytes,
                               static_cast<int>(size)) ||
        !record.has_decision() || queries.size() == kMaxWarmupQueries) {
      return absl::DataLossError(absl::StrCat(path, ": record ", queries.size(),
                                              " is not one of at most ",
                                              kMaxWarmupQueries, " decisions"));
    }
    queries.push_back(std::move(*record.mutable_decision()));
    bytes.remove_prefix(FrameBytes(size));
  }
  return queries;
}

// Writes one version's files into a directory of its own.
class VersionDirectory {
 public:
  explicit VersionDirectory(std::string path) : path_(std::move(path)) {}

  absl::Status Add(const std::string& name, const std::string& contents) {
    RETURN_IF_ERROR(WriteFile(absl::StrCat(path_, "/", name), contents));
    model::v1::Manifest::File* const file = manifest_.add_files();
    file->set_name(name);
    file->set_bytes(contents.size());
    file->set_xxh3_128(Checksum(contents));
    return absl::OkStatus();
  }

  absl::Status Finish(const model::v1::Model& model,
                      const std::string& draw_salt) {
    manifest_.set_format_version(FormatVersionOf(model));
    manifest_.set_model(model.name());
    manifest_.set_version(model.version());
    manifest_.set_draw_salt(draw_salt);
    std::string text;
    google::protobuf::TextFormat::PrintToString(manifest_, &text);
    RETURN_IF_ERROR(WriteFile(absl::StrCat(path_, "/", kManifestFile), text));
    return SyncPath(path_);
  }

 private:
  std::string path_;
  model::v1::Manifest manifest_;
};

absl::Status WriteVersion(const std::string& dir, const model::v1::Model& model,
                          const model::v1::Evaluation* evaluation,
                          const std::vector<log::v1::Decision>& warmup,
                          const std::string& draw_salt) {
  VersionDirectory version(dir);
  RETURN_IF_ERROR(version.Add(kModelFile, model.SerializeAsString()));
  if (evaluation != nullptr) {
    RETURN_IF_ERROR(
        version.Add(kEvaluationFile, evaluation->SerializeAsString()));
  }
  if (!warmup.empty()) {
    std::string frames;
    log::v1::LogRecord record;
    for (size_t i = 0; i < std::min(warmup.size(), kMaxWarmupQueries); ++i) {
      *record.mutable_decision() = WarmupQuery(warmup[i]);
      AppendFrame(record.SerializeAsString(), &frames);
    }
    RETURN_IF_ERROR(version.Add(kWarmupFile, frames));
  }
  return version.Finish(model, draw_salt);
}

}  // namespace

absl::Status ValidateModelName(absl::string_view name) {
  const bool good =
      !name.empty() && name.size() <= 64 && name[0] != '.' &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               c == '-' || c == '.';
      });
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "model name is '", name,
      "', must be 1 to 64 letters, digits, '_', '-' or '.', not '.' first"));
}

absl::Status ValidateModel(const model::v1::Model& model) {
  RETURN_IF_ERROR(ValidateModelName(model.name()));
  RETURN_IF_ERROR(ValidatePolicy(model.policy()));
  if (model.num_features() == 0) {
    return absl::InvalidArgumentError("num_features is 0, must be at least 1");
  }
  const uint64_t per_feature = WeightsPerFeature(model.policy());
  uint64_t num_weights = model.num_features() * per_feature;
  if (HasMoreThanInputs(model)) {
    if (per_feature != 1) {
      return absl::InvalidArgumentError(
          "features, trees and hidden_layer are set, must be unset for a "
          "policy with weights for each label");
    }
    ASSIGN_OR_RETURN(const ModelFeatures features,
                     ModelFeatures::Create(model));
    num_weights = features.num_features();
  }
  if (static_cast<uint64_t>(model.weights_size()) != num_weights) {
    return absl::InvalidArgumentError(absl::StrCat(
        "weights has ", model.weights_size(),
        " entries, must have num_features",
        model.policy().has_independent_labels() ||
                model.policy().has_label_chain()
            ? " x num_labels"
        : HasMoreThanInputs(model) ? ", one more with trees, and num_units"
                                   : "",
        " = ", num_weights));
  }
  return ValidateWeights(
      {model.weights().data(), static_cast<size_t>(model.weights_size())});
}

ModelStore::ModelStore(std::string root) : root_(std::move(root)) {}

absl::StatusOr<std::vector<std::string>> ModelStore::ListModels() const {
  ASSIGN_OR_RETURN(ModelListing listing, ListStore(root_));
  return std::move(listing.models);
}

absl::StatusOr<std::vector<uint64_t>> ModelStore::ListVersions(
    const std::string& model) const {
  auto listing = ListModelFolder(absl::StrCat(root_, "/", model));
  if (absl::IsNotFound(listing.status())) return std::vector<uint64_t>();
  if (!listing.ok()) return listing.status();
  return std::move(listing->versions);
}

absl::StatusOr<uint64_t> ModelStore::NextVersion(
    const std::string& model) const {
  ASSIGN_OR_RETURN(const auto versions, ListVersions(model));
  ASSIGN_OR_RETURN(const uint64_t claimed,
                   LargestClaim(absl::StrCat(root_, "/", model)));
  return std::max(claimed, versions.empty() ? 0 : versions.back()) + 1;
}

absl::StatusOr<StoredModel> ModelStore::Load(const std::string& model,
                                             uint64_t version) const {
  const std::string dir = absl::StrCat(root_, "/", model, "/", version);
  ASSIGN_OR_RETURN(const model::v1::Manifest manifest, ReadManifest(dir));
  StoredModel stored;
  stored.draw_salt = manifest.draw_salt();
  bool found = false;
  for (const model::v1::Manifest::File& file : manifest.files()) {
    ASSIGN_OR_RETURN(const std::string contents, ReadListed(dir, file));
    const std::string path = absl::StrCat(dir, "/", file.name());
    if (file.name() == kModelFile) {
      found = true;
      stored.checksum = file.xxh3_128();
      const bool parsed = stored.model.ParseFromString(contents);
      ReleasePages(contents.data(), contents.size());
      if (!parsed) {
        return absl::DataLossError(absl::StrCat(path, " is not a model"));
      }
    } else if (file.name() == kWarmupFile) {
      ASSIGN_OR_RETURN(stored.warmup, ParseWarmup(path, contents));
    }
  }
  const std::string path = absl::StrCat(dir, "/", kModelFile);
  if (!found) {
    return absl::DataLossError(
        absl::StrCat(dir, "/", kManifestFile, " does not list ", kModelFile));
  }
  if (stored.model.name() != model || stored.model.version() != version ||
      manifest.model() != model || manifest.version() != version) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is version ", stored.model.version(), " of '",
        stored.model.name(), "', its manifest's is version ",
        manifest.version(), " of '", manifest.model(),
        "'; its place says version ", version, " of '", model, "'"));
  }
  if (const absl::Status status = ValidateModel(stored.model); !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": ", status.message()));
  }
  return stored;
}

absl::StatusOr<uint64_t> ModelStore::Publish(
    model::v1::Model model, const model::v1::Evaluation* evaluation,
    const std::vector<log::v1::Decision>& warmup,
    const PublishOptions& options) const {
  RETURN_IF_ERROR(ValidateModel(model));
  RETURN_IF_ERROR(ValidateDrawSalt(options.draw_salt));
  const std::string parent = absl::StrCat(root_, "/", model.name());
  const AsStoreOwner owner(root_);
  std::error_code error;
  std::filesystem::create_directories(parent, error);
  if (error) return PosixStatus(error.value(), parent, "cannot create");
  ASSIGN_OR_RETURN(const std::optional<StoredModel> before,
                   FindPredecessor(*this, model));
  std::string salt = options.draw_salt;
  if (salt.empty() && before.has_value()) salt = before->draw_salt;
  if (salt.empty()) salt = RandomDrawSalt();
  while (true) {
    ASSIGN_OR_RETURN(const auto versions, ListVersions(model.name()));
    const uint64_t newest = versions.empty() ? 0 : versions.back();
    ASSIGN_OR_RETURN(const uint64_t version,
                     ClaimNumber(parent, std::max(newest, options.logged)));
    model.set_version(version);
    std::string temporary = absl::StrCat(parent, "/.tmp-XXXXXX");
    if (mkdtemp(temporary.data()) == nullptr) {
      return PosixStatus(errno, temporary, "cannot create");
    }
    absl::Cleanup remover = [&] {
      std::error_code ignored;
      std::filesystem::remove_all(temporary, ignored);
    };
    if (chmod(temporary.c_str(), 0755) != 0) {
      return PosixStatus(errno, temporary, "cannot change mode of");
    }
    RETURN_IF_ERROR(WriteVersion(temporary, model, evaluation, warmup, salt));
    const std::string path = absl::StrCat(parent, "/", model.version());
    // Replaces no version: a directory that is not empty is never replaced.
    // renameat2(RENAME_NOREPLACE) says the same, but not on NFS.
    if (rename(temporary.c_str(), path.c_str()) == 0) {
      std::move(remover).Cancel();
      RETURN_IF_ERROR(SyncPath(parent));
      return model.version();
    }
    // Somebody put a version there by hand: take the next number.
    if (errno != EEXIST && errno != ENOTEMPTY) {
      return PosixStatus(errno, path, "cannot rename to");
    }
  }
}

absl::StatusOr<model::v1::Evaluation> ModelStore::LoadEvaluation(
    const std::string& model, uint64_t version) const {
  const std::string dir = absl::StrCat(root_, "/", model, "/", version);
  ASSIGN_OR_RETURN(const model::v1::Manifest manifest, ReadManifest(dir));
  for (const model::v1::Manifest::File& file : manifest.files()) {
    if (file.name() != kEvaluationFile) continue;
    ASSIGN_OR_RETURN(const std::string contents, ReadListed(dir, file));
    model::v1::Evaluation evaluation;
    if (evaluation.ParseFromString(contents)) return evaluation;
    return absl::DataLossError(
        absl::StrCat(dir, "/", kEvaluationFile, " is not an evaluation"));
  }
  return absl::NotFoundError(absl::StrCat(dir, " has no ", kEvaluationFile));
}

}  // namespace sortition
