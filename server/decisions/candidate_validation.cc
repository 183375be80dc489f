#include "server/decisions/candidate_validation.h"

#include <algorithm>
#include <bit>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/column_checks.h"
#include "io/segments/decision_view.h"

namespace sortition {
namespace {

absl::Status CheckNumFeatures(const v1::Candidates& candidates,
                              const config::v1::RequestLimits& limits,
                              uint32_t num_features) {
  const uint32_t d = candidates.num_features();
  if (d < 1 || d > limits.max_features()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates.num_features = ", d, ": must be in [1, ",
        limits.max_features(), "] (server option limits.max_features)"));
  }
  if (num_features != 0 && d != num_features) {
    return absl::InvalidArgumentError(
        absl::StrCat("context.candidates.num_features = ", d, ": must be ",
                     num_features, ", as the model has"));
  }
  return absl::OkStatus();
}

absl::Status CheckNumCandidates(absl::string_view field, size_t n,
                                const config::v1::RequestLimits& limits) {
  if (n >= 1 && n <= limits.max_candidates()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      field, " holds ", n, " candidates: must be in [1, ",
      limits.max_candidates(), "] (server option limits.max_candidates)"));
}

// Views packed features: in memory they are floats as they came.
absl::StatusOr<std::span<const float>> ValidatePacked(
    const v1::DenseFeatures& dense, uint32_t num_features,
    const config::v1::RequestLimits& limits) {
  static_assert(std::endian::native == std::endian::little);
  constexpr absl::string_view kField = "context.candidates.dense.packed";
  const std::string& packed = dense.packed();
  if (!dense.values().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kField, " has ", packed.size(), " bytes: must be empty ",
                     "where context.candidates.dense.values is set, which has ",
                     dense.values_size(), " entries"));
  }
  const size_t row = sizeof(float) * size_t{num_features};
  RETURN_IF_ERROR(
      CheckNumCandidates(kField, (packed.size() + row - 1) / row, limits));
  if (packed.size() % row != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        kField, " has ", packed.size(), " bytes: must be a multiple of ", row,
        ", 4 * num_features"));
  }
  return std::span<const float>(reinterpret_cast<const float*>(packed.data()),
                                packed.size() / sizeof(float));
}

absl::StatusOr<Candidates> ViewFeatures(
    const v1::Candidates& candidates, const config::v1::RequestLimits& limits) {
  const uint32_t d = candidates.num_features();
  absl::string_view field;
  absl::StatusOr<Candidates> view;
  switch (candidates.features_case()) {
    case v1::Candidates::kDense: {
      field = "context.candidates.dense";
      if (!candidates.dense().packed().empty()) {
        field = "context.candidates.dense.packed";
        ASSIGN_OR_RETURN(const auto packed,
                         ValidatePacked(candidates.dense(), d, limits));
        view = Candidates::Dense(packed, d);
        break;
      }
      const auto& values = candidates.dense().values();
      // The cap comes first: the values of a request over it are not read.
      RETURN_IF_ERROR(CheckNumCandidates(
          field, (static_cast<size_t>(values.size()) + d - 1) / d, limits));
      view = Candidates::Dense(SpanOf(values), d);
      break;
    }
    case v1::Candidates::kSparse: {
      field = "context.candidates.sparse";
      const v1::SparseFeatures& sparse = candidates.sparse();
      const int rows = std::max(sparse.row_offsets_size() - 1, 0);
      RETURN_IF_ERROR(
          CheckNumCandidates(field, static_cast<size_t>(rows), limits));
      view = Candidates::Sparse(SpanOf(sparse.row_offsets()),
                                SpanOf(sparse.columns()),
                                SpanOf(sparse.values()), d);
      break;
    }
    case v1::Candidates::kColumns:
    case v1::Candidates::FEATURES_NOT_SET:
      return absl::InvalidArgumentError(
          "context.candidates.features is unset: must be dense, sparse or "
          "columns");
  }
  if (!view.ok()) return InField(field, view.status());
  return view;
}

absl::Status ValidateColumns(const v1::Candidates& candidates,
                             const config::v1::RequestLimits& limits,
                             uint32_t num_features) {
  constexpr absl::string_view kField = "context.candidates.columns";
  const v1::Columns& columns = candidates.columns();
  if (num_features != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(kField,
                     " is set: must be unset; the model has no schema, "
                     "and takes ",
                     num_features, " features of each candidate"));
  }
  if (candidates.num_features() != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates.num_features = ", candidates.num_features(),
        ": must be unset where ", kField, " is set"));
  }
  RETURN_IF_ERROR(CheckNumCandidates(kField, columns.num_candidates(), limits));
  // Otherwise a few bytes would claim any number of candidates.
  if (columns.candidate().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(kField,
                     ".candidate is empty: must have at least one "
                     "column, with a value for each candidate"));
  }
  const absl::Status status = CheckColumns(columns);
  return status.ok() ? status : InField(kField, status);
}

absl::Status CheckTakesFeatures(const v1::Candidates& candidates,
                                const Schema* schema) {
  if (schema == nullptr) return absl::OkStatus();
  if (candidates.features_case() == v1::Candidates::FEATURES_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat(
        "context.candidates.columns is unset: must be set; the model has a "
        "schema of ",
        schema->size(), " columns, which ListModels shows"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "context.candidates.", candidates.has_dense() ? "dense" : "sparse",
      " is set: must be columns; the model has a schema of ", schema->size(),
      " columns, which ListModels shows"));
}

}  // namespace

absl::Status InField(absl::string_view field, const absl::Status& error) {
  return absl::Status(error.code(), absl::StrCat(field, ": ", error.message()));
}

absl::Status ValidateCandidates(const v1::Candidates& candidates,
                                const config::v1::RequestLimits& limits,
                                uint32_t num_features, const Schema* schema,
                                PolicyQuery* query) {
  if (candidates.has_columns()) {
    RETURN_IF_ERROR(ValidateColumns(candidates, limits, num_features));
    query->columns = &candidates.columns();
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckTakesFeatures(candidates, schema));
  if (candidates.features_case() == v1::Candidates::FEATURES_NOT_SET &&
      candidates.num_features() == 0) {
    return absl::InvalidArgumentError(
        "context.candidates is empty: must have dense, sparse or columns; in "
        "JSON, a list with an entry per candidate will do, such as "
        "[{\"title\": \"a\"}, {\"title\": \"b\"}]");
  }
  RETURN_IF_ERROR(CheckNumFeatures(candidates, limits, num_features));
  ASSIGN_OR_RETURN(query->candidates, ViewFeatures(candidates, limits));
  return absl::OkStatus();
}

}  // namespace sortition
