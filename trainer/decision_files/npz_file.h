#pragma once
// Reads the arrays of an .npz file that numpy.savez() wrote.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sortition {

// A view of an array of numbers or texts, by rows.
struct NpyArray {
  std::string type;             // NumPy's, as "<f8" or "<U12".
  std::vector<uint64_t> shape;  // One or two dimensions.
  absl::string_view data;
  size_t item_bytes = 0;

  uint64_t rows() const { return shape[0]; }
  uint64_t columns() const { return shape.size() > 1 ? shape[1] : 1; }
  bool is_text() const { return type[1] == 'U' || type[1] == 'S'; }
  // Requires numbers, or texts (as UTF-8).
  double NumberAt(uint64_t row, uint64_t column) const;
  std::string TextAt(uint64_t row) const;
};

class NpzFile {
 public:
  // Holds the file in memory. InvalidArgument naming the array if it is
  // compressed, damaged, of more than two dimensions, in Fortran's order, or of
  // a type that is no text and no number of 4 or 8 bytes.
  static absl::StatusOr<NpzFile> Read(const std::string& path);

  // By name without ".npy". Views of this, which may be moved.
  const std::map<std::string, NpyArray>& arrays() const { return arrays_; }

 private:
  std::vector<char> bytes_;
  std::map<std::string, NpyArray> arrays_;
};

}  // namespace sortition
