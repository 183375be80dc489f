#pragma once
// NumPy arrays that grow, and the .npz archive of them.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "io/scratch_file.h"

namespace sortition {

// One array, whose values wait in a file without a name. Not thread-safe.
class NpyFile {
 public:
  // `type` is NumPy's name of the values, such as "<i8". The file is in `dir`.
  static absl::StatusOr<std::unique_ptr<NpyFile>> Create(
      const std::string& name, const std::string& type, const std::string& dir);

  // Appends the bytes of values. A failure is kept for Finish().
  template <typename T>
  void Append(std::span<const T> values) {
    waiting_.append(reinterpret_cast<const char*>(values.data()),
                    values.size_bytes());
    if (waiting_.size() >= kWriteBytes) Flush();
  }
  template <typename T>
  void Append(T value) {
    Append(std::span<const T>(&value, 1));
  }

  // Writes what waits, and makes the header of an array of this shape.
  absl::Status Finish(const std::vector<uint64_t>& shape);

  // Reads header and values, after Finish().
  absl::StatusOr<size_t> Read(uint64_t offset, char* data, size_t size) const;
  uint64_t bytes() const { return header_.size() + values_->bytes(); }
  const std::string& name() const { return name_; }

 private:
  static constexpr size_t kWriteBytes = 1 << 18;
  NpyFile(std::string name, std::string type,
          std::unique_ptr<ScratchFile> values)
      : name_(std::move(name)),
        type_(std::move(type)),
        values_(std::move(values)) {}
  void Flush();

  const std::string name_;
  const std::string type_;
  const std::unique_ptr<ScratchFile> values_;
  std::string waiting_;
  std::string header_;
  absl::Status failure_;
};

// Writes the arrays, which are finished, into `path`, without compression, as
// numpy.savez() does. The file appears when it is complete.
absl::Status WriteNpz(const std::string& path,
                      const std::vector<std::unique_ptr<NpyFile>>& arrays);

}  // namespace sortition
