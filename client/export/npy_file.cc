#include "client/export/npy_file.h"

#include <zip.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// One array while libzip reads it.
struct Source {
  const NpyFile* array;
  uint64_t offset = 0;
  zip_error_t error = {};
};

zip_int64_t ReadSource(Source* source, void* data, zip_uint64_t size) {
  const auto count =
      source->array->Read(source->offset, static_cast<char*>(data), size);
  if (!count.ok()) {
    zip_error_set(&source->error, ZIP_ER_READ, 0);
    return -1;
  }
  source->offset += *count;
  return static_cast<zip_int64_t>(*count);
}

zip_int64_t StatSource(const Source& source, void* data) {
  auto* const stat = static_cast<zip_stat_t*>(data);
  zip_stat_init(stat);
  stat->size = source.array->bytes();
  stat->valid = ZIP_STAT_SIZE;
  return sizeof(*stat);
}

// What libzip calls to read an array.
zip_int64_t HandleSource(void* state, void* data, zip_uint64_t size,
                         zip_source_cmd_t command) {
  auto* const source = static_cast<Source*>(state);
  switch (command) {
    case ZIP_SOURCE_OPEN:
      source->offset = 0;
      return 0;
    case ZIP_SOURCE_READ:
      return ReadSource(source, data, size);
    case ZIP_SOURCE_STAT:
      return StatSource(*source, data);
    case ZIP_SOURCE_ERROR:
      return zip_error_to_data(&source->error, data, size);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE:  // WriteNpz() owns it.
      return 0;
    case ZIP_SOURCE_SUPPORTS:
      return zip_source_make_command_bitmap(
          ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
          ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
    default:
      zip_error_set(&source->error, ZIP_ER_OPNOTSUPP, 0);
      return -1;
  }
}

absl::Status ZipError(const std::string& path, absl::string_view what) {
  return absl::UnavailableError(
      absl::StrCat("cannot write ", path, ": ", what));
}

}  // namespace

absl::StatusOr<std::unique_ptr<NpyFile>> NpyFile::Create(
    const std::string& name, const std::string& type, const std::string& dir) {
  ASSIGN_OR_RETURN(auto values, ScratchFile::Create(
                                    dir, std::numeric_limits<uint64_t>::max()));
  return std::unique_ptr<NpyFile>(new NpyFile(name, type, std::move(values)));
}

void NpyFile::Flush() {
  const absl::string_view bytes = waiting_;
  const auto appended = values_->Append({&bytes, 1});
  if (!appended.ok() && failure_.ok()) failure_ = appended.status();
  waiting_.clear();
}

absl::Status NpyFile::Finish(const std::vector<uint64_t>& shape) {
  if (!waiting_.empty()) Flush();
  RETURN_IF_ERROR(failure_);
  // A tuple of one element needs the comma behind it.
  const std::string dict = absl::StrCat(
      "{'descr': '", type_, "', 'fortran_order': False, 'shape': (",
      absl::StrJoin(shape, ", "), shape.size() == 1 ? "," : "", "), }");
  // Magic string, version 1.0, and the length of what follows as two bytes; the
  // whole header is a multiple of 64.
  constexpr size_t kHeaderBytes = 128;
  constexpr size_t kFixedBytes = 10;
  header_ = absl::StrCat(absl::string_view("\x93NUMPY\x01\x00", 8),
                         absl::string_view("\x76\x00", 2), dict);
  static_assert(kHeaderBytes - kFixedBytes == 0x76);
  header_.resize(kHeaderBytes - 1, ' ');
  header_.push_back('\n');
  return absl::OkStatus();
}

absl::StatusOr<size_t> NpyFile::Read(uint64_t offset, char* data,
                                     size_t size) const {
  size = std::min<uint64_t>(size, bytes() - offset);
  if (offset < header_.size()) {
    size = std::min<uint64_t>(size, header_.size() - offset);
    std::memcpy(data, header_.data() + offset, size);
    return size;
  }
  RETURN_IF_ERROR(values_->Read(offset - header_.size(), data, size));
  return size;
}

absl::Status WriteNpz(const std::string& path,
                      const std::vector<std::unique_ptr<NpyFile>>& arrays) {
  int code = 0;
  zip_t* const archive =
      zip_open(path.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    absl::Status status = ZipError(path, zip_error_strerror(&error));
    zip_error_fini(&error);
    return status;
  }
  std::vector<Source> sources;
  for (const auto& array : arrays) sources.push_back({array.get()});
  for (Source& source : sources) {
    const std::string name = source.array->name() + ".npy";
    zip_source_t* const entry =
        zip_source_function(archive, HandleSource, &source);
    const zip_int64_t index =
        zip_file_add(archive, name.c_str(), entry, ZIP_FL_ENC_UTF_8);
    if (index < 0 ||
        zip_set_file_compression(archive, static_cast<zip_uint64_t>(index),
                                 ZIP_CM_STORE, 0) != 0) {
      absl::Status status = ZipError(path, zip_strerror(archive));
      zip_discard(archive);
      return status;
    }
  }
  // This writes a temporary file and renames it.
  if (zip_close(archive) == 0) return absl::OkStatus();
  absl::Status status = ZipError(path, zip_strerror(archive));
  zip_discard(archive);
  return status;
}

}  // namespace sortition
