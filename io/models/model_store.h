#pragma once
// The model store: <root>/<model>/<version>/{model.pb, MANIFEST.textproto,
// evaluation.pb, warmup.tfrecord} (DESIGN: published by rename, immutable).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sortition/log/v1/log.pb.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

struct StoredModel {
  model::v1::Model model;
  std::string checksum;  // Of model.pb, hexadecimal.
  std::vector<log::v1::Decision>
      warmup;  // Queries to warm up with; may be empty.
};

// A view of the directory; keeps nothing. Thread-safe.
class ModelStore {
 public:
  explicit ModelStore(std::string root);
  const std::string& root() const { return root_; }

  // Names of the models, sorted. NotFound where the root does not exist.
  absl::StatusOr<std::vector<std::string>> ListModels() const;
  // Published versions, ascending; empty where the model does not exist.
  absl::StatusOr<std::vector<uint64_t>> ListVersions(
      const std::string& model) const;

  // Reads and validates: manifest, sizes, checksums, name and version as in the
  // path, policy and its ranges, num_features = number of weights, all finite.
  // DataLoss or InvalidArgument name the file and what is wrong.
  absl::StatusOr<StoredModel> Load(const std::string& model,
                                   uint64_t version) const;

  // Publishes under the version after the newest (sets `model.version`), by
  // write to a temporary directory, fsync, rename. Returns the version. Safe
  // against concurrent publishers. InvalidArgument for a model that Load()
  // would refuse.
  absl::StatusOr<uint64_t> Publish(
      model::v1::Model model, const model::v1::Evaluation* evaluation,
      const std::vector<log::v1::Decision>& warmup) const;

  absl::StatusOr<model::v1::Evaluation> LoadEvaluation(const std::string& model,
                                                       uint64_t version) const;

 private:
  std::string root_;
};

// What Load() and Publish() ask of a model.
absl::Status ValidateModel(const model::v1::Model& model);

// Letters, digits, '_', '-', '.', 1 to 64 of them, not starting with '.'.
absl::Status ValidateModelName(absl::string_view name);

}  // namespace sortition
