#pragma once
// From the named columns of a request to the features of its candidates.
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/features/blocks/feature_matrix.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "sortition/model/v1/features.pb.h"
#include "sortition/v1/columns.pb.h"

namespace sortition {

struct FeatureBlocks;
struct FeatureInput;

// Memory that requests reuse, also those of different models. One per thread.
class FeatureScratch {
 public:
  FeatureScratch();
  ~FeatureScratch();

  // The columns of the last request. A view of it, and of the transform.
  const BoundColumns& columns() const;

 private:
  friend class FeatureTransform;
  struct Buffers;

  std::unique_ptr<Buffers> buffers_;
};

// Immutable and thread-safe. Its features are a pure function of the message it
// was made of and of the request, to the last bit: training, serving and the
// check of a log use it alike. (Texts that are not ASCII are split by ICU,
// whose tables are those of LearnedFeatures.unicode_version.)
class FeatureTransform {
 public:
  // Features beyond this limit, of either sign, are cut to it.
  static constexpr double kMostValue = 1e30;
  // What CountSteps() says of a request at most: a second or so. A request has
  // no more features than steps, but for those that are 0.
  static constexpr uint64_t kMostSteps = uint64_t{1} << 24;

  // InvalidArgument, naming the field, where the schema or a transform is
  // wrong, what was learned does not fit them, or schema_hash is of another
  // schema.
  static absl::StatusOr<FeatureTransform> Create(
      const model::v1::Features& features);

  // Computes the features of the candidates. InvalidArgument as
  // BoundColumns::Bind(), and beyond kMostSteps. A column that is absent and
  // has no default counts as missing, so that requests can be judged that were
  // made before it existed; a server refuses new ones before. `matrix` is dense
  // unless a transform is sparse (FeatureSpec.transform).
  absl::Status Apply(const sortition::v1::Columns& columns,
                     FeatureScratch* scratch, FeatureMatrix* matrix) const;

  // Returns the number of steps that Apply() takes for columns that are bound
  // to the schema. InvalidArgument beyond kMostSteps.
  absl::StatusOr<uint64_t> CountSteps(const BoundColumns& columns) const;

  uint32_t num_features() const;
  // Features before this one are not sparse, and have statistics.
  uint32_t num_dense_features() const;
  // Requires index < num_features().
  std::string FeatureName(uint32_t index) const;
  const FeatureBlocks& blocks() const { return *blocks_; }
  const Schema& schema() const { return *schema_; }

 private:
  FeatureTransform() = default;

  using Buffers = FeatureScratch::Buffers;

  absl::Status SplitTexts(Buffers* buffers) const;
  void ApplyDense(const FeatureInput& input, Buffers* buffers) const;
  void AppendRow(const FeatureInput& input, uint32_t row, Buffers* buffers,
                 FeatureMatrix* matrix) const;

  std::shared_ptr<const Schema> schema_;
  std::shared_ptr<const model::v1::FeatureSpec> spec_;
  std::shared_ptr<const FeatureBlocks> blocks_;
};

}  // namespace sortition
