#include "trainer/trees/xgboost_booster.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/strings/str_cat.h"
#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

// Options of predictions.
constexpr char kMargins[] =
    R"({"type":1,"training":false,"iteration_begin":0,"iteration_end":0,)"
    R"("strict_shape":false,"missing":NaN,"cache_id":0})";

absl::Status ToStatus(int result) {
  if (result == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("XGBoost: ", XGBGetLastError()));
}

std::shared_ptr<void> OwnMatrix(DMatrixHandle handle) {
  return {handle, [](void* matrix) { XGDMatrixFree(matrix); }};
}

std::shared_ptr<void> OwnBooster(BoosterHandle handle) {
  return {handle, [](void* booster) { XGBoosterFree(booster); }};
}

absl::StatusOr<std::shared_ptr<void>> MakeDense(
    std::span<const LabelledItems> queries) {
  std::vector<float> values;
  size_t num_rows = 0;
  for (const LabelledItems& query : queries) {
    values.insert(values.end(), query.items.values().begin(),
                  query.items.values().end());
    num_rows += query.items.num_candidates();
  }
  DMatrixHandle handle = nullptr;
  RETURN_IF_ERROR(ToStatus(XGDMatrixCreateFromMat(
      values.data(), num_rows, queries[0].items.num_features(),
      std::numeric_limits<float>::quiet_NaN(), &handle)));
  return OwnMatrix(handle);
}

absl::StatusOr<std::shared_ptr<void>> MakeSparse(
    std::span<const LabelledItems> queries) {
  std::vector<size_t> offsets = {0};
  std::vector<unsigned> columns;
  std::vector<float> values;
  for (const LabelledItems& query : queries) {
    const size_t begin = columns.size();
    for (uint32_t i = 1; i <= query.items.num_candidates(); ++i) {
      offsets.push_back(begin + query.items.row_offsets()[i]);
    }
    columns.insert(columns.end(), query.items.columns().begin(),
                   query.items.columns().end());
    values.insert(values.end(), query.items.values().begin(),
                  query.items.values().end());
  }
  DMatrixHandle handle = nullptr;
  RETURN_IF_ERROR(ToStatus(XGDMatrixCreateFromCSREx(
      offsets.data(), columns.data(), values.data(), offsets.size(),
      values.size(), queries[0].items.num_features(), &handle)));
  return OwnMatrix(handle);
}

}  // namespace

bool HasXgboost() { return true; }

absl::StatusOr<XgboostMatrix> XgboostMatrix::Create(
    std::span<const LabelledItems> queries, uint32_t relevant_from) {
  CHECK(!queries.empty());
  XgboostMatrix matrix;
  ASSIGN_OR_RETURN(matrix.handle_, queries[0].items.sparse()
                                       ? MakeSparse(queries)
                                       : MakeDense(queries));
  std::vector<float> labels;
  std::vector<unsigned> groups;
  for (const LabelledItems& query : queries) {
    groups.push_back(query.items.num_candidates());
    for (const uint32_t relevance : query.relevances) {
      labels.push_back(relevant_from == 0 ? static_cast<float>(relevance)
                       : relevance >= relevant_from ? 1.0f
                                                    : 0.0f);
    }
  }
  RETURN_IF_ERROR(ToStatus(XGDMatrixSetFloatInfo(
      matrix.handle(), "label", labels.data(), labels.size())));
  RETURN_IF_ERROR(ToStatus(XGDMatrixSetUIntInfo(matrix.handle(), "group",
                                                groups.data(), groups.size())));
  return matrix;
}

absl::Status XgboostMatrix::SetStart(std::span<const float> scores) {
  return ToStatus(XGDMatrixSetFloatInfo(handle(), "base_margin", scores.data(),
                                        scores.size()));
}

absl::StatusOr<XgboostBooster> XgboostBooster::Create(
    const XgboostParameters& parameters,
    std::span<const XgboostMatrix> matrices) {
  std::vector<DMatrixHandle> handles;
  for (const XgboostMatrix& matrix : matrices) {
    handles.push_back(matrix.handle());
  }
  BoosterHandle handle = nullptr;
  RETURN_IF_ERROR(
      ToStatus(XGBoosterCreate(handles.data(), handles.size(), &handle)));
  XgboostBooster booster;
  booster.handle_ = OwnBooster(handle);
  const auto set = [&](const std::string& name, const std::string& value) {
    return ToStatus(XGBoosterSetParam(handle, name.c_str(), value.c_str()));
  };
  RETURN_IF_ERROR(set("nthread", "1"));
  RETURN_IF_ERROR(set("verbosity", "0"));
  for (const auto& [name, value] : parameters) {
    RETURN_IF_ERROR(set(name, value));
  }
  return booster;
}

absl::StatusOr<XgboostBooster> XgboostBooster::Load(absl::string_view bytes) {
  ASSIGN_OR_RETURN(XgboostBooster booster, Create({}, {}));
  RETURN_IF_ERROR(ToStatus(XGBoosterLoadModelFromBuffer(
      booster.handle_.get(), bytes.data(), bytes.size())));
  RETURN_IF_ERROR(
      ToStatus(XGBoosterSetParam(booster.handle_.get(), "nthread", "1")));
  return booster;
}

absl::Status XgboostBooster::Update(int round, const XgboostMatrix& matrix) {
  return ToStatus(
      XGBoosterUpdateOneIter(handle_.get(), round, matrix.handle()));
}

absl::StatusOr<std::vector<float>> XgboostBooster::Margins(
    const XgboostMatrix& matrix) const {
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* margins = nullptr;
  RETURN_IF_ERROR(ToStatus(
      XGBoosterPredictFromDMatrix(handle_.get(), matrix.handle(), kMargins,
                                  &shape, &dimensions, &margins)));
  return std::vector<float>(margins, margins + shape[0]);
}

absl::Status XgboostBooster::MarginsInPlace(std::span<const float> values,
                                            uint32_t num_features,
                                            std::span<float> margins) const {
  const std::string array =
      absl::StrCat(R"({"data":[)", reinterpret_cast<uintptr_t>(values.data()),
                   R"(,true],"shape":[)", margins.size(), ",", num_features,
                   R"(],"typestr":"<f4","version":3})");
  const bst_ulong* shape = nullptr;
  bst_ulong dimensions = 0;
  const float* result = nullptr;
  RETURN_IF_ERROR(ToStatus(
      XGBoosterPredictFromDense(handle_.get(), array.c_str(), kMargins, nullptr,
                                &shape, &dimensions, &result)));
  std::copy_n(result, margins.size(), margins.begin());
  return absl::OkStatus();
}

absl::StatusOr<std::string> XgboostBooster::Save(
    absl::string_view format) const {
  bst_ulong size = 0;
  const char* bytes = nullptr;
  RETURN_IF_ERROR(ToStatus(XGBoosterSaveModelToBuffer(
      handle_.get(), absl::StrCat(R"({"format":")", format, R"("})").c_str(),
      &size, &bytes)));
  return std::string(bytes, size);
}

}  // namespace sortition
