#pragma once
// All blocks of a declaration, and where their features stand.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "core/features/blocks/block.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"

namespace sortition {

// Immutable once made.
struct FeatureBlocks {
  static constexpr size_t kMostDense = 65536;
  static constexpr uint64_t kMostFeatures = uint64_t{1} << 31;

  struct Dense {
    std::unique_ptr<DenseBlock> block;
    int transform = 0;  // Its place in the declaration.
    size_t first = 0;   // The place of its first feature.
    size_t size = 0;
  };
  struct Sparse {
    std::unique_ptr<SparseBlock> block;
    uint32_t first = 0;
    std::string prefix;
  };
  // A text column to split into words.
  struct Text {
    size_t column = 0;
    std::string stemmer;
    bool one_value = false;
  };

  std::vector<Dense> dense;
  std::vector<Sparse> sparse;
  std::vector<Text> texts;  // By slot.
  std::vector<std::string> dense_names;
  uint32_t num_features = 0;

  // Requires index < num_features.
  std::string Name(uint32_t index) const;
};

// Makes the blocks of a checked declaration (CheckedSpec()) with what was
// learned. InvalidArgument where that does not fit the declaration, a feature
// that another one is made of is not declared before it, two features have the
// same name, or there are too many.
absl::StatusOr<FeatureBlocks> MakeFeatureBlocks(
    const Schema& schema, const model::v1::FeatureSpec& spec,
    const model::v1::LearnedFeatures& learned);

// True for declarations of the same words.
bool SameWords(const model::v1::Words& a, const model::v1::Words& b);

}  // namespace sortition
