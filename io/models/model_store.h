#pragma once
// The model store: <root>/<model>/<version>/{model.pb, MANIFEST.textproto,
// evaluation.pb, warmup.tfrecord}. Versions are published by rename and are
// immutable from then on (docs/architecture.md).
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct StoredModel {
  model::v1::Model model;
  std::string checksum;   // Checksum of model.pb, hexadecimal.
  std::string draw_salt;  // Manifest.draw_salt.
  // Queries to warm up with; may be empty.
  std::vector<log::v1::Decision> warmup;
};

struct PublishOptions {
  uint64_t logged = 0;  // Largest version that a log names.
  // Manifest.draw_salt; empty: that of the version before, or a random one.
  std::string draw_salt = {};
};

// A view of the directory, without a state of its own. Thread-safe.
class ModelStore {
 public:
  explicit ModelStore(std::string root);
  const std::string& root() const { return root_; }

  // Returns the names of the models, sorted (ListStore()). NotFound where the
  // root does not exist.
  absl::StatusOr<std::vector<std::string>> ListModels() const;
  // Returns the published versions, ascending (ListModelFolder()); none where
  // the model does not exist.
  absl::StatusOr<std::vector<uint64_t>> ListVersions(
      const std::string& model) const;

  // Reads a version and validates it: manifest, sizes, checksums, name and
  // version as in the path, and ValidateModel(). DataLoss or InvalidArgument
  // name the file and what is wrong.
  absl::StatusOr<StoredModel> Load(const std::string& model,
                                   uint64_t version) const;

  // Returns the number that the next version gets: after the newest, and after
  // all that there ever were.
  absl::StatusOr<uint64_t> NextVersion(const std::string& model) const;

  // Publishes under NextVersion(), or a later one if others publish too or
  // `options.logged` is no smaller (sets `model.version`), by write to a
  // temporary directory, fsync, rename. Returns the version. InvalidArgument
  // for a model or a salt that Load() would refuse. FailedPrecondition if the
  // newest version that loads has another kind of action, another number of
  // features, or a column with another type: callers rely on these.
  absl::StatusOr<uint64_t> Publish(model::v1::Model model,
                                   const model::v1::Evaluation* evaluation,
                                   const std::vector<log::v1::Decision>& warmup,
                                   const PublishOptions& options = {}) const;

  // Returns how a version was made, without reading its weights or checking the
  // file against its manifest.
  absl::StatusOr<model::v1::Provenance> LoadProvenance(const std::string& model,
                                                       uint64_t version) const;

  absl::StatusOr<model::v1::Evaluation> LoadEvaluation(const std::string& model,
                                                       uint64_t version) const;

 private:
  std::string root_;
};

// InvalidArgument where Load() and Publish() would refuse the model: by its
// name, its policy, its features, or the number and the range of its weights.
absl::Status ValidateModel(const model::v1::Model& model);

// InvalidArgument unless the name has 1 to 64 letters, digits, '_', '-' or '.',
// and does not start with '.'.
absl::Status ValidateModelName(absl::string_view name);

}  // namespace sortition
