#pragma once
// The part of XGBoost's C API that training, tests and benchmarks use. Errors
// of the library are Internal with its message; without it, in a build with
// SORTITION_XGBOOST=OFF, everything is Unimplemented. All runs on one thread,
// so that a training is a function of its data and parameters.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/data/labelled_items.h"

namespace sortition {

// Whether this build has XGBoost.
bool HasXgboost();

// Labelled queries as the library's matrix. It copies them.
class XgboostMatrix {
 public:
  // Dense rows may have missing features (NaN), what sparse rows lack is
  // missing. The labels are the relevances or, with relevant_from > 0, whether
  // they reach it. Requires a query, and queries that are all dense or all
  // sparse, with as many features.
  static absl::StatusOr<XgboostMatrix> Create(
      std::span<const LabelledItems> queries, uint32_t relevant_from = 0);

  // Sets the initial scores of all rows, to which the trees add theirs.
  absl::Status SetStart(std::span<const float> scores);

  void* handle() const { return handle_.get(); }

 private:
  XgboostMatrix() = default;
  std::shared_ptr<void> handle_;
};

using XgboostParameters = std::vector<std::pair<std::string, std::string>>;

class XgboostBooster {
 public:
  // `matrices`: that of training and others whose predictions are kept between
  // rounds.
  static absl::StatusOr<XgboostBooster> Create(
      const XgboostParameters& parameters,
      std::span<const XgboostMatrix> matrices);
  // A model that the library saved.
  static absl::StatusOr<XgboostBooster> Load(absl::string_view bytes);

  // Trains one more tree.
  absl::Status Update(int round, const XgboostMatrix& matrix);

  // Returns the margins of all rows.
  absl::StatusOr<std::vector<float>> Margins(const XgboostMatrix& matrix) const;

  // Writes the margins of the rows of a dense matrix, in the library's fastest
  // way for a few rows. Requires as many margins as rows.
  absl::Status MarginsInPlace(std::span<const float> values,
                              uint32_t num_features,
                              std::span<float> margins) const;

  // `format`: json or ubj.
  absl::StatusOr<std::string> Save(absl::string_view format) const;

 private:
  XgboostBooster() = default;
  std::shared_ptr<void> handle_;
};

}  // namespace sortition
