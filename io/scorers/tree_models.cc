#include "io/scorers/tree_models.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/scoring/tree_check.h"
#include "io/files.h"
#include "io/scorers/document_formats.h"
#include "io/scorers/lightgbm_model.h"
#include "io/scorers/xgboost_model.h"

namespace sortition {
namespace {

using model::v1::TreeEnsemble;

absl::Status CheckSize(uint64_t size) {
  if (size <= kMaxTreeModelBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the file has ", size, " bytes, must have at most ", kMaxTreeModelBytes));
}

// An object of JSON goes on with a name or its end, perhaps behind white space;
// one of UBJSON with the marker of a length.
bool IsUbjson(absl::string_view bytes) {
  return bytes.size() > 1 &&
         absl::string_view("iUIlL").find(bytes[1]) != absl::string_view::npos;
}

absl::StatusOr<TreeEnsemble> ParseByFormat(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "tree\n") ||
      absl::StartsWith(bytes, "tree\r\n")) {
    return ParseLightGbmModel(bytes);
  }
  if (absl::StartsWith(bytes, "{")) {
    ASSIGN_OR_RETURN(const DocumentValue document,
                     IsUbjson(bytes) ? ParseUbjsonDocument(bytes)
                                     : ParseJsonDocument(bytes));
    return ConvertXgboostModel(document);
  }
  if (absl::StartsWith(bytes, "[")) return XgboostDumpError();
  return absl::InvalidArgumentError(
      "byte 0: the file must be a model that XGBoost saved as JSON or UBJSON, "
      "which begins with {, or one that LightGBM saved as text, which begins "
      "with a line \"tree\" (XGBoost's older binary format: load it and save "
      "it "
      "as JSON)");
}

}  // namespace

absl::StatusOr<TreeEnsemble> ParseTreeModel(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckSize(bytes.size()));
  ASSIGN_OR_RETURN(TreeEnsemble ensemble, ParseByFormat(bytes));
  RETURN_IF_ERROR(CheckTreeEnsemble(ensemble));
  return ensemble;
}

absl::StatusOr<TreeEnsemble> ReadTreeModel(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  absl::StatusOr<TreeEnsemble> ensemble = TreeEnsemble();
  if (const absl::Status status = CheckSize(error ? 0 : size); !status.ok()) {
    ensemble = status;
  } else {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    ensemble = ParseTreeModel(bytes);
  }
  if (ensemble.ok()) return ensemble;
  return absl::Status(ensemble.status().code(),
                      absl::StrCat(path, ": ", ensemble.status().message()));
}

}  // namespace sortition
