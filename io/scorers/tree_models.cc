#include "io/scorers/tree_models.h"

#include <filesystem>
#include <system_error>
#include <utility>

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

absl::StatusOr<TreeModelFile> ParseByFormat(absl::string_view bytes) {
  if (absl::StartsWith(bytes, "tree\n") ||
      absl::StartsWith(bytes, "tree\r\n")) {
    return ParseLightGbmModel(bytes);
  }
  if (absl::StartsWith(bytes, "{")) {
    ASSIGN_OR_RETURN(const DocumentValue document,
                     IsUbjson(bytes) ? ParseUbjsonDocument(bytes)
                                     : ParseJsonDocument(bytes));
    ASSIGN_OR_RETURN(TreeEnsemble ensemble, ConvertXgboostModel(document));
    return TreeModelFile{std::move(ensemble)};
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

absl::StatusOr<TreeModelFile> ParseTreeModelFile(absl::string_view bytes) {
  RETURN_IF_ERROR(CheckSize(bytes.size()));
  ASSIGN_OR_RETURN(TreeModelFile file, ParseByFormat(bytes));
  RETURN_IF_ERROR(CheckTreeEnsemble(file.ensemble));
  return file;
}

absl::StatusOr<TreeEnsemble> ParseTreeModel(absl::string_view bytes) {
  ASSIGN_OR_RETURN(TreeModelFile file, ParseTreeModelFile(bytes));
  return std::move(file.ensemble);
}

absl::StatusOr<TreeModelFile> ReadTreeModel(const std::string& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  absl::StatusOr<TreeModelFile> file = TreeModelFile();
  if (const absl::Status status = CheckSize(error ? 0 : size); !status.ok()) {
    file = status;
  } else {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path));
    file = ParseTreeModelFile(bytes);
  }
  if (file.ok()) return file;
  return absl::Status(file.status().code(),
                      absl::StrCat(path, ": ", file.status().message()));
}

}  // namespace sortition
