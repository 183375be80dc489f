// Bytes of a model.pb: the server takes it or refuses it with a reason.
// The path is that of a version in the store.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "google/protobuf/text_format.h"
#include "io/files.h"
#include "io/models/model_store.h"
#include "io/segments/parse_message.h"
#include "server/models/served_model.h"
#include "sortition/model/v1/model.pb.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/testing/temp_dir.h"

namespace sortition {
namespace {

// Puts `bytes` into the store as a version whose manifest is right.
void WriteVersion(const std::string& dir, const std::string& name,
                  uint64_t version, const std::string& bytes) {
  const Hash128 hash = HashBytes(bytes);
  model::v1::Manifest manifest;
  manifest.set_format_version(1);
  manifest.set_model(name);
  manifest.set_version(version);
  model::v1::Manifest::File& file = *manifest.add_files();
  file.set_name("model.pb");
  file.set_bytes(bytes.size());
  file.set_xxh3_128(absl::StrFormat("%016x%016x", hash.high, hash.low));
  std::string text;
  google::protobuf::TextFormat::PrintToString(manifest, &text);
  std::filesystem::create_directories(dir);
  CHECK(WriteFile(dir + "/model.pb", bytes).ok());
  CHECK(WriteFile(dir + "/MANIFEST.textproto", text).ok());
}

void LoadAndServe(const ModelStore& store, const std::string& name,
                  uint64_t version) {
  const absl::StatusOr<StoredModel> stored = store.Load(name, version);
  if (!stored.ok()) {
    CHECK(!stored.status().message().empty());
    return;
  }
  CHECK(ValidateModel(stored->model).ok());
  LoadFailure failure;
  const absl::StatusOr<std::shared_ptr<const ServedModel>> served =
      MakeServedModel(*stored, *MakeUniformModel("m", 0), 0, &failure);
  if (!served.ok()) {
    CHECK(!served.status().message().empty());
    return;
  }
  const model::v1::Model& model = stored->model;
  CHECK((*served)->num_features ==
        (model.has_features() ? 0 : model.num_features()));
  CHECK((*served)->select.has_value() + (*served)->rank.has_value() +
            (*served)->label.has_value() ==
        1);
}

}  // namespace
}  // namespace sortition

FUZZ_TARGET(model) {
  using namespace sortition;  // NOLINT: the function must be outside.
  static const TempDir kDir(FastParent());
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  model::v1::Model model;
  std::string name = "m";
  uint64_t version = 1;
  // The path says what the bytes say where it can, so that Load() goes on.
  if (ParseMessage(bytes, &model)) {
    if (ValidateModelName(model.name()).ok()) name = model.name();
    if (model.version() != 0) version = model.version();
  }
  WriteVersion(absl::StrCat(kDir.path(), "/", name, "/", version), name,
               version, bytes);
  LoadAndServe(ModelStore(kDir.path()), name, version);
  std::filesystem::remove_all(kDir / name);
}
