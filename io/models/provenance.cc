// ModelStore::LoadProvenance().
#include <fcntl.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl.h"
#include "google/protobuf/wire_format_lite.h"
#include "io/models/model_store.h"
#include "io/posix_status.h"

namespace sortition {

absl::StatusOr<model::v1::Provenance> ModelStore::LoadProvenance(
    const std::string& model, uint64_t version) const {
  using google::protobuf::internal::WireFormatLite;
  const std::string path =
      absl::StrCat(root_, "/", model, "/", version, "/model.pb");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return PosixStatus(errno, path, "cannot open");
  google::protobuf::io::FileInputStream file(fd);
  file.SetCloseOnDelete(true);
  google::protobuf::io::CodedInputStream stream(&file);
  stream.SetTotalBytesLimit(INT32_MAX);
  constexpr uint32_t kTag = model::v1::Model::kProvenanceFieldNumber << 3 |
                            WireFormatLite::WIRETYPE_LENGTH_DELIMITED;
  model::v1::Provenance provenance;
  while (const uint32_t tag = stream.ReadTag()) {
    // Skipping seeks.
    const bool good = tag == kTag
                          ? WireFormatLite::ReadMessage(&stream, &provenance)
                          : WireFormatLite::SkipField(&stream, tag);
    if (!good)
      return absl::DataLossError(absl::StrCat(path, " is not a model"));
  }
  return provenance;
}

}  // namespace sortition
